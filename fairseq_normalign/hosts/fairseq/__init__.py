"""fairseq, the first host: safe loading, recording, generation, pruning."""
