"""Servers for tests: Debian's real registry, a small fake one, and a server that misbehaves on request."""
