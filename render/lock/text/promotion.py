"""Where the versions of a lock were promoted from, as LockDetails has it."""

import re

from render.lock.model import Promotion
from render.references import Digest, parse_digest
from render.texts import hides_something
from render.yaml.fields import Fields, describe

_FIELDS = frozenset({"from", "lockDigest", "packages"})
# A commit, which may stand before the path: a branch would mean something else tomorrow.
_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64}):")


def read_promotion(details: Fields, packages: int) -> Promotion:
    """Read the provenance of a lock with so many packages."""
    entry = details.mapping("promoted")
    entry.allow(_FIELDS)
    digest = entry.parse_text(entry.required_text("lockDigest"), parse_digest, "lockDigest")
    return Promotion(_read_origin(entry), digest or Digest(""), _read_count(entry, packages))


def _read_origin(entry: Fields) -> str:
    origin = entry.required_text("from")
    if origin is None:
        return ""
    path = _COMMIT.sub("", origin, count=1)
    # Relative, since a lock is the same on every machine.
    if not path or path.startswith("/") or hides_something(origin):
        entry.complain(f"expected a relative path, or a commit and one; found {describe(origin)}", "from")
    return origin


def _read_count(entry: Fields, most: int) -> int:
    count = entry.get("packages")
    if type(count) is int and 1 <= count <= most:
        return count
    entry.complain(f"expected a number of packages from 1 to {most:,}, found {describe(count)}", "packages")
    return 1
