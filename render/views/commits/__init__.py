"""What a commit and a pull request say."""
