"""How much each source position gives to each target step: one file a method. torch only, no fairseq."""
