"""Figures, the terminal grid, the HTML page and the report folder. Takes results, never models."""
