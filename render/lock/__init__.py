"""What was decided: the lock, its file, and the difference between two."""
