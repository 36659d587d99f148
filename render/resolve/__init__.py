"""Dependencies → one version each, agreed by everyone who depends on it."""
