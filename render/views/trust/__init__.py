"""What `verify` found, as text."""
