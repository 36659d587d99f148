"""Offline rules over inputs, locks and rendered objects: one rule per function."""
