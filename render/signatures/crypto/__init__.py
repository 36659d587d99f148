"""Keys, certificates and their chains: the one door to the library `cryptography`, which is an extra."""
