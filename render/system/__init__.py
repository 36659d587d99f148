"""Files, programs and time limits of the operating system."""
