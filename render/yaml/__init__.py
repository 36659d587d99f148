"""Reading and writing YAML: bounded, typed as Kubernetes types it, each error with its line."""
