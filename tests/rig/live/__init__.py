"""A live cluster on this machine as tests see it: what they put into it, what they wait for, and what is in it then."""
