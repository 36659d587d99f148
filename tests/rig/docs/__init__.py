"""The examples and the README, ready to be run."""
