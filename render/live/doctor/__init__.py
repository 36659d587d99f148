"""What is stuck in a cluster, why, and which one object to touch."""
