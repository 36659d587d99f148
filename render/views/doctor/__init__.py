"""What is stuck in a cluster, for people and for programs."""
