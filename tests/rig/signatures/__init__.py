"""Signatures of our own making: keys, authorities and logs, and everything that cosign would write with them."""
