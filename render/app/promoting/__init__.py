"""Promotion: the versions and digests of one folder, locked in others by their own rules."""
