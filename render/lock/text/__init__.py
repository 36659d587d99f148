"""The lock as a file: written, and read again."""
