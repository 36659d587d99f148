"""Committing locks: to which branch, from which inputs, and how."""
