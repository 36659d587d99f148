"""The names of revisions: up to Crossplane v2.3 a lock knows them, from v2.4 on they hold the package's generation."""

import hashlib

from render.crossplane import has_predictable_revisions, needs_inactive_revision
from render.names import friendly_id, revision_name
from render.references import Digest
from render.versions.version import parse_version
from rig.builds.recipes import CROSSPLANE
from rig.servers.client import Object

# Whether a lock knows the names of revisions.
KNOWN_AHEAD = has_predictable_revisions(parse_version(CROSSPLANE.version))
# Whether it takes a manifest of its revision to switch a package off.
BY_REVISION = needs_inactive_revision(parse_version(CROSSPLANE.version))


def name_of_revision(package: Object, digest: str, *, generation: int = 0) -> str:
    """Return the name of the revision that a live package has with these bytes, now or at an earlier generation."""
    name = str(package["metadata"]["name"])
    if KNOWN_AHEAD:
        return revision_name(name, Digest(digest))
    number = generation or int(package["metadata"]["generation"])
    text = f"{digest.removeprefix('sha256:')}|{number}"
    return friendly_id(name, hashlib.sha256(text.encode()).hexdigest())


def names_so_far(package: Object, digest: str) -> set[str]:
    """Return the names of the revisions that a live package may have had with these bytes."""
    generations = range(1, int(package["metadata"]["generation"]) + 1)
    return {name_of_revision(package, digest, generation=number) for number in generations}


def known_ahead(entry: Object) -> Object:
    """Return what a lock knows ahead of an entry of the cluster's Lock: all of it, or all but its name."""
    return entry if KNOWN_AHEAD else {key: value for key, value in entry.items() if key != "name"}
