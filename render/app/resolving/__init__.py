"""Resolving folders: what they ask for and lock now in, the new lock out."""
