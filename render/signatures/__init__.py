"""Signatures of images: read from registries, verified without Crossplane, and judged as Crossplane judges them."""
