"""What a lock says, compared with what registries have."""
