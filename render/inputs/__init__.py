"""Files → what the user asks for."""
