"""Flux: its controllers, built and run beside a real cluster."""
