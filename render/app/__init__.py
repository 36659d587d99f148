"""The jobs, each once, without click and without printing."""
