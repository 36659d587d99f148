"""Registries and HTTP servers for tests, and a client to read from them."""
