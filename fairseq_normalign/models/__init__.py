"""Models registered with fairseq, and nothing else: fairseq imports every file of this folder by itself."""
