"""Lines, their words and the pieces of a model, with character offsets. No host is imported here."""
