"""Real servers and programs, built or installed once from their sources and kept below a cache folder."""
