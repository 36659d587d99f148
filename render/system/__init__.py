"""Files, programs, time limits: what the operating system gives."""
