"""What an alignment is: links, gold, merging pieces to words, decisions, symmetrization, scores. numpy only."""
