"""A real cluster on this machine: Kubernetes' API, Crossplane and Argo CD, without anything that runs containers."""
