"""The settings of a folder, `xplock.yaml`."""
