"""Advice on requests that cannot all be met: edits that a second search has shown to help."""
