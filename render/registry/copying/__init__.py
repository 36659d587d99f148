"""Images → another registry, an OCI layout or an archive, byte for byte, with everything that is attached to them."""
