"""What a comparison of definitions found, as text, JSON, Markdown, and a line for each class."""
