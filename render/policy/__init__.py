"""Policies: which packages a project, and its operator, allow."""
