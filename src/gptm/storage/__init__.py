"""A fitted model as one file."""
