"""Copies of what is locked, in a registry of one's own."""
