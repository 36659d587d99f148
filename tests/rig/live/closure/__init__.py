"""A large closure in a cluster: its packages, two ways to install it, and where the time goes."""
