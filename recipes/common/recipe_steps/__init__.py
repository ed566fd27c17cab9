"""What the steps of the recipes do that no command of fairseq, subword-nmt or normalign does."""
