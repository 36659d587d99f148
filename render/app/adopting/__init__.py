"""Taking over the packages of a running cluster: a folder with its roots, and a lock, that change nothing there."""
