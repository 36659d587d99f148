"""From the objects of a running cluster to a project folder that changes none of them."""
