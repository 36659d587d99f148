"""Servers on this machine: Kubernetes' API, Crossplane, Argo CD and stand-ins for nodes, each as a process."""
