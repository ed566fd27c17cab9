"""The room that knows fairseq: recording, forced decoding, the generation hook, checkpoints."""
