"""The files of deploy/ and the Dockerfile, read and built without a cluster or a container engine."""
