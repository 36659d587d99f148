"""A lock and the folder's own objects → the exact objects that are applied."""
