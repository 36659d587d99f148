"""Several folders of one cluster."""
