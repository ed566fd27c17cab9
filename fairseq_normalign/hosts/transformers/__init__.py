"""Hugging Face transformers, the second host."""
