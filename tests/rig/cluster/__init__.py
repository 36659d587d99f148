"""A cluster in memory: Crossplane's package manager, its Lock and its resolver, and Argo CD in front of them."""
