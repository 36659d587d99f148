"""Argo CD's way in: the plugin, its parameters and its lock policies."""
