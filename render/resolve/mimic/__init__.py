"""What Crossplane's own resolver would pick, one dependency after the other."""
