"""What to keep of the last lock, and what an upgrade lets go of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from render.constraints import parse_constraint
from render.errors import InvalidInput
from render.lock.model import Lock, LockedPackage
from render.packages import Package
from render.references import Digest, Reference, Source
from render.registry.routes import Offline
from render.resolve.model import Candidate, Catalog
from render.roots import Request
from render.versions import parse_candidate

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Which pins may move although they still fit."""

    everything: bool = False
    # SRC, or SRC=VERSION with the version or range that it has to move to.
    packages: Mapping[Source, Request | None] = field(default_factory=dict)

    def frees(self, package: LockedPackage, families: set[str]) -> bool:
        """Tell whether a pin may move; the members of a family move together."""
        return self.everything or package.source in self.packages or package.family in families


class UnknownPackage(InvalidInput):
    """A package on the command line that is not in the lock."""


def parse_upgrade(texts: Sequence[str], lock: Lock, *, everything: bool) -> Upgrade:
    """Parse the values of -P; a source may be shortened to its last components while that is unambiguous."""
    packages: dict[Source, Request | None] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        packages[find_source(name, lock)] = _parse_version(version) if equals else None
    return Upgrade(everything, packages)


def find_source(text: str, lock: Lock) -> Source:
    """Return the locked source that a text names, in full or by its last components."""
    full = [source for source in lock.packages if str(source) == text]
    found = full or [source for source in lock.packages if f"/{source}".endswith(f"/{text}")]
    if len(found) == 1:
        return found[0]
    near = found or _nearest(text, lock)
    raise UnknownPackage(
        f"{text} names {len(found)} packages of the lock" if found else f"{text} is not in the lock",
        why=[f"did you mean {source}?" for source in near[:_SHOWN]],
        next="write the source in full; `xplock tree` shows what is locked",
    )


def kept_candidates(lock: Lock, upgrade: Upgrade) -> tuple[dict[Source, Candidate], dict[Source, Candidate]]:
    """Return the locked candidates that stay while they fit, and those that an upgrade lets go of."""
    asked = [lock.packages[source] for source in upgrade.packages if source in lock.packages]
    families = {package.family for package in asked if package.family}
    kept: dict[Source, Candidate] = {}
    released: dict[Source, Candidate] = {}
    for source, package in lock.packages.items():
        target = released if upgrade.frees(package, families) else kept
        target[source] = _candidate(package)
    return kept, released


def pinned_digests(lock: Lock, kept: Mapping[Source, Candidate]) -> dict[Reference, Digest]:
    """Return the bytes behind the tags that stay."""
    return {
        Reference(source, candidate.tag): lock.packages[source].digest
        for source, candidate in kept.items()
        if candidate.tag is not None
    }


def _candidate(package: LockedPackage) -> Candidate:
    tag = package.version_tag
    version = parse_candidate(tag) if tag else None
    return Candidate(tag, version, package.digest if package.by_digest else None)


def _parse_version(text: str) -> Request:
    version = parse_candidate(text)
    return Request(tag=text) if version else Request.of(parse_constraint(text))


def _nearest(text: str, lock: Lock) -> list[Source]:
    names = {source.name: source for source in sorted(lock.packages, reverse=True)}
    return [names[name] for name in get_close_matches(text.rpartition("/")[2], names, n=_SHOWN)]


@dataclass(frozen=True, slots=True)
class LockedTags:
    """A catalog for working offline: where nobody can list tags, the locked one is all there is."""

    catalog: Catalog
    lock: Lock

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source that can be had."""
        try:
            return self.catalog.tags(source)
        except Offline:
            locked = self.lock.packages.get(source)
            if locked is None:
                raise
            return [locked.version_tag] if locked.version_tag else []

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        return self.catalog.package(reference)
