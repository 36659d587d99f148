"""Packages and catalogs that people make."""
