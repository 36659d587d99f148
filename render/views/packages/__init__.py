"""A package on disk or in an image, as text."""
