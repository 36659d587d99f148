"""Manifests as people write them."""

import json


def package_manifest(kind: str, name: str, package: str, **spec: object) -> str:
    """Return the manifest of a package that is asked for; JSON is YAML too."""
    value = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"package": package, **spec},
    }
    return json.dumps(value, indent=2) + "\n"
