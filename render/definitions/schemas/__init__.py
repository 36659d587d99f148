"""Two schemas of one version → how they differ, by rule and path; pure comparison of parsed values."""
