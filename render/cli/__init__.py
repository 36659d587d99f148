"""One file per command: flags in, one call, text out."""
