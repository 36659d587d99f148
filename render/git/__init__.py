"""Git by its plumbing commands: read, committed to and pushed, without anything of the user's being run or changed."""
