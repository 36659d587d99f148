"""What the plugin does where the committed lock does not answer: lock policies."""
