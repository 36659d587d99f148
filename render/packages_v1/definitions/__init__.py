"""CRD files of a package of the first format → CRDs of `apiextensions.k8s.io/v1`."""
