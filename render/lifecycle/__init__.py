"""The rules of moving and leaving: from a resolution to the next lock."""
