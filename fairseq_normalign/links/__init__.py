"""Alignments: links, gold, merging pieces to words, decisions, symmetrization, scores. numpy only."""
