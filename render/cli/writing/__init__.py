"""Commands that write: a lock, files, commits, packages."""
