"""Folder → package → image."""
