"""Dependencies on CRDs → edges to the packages that define them."""
