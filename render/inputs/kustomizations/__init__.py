"""Folders that kustomize builds."""
