"""Scaffolds: the first files of a project, the install for one Argo CD, and a demo that needs no registry."""
