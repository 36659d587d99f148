"""What is known about packages: signatures, licences, times; and whether the policies allow them."""
