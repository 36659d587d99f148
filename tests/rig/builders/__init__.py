"""Values, packages and folders for tests, in few words."""
