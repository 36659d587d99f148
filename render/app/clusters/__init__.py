"""Jobs about live clusters."""
