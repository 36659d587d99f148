"""Names of package objects in a cluster, as far as its Lock shows them: it has only those of revisions."""

import re

from render.lean import dataclass
from render.live.lock import LiveLock, LivePackage
from render.names import friendly_id
from render.references import InvalidReference, PartialSource, Source, parse_dependency_source, split_tag

# Up to v2.3 the first digits of the digest, from v2.4 on of a hash over digest and generation.
_REVISION = re.compile(r"(?P<name>[a-z0-9](?:[-a-z0-9]*))-[0-9a-f]{12}")
# A longer name is cut.
_LONGEST_NAME = 50


@dataclass(frozen=True, slots=True)
class Installed:
    """An entry of a cluster's Lock that can be compared with a lock."""

    entry: LivePackage
    source: Source

    @property
    def object_name(self) -> str | None:
        """The name of its package object; None if the Lock does not show it."""
        name = self.start_of_name
        return name if name is not None and len(name) < _LONGEST_NAME else None

    @property
    def start_of_name(self) -> str | None:
        """The first characters of that name; None if the revision is named by another rule."""
        return start_of_revision(self.entry.name)

    def may_be(self, name: str) -> bool:
        """Return whether this can be the revision of a package object with this name."""
        start = self.start_of_name
        if start is None:
            # With the pull policy Never a revision is named after the file that it was loaded from.
            return self.entry.name.startswith(friendly_id(name, ""))
        return friendly_id(name, "") == start.strip("-")


def read_installed(live: LiveLock) -> list[Installed]:
    """Return the entries of a cluster's Lock whose sources are written in full."""
    found = [(entry, parse_live_source(entry.source)) for entry in live.packages]
    return [Installed(entry, source) for entry, source in found if isinstance(source, Source)]


def start_of_revision(name: str) -> str | None:
    """Return the part of a revision's name that its package object gives; None if another rule made the name."""
    match = _REVISION.fullmatch(name)
    return match["name"] if match else None


def parse_live_source(text: str) -> Source | PartialSource | None:
    """Parse the source of an entry; None for a text that names no repository, such as one with a tag."""
    try:
        return parse_dependency_source(text)
    except InvalidReference:
        return None


def without_tag(text: str) -> str:
    """Return the source of an entry whose package object has both tag and digest."""
    return split_tag(text)[0]
