"""What the definitions of one lock do to the objects that those of another one stored: pure comparison, no I/O."""
