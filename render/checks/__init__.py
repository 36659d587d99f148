"""What could go wrong, found without asking anybody: one rule per function."""
