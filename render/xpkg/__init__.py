"""Bytes → packages: what Crossplane would read out of an image."""
