"""Lines of text made into words and pieces, without any model."""
