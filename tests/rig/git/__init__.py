"""Git repositories of every kind, and the real pre-commit."""
