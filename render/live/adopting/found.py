"""The packages of a cluster, each with its object, its revision and its entry in the Lock."""

import re
from collections.abc import Iterable, Mapping

from render.errors import RenderError
from render.lean import dataclass
from render.live.lock import LivePackage
from render.live.model import Cluster, PackageObject, Revision, RevisionState
from render.live.names import parse_live_source, without_tag
from render.names import object_name
from render.packages import PACKAGE_GROUP
from render.references import (
    Digest,
    PartialSource,
    Reference,
    Source,
    parse_digest,
    parse_reference,
)

_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})\Z")


@dataclass(frozen=True, slots=True)
class Found:
    """A package that a cluster has."""

    object: PackageObject
    reference: Reference
    revision: Revision | None = None
    # Its entry in the Lock; a package that skips resolution has none, or a stale one.
    entry: LivePackage | None = None

    @property
    def source(self) -> Source:
        """The source that its object names."""
        return self.reference.source

    @property
    def name(self) -> str:
        """The name of its object."""
        return self.object.name

    @property
    def title(self) -> str:
        """The kind and the name of its object, as people read them."""
        return f"{self.object.kind} {self.name}"

    @property
    def resource(self) -> str:
        """The kind and the name of its object, as a word for kubectl."""
        return f"{self.object.kind.lower()}.{PACKAGE_GROUP}/{self.name}"

    @property
    def has_own_name(self) -> bool:
        """Whether its object has another name than Crossplane would derive."""
        return self.name != object_name(self.source)

    @property
    def skips_dependencies(self) -> bool:
        """Whether Crossplane does not check its dependencies."""
        return self.object.spec.get("skipDependencyResolution") is True

    @property
    def is_off(self) -> bool:
        """Whether none of its revisions is active, on purpose."""
        manual = self.object.spec.get("revisionActivationPolicy") == "Manual"
        return manual and (self.revision is None or self.revision.state is not RevisionState.ACTIVE)

    @property
    def resolved_digest(self) -> Digest | None:
        """The digest that Crossplane itself recorded: it was asked for by digest, or an ImageConfig pins it."""
        if self.reference.digest:
            return self.reference.digest
        texts = [self.object.resolved_package, self.revision.resolved_image if self.revision else ""]
        found = [match[1] for match in map(_DIGEST.search, texts) if match]
        return parse_digest(found[0]) if found else None

    def needs(self) -> list[Source]:
        """Return the sources that its entry in the Lock names."""
        edges = self.entry.edges if self.entry else ()
        return [
            source for edge in edges if (source := complete_source(edge.package, self.source)) is not None
        ]


def complete_source(text: str, dependant: Source) -> Source | None:
    """Return the source of a dependency, completed as far as its dependant allows."""
    source = parse_live_source(text)
    return source.complete(dependant) if isinstance(source, PartialSource) else source


def find_packages(cluster: Cluster) -> tuple[list[Found], list[PackageObject]]:
    """Return the packages of a cluster in their order, and the objects that name no source with a tag or digest."""
    entries = _entries(cluster)
    found, unclear = [], []
    for one in cluster.packages:
        reference = _parse(one.package)
        if reference is None:
            unclear.append(one)
            continue
        entry = entries.get(str(reference.source))
        found.append(Found(one, reference, cluster.current_revision(one), entry))
    return found, unclear


def _parse(text: str) -> Reference | None:
    try:
        return parse_reference(text)
    except RenderError:
        return None


def _entries(cluster: Cluster) -> Mapping[str, LivePackage]:
    packages: Iterable[LivePackage] = cluster.lock.lock.packages if cluster.lock else ()
    return {without_tag(entry.source): entry for entry in packages}
