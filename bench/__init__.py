"""Side-by-side measurements; each prints a ratio."""
