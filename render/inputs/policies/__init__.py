"""How policies are written: their keys, those of a folder, and those of the operator."""
