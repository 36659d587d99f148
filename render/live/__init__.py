"""Objects of a running cluster: its packages and its Lock."""
