"""HTTP as registries need it: bounded, and with credentials for one host only."""
