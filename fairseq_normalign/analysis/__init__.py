"""What attention and heads do, and which of them to trust."""
