"""xplock: Crossplane dependencies locked ahead of time, manifests rendered from the lock."""

__version__ = "0.1.0"
