"""Random edits of a folder, and the checks that must hold after each of them."""
