"""The order of API versions in Kubernetes: v2, v1, v1beta2, v1beta1, v1alpha1, and then all other names."""

import re

_VERSION = re.compile(r"v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


def version_order(name: str) -> tuple[object, ...]:
    """Return a key that sorts API versions, the highest first."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (1, name)
    major, stage, minor = match.groups()
    return (0, -_STAGES[stage], -int(major), -int(minor or 0))
