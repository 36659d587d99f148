"""What a running cluster has."""
