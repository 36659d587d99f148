"""Versions, and what asks for them."""
