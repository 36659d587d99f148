"""A closure as text: the tree, and the ways to one package."""
