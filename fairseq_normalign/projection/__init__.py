"""Alignments put to use: markup and labels carried to the other language, and the word pairs of a bitext.

Pure Python on top of ``links/`` and ``text/``; no model is needed here.
"""
