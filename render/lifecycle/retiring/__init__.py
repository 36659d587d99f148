"""Retiring packages that are leaving: their blockers, the steps, and the commands that advice prints."""
