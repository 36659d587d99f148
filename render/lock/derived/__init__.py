"""What a lock says and its inputs decide: worked out again, and compared. A lock is believed only where it is history."""
