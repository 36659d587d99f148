"""The names that Crossplane has for things and xplock does not need: of revisions by generation, and in its Lock."""

from render.digests import sha256_hex
from render.names import friendly_id
from render.references import Digest, Reference


def generation_revision_name(package_name: str, digest: Digest, generation: int) -> str:
    """Return the name of a package's revision from Crossplane v2.4 on, where every spec change makes one."""
    identity = f"{digest.removeprefix('sha256:')}|{generation}"
    return friendly_id(package_name, sha256_hex(identity))


def lock_identity(reference: Reference) -> tuple[str, str]:
    """Return the source and the version by which Crossplane's Lock knows a reference.

    A tag in front of a digest stays in the source: such a package is invisible to its dependants.
    """
    if reference.digest is None:
        return str(reference.source), reference.tag or ""
    return str(Reference(reference.source, reference.tag)), reference.digest
