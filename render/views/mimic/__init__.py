"""What Crossplane alone would pick, beside our answer."""
