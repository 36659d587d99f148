"""The closure as a picture: one model, drawn as Mermaid, DOT, SVG and as a page."""
