"""The plugin as Argo CD calls it, and Argo CD's own servers."""
