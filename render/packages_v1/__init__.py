"""Packages of the first format, Packages v1: a folder `.registry/` → a package of today."""
