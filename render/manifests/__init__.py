"""A lock and the passthrough objects of its folder → the exact objects that are applied."""
