"""References → bytes: what registries and OCI layouts hold, checked against its digest."""
