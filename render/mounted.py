"""Files that the operator names in a variable: secrets and certificates, as Kubernetes mounts them."""

from collections.abc import Mapping
from pathlib import Path

from render.files import InvalidFile, read_plain
from render.limits import LimitExceeded, Limits


def read_mounted(environ: Mapping[str, str], variable: str, limit: str, limits: Limits) -> bytes:
    """Return what is in a file that the operator names; nothing, if it cannot be read."""
    try:
        # Kubernetes mounts a secret as a link to a link.
        data = read_plain(Path(environ[variable]).resolve(), getattr(limits, limit))
    except (InvalidFile, ValueError, OSError, RuntimeError):
        # The last one, up to Python 3.12, is a link that leads in a circle.
        return b""
    if data is None:
        raise LimitExceeded(f"the file that {variable} names is too large", limit, limits)
    return data
