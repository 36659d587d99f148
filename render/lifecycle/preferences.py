"""What to keep of the last lock, and what an upgrade lets go of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from render.constraints import parse_constraint
from render.crossplane import keeps_stale_entries
from render.errors import InvalidInput
from render.live.lock import LiveLock, LivePackage
from render.lock.candidates import locked_candidate
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Provided
from render.names import object_name
from render.packages import Package
from render.references import Digest, Reference, Source, is_digest, parse_digest, parse_source
from render.registry.routes import Offline
from render.requests import Request, Root
from render.resolve.model import Bound, Candidate, Catalog, Edge
from render.versions import Version, parse_candidate

# Why a package is unknown, where no other is near.
NO_SUCH_NAME = "no package that is locked has this name, be it in full or its last part"

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


def find_source(text: str, lock: Lock, *, provided: bool = False) -> Source:
    """Return the active source that a text names, in full or by its last components; an alias has two names."""
    names = _names(lock, lock.provided if provided else {})
    found = _full_matches(text, names) or _short_matches(text, names)
    if len(found) == 1:
        return found[0]
    if not found:
        _refuse_inactive(text, lock)
    raise _unknown(text, lock, found)


def find_known(text: str, lock: Lock) -> Source:
    """Return any source that a lock tells of: also what is switched off, was replaced, or is provided."""
    active, others = _names(lock, {}), _inactive_names(lock)
    # Of short names those of active packages come first: what was replaced often is called the same.
    for matches in (_full_matches, _short_matches):
        for names in (active, others):
            found = matches(text, names)
            if len(found) == 1:
                return found[0]
            if found:
                raise _unknown(text, lock, found)
    raise _unknown(text, lock, [])


def _names(lock: Lock, provided: Mapping[Source, Provided]) -> dict[Source, Source]:
    """Return the source that each name stands for."""
    packages: list[LockedPackage | Provided] = [*lock.packages.values(), *provided.values()]
    aliases = {package.installed_as: package.source for package in packages if package.installed_as}
    return aliases | {package.source: package.source for package in packages}


def _inactive_names(lock: Lock) -> dict[Source, Source]:
    others = {source: source for source in (*LockGraph(lock).successors, *lock.deactivated)}
    return others | _names(Lock(), lock.provided)


def _full_matches(text: str, names: Mapping[Source, Source]) -> list[Source]:
    return sorted({names[name] for name in names if str(name) == text})


def _short_matches(text: str, names: Mapping[Source, Source]) -> list[Source]:
    return sorted({names[name] for name in names if f"/{name}".endswith(f"/{text}")})


def _refuse_inactive(text: str, lock: Lock) -> None:
    """Tell of a source that the lock knows, and that nothing can be done with, what to name instead."""
    names = _inactive_names(lock)
    for source in _full_matches(text, names) or _short_matches(text, names):
        if source in lock.provided:
            raise UnknownPackage(
                f"{source} is not locked here",
                why=f"{lock.provided[source].folder} provides it",
                next="change it there",
            )
        successors = " and ".join(map(str, LockGraph(lock).successors[source]))
        raise UnknownPackage(
            f"{source} is not active",
            why=f"{successors} has taken its place",
            next=f"name {successors} instead",
        )


def _unknown(text: str, lock: Lock, found: Sequence[Source]) -> UnknownPackage:
    near = found or _nearest(text, lock)
    return UnknownPackage(
        f"{text} names {len(found)} packages of the lock" if found else f"{text} is not in the lock",
        why=[f"did you mean {source}?" for source in near[:_SHOWN]] or NO_SUCH_NAME,
        next="write the source in full; `xplock tree` shows what is locked",
    )


def kept_candidates(lock: Lock, upgrade: Upgrade) -> tuple[dict[Source, Candidate], dict[Source, Candidate]]:
    """Return the locked candidates that stay while they fit, and those that an upgrade lets go of."""
    asked = [lock.packages[source] for source in upgrade.packages if source in lock.packages]
    families = {package.family for package in asked if package.family}
    kept: dict[Source, Candidate] = {}
    released: dict[Source, Candidate] = {}
    # What was switched off and is wanted again comes back as it was.
    returning = {package.source: package for package in lock.deactivated.values()}
    for source, package in {**returning, **lock.packages}.items():
        target = released if upgrade.frees(package, families) else kept
        target[source] = locked_candidate(package)
    return kept, released


def pinned_digests(lock: Lock, kept: Mapping[Source, Candidate]) -> dict[Reference, Digest]:
    """Return the bytes behind the tags that stay."""
    locked = {package.source: package for package in (*lock.deactivated.values(), *lock.packages.values())}
    return {
        Reference(source, candidate.tag): locked[source].digest
        for source, candidate in kept.items()
        if candidate.tag is not None
    }


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


NOTHING_INSTALLED = LiveLock()
_PLACE = "in the cluster's Lock"


def live_entry(package: LockedPackage, live: LiveLock, crossplane: Version | None) -> set[str]:
    """Return what the cluster's Lock names for a package that is detached, and there as it is locked."""
    if not package.detached or not keeps_stale_entries(crossplane):
        return set()
    known = (str(package.cluster_source), package.version)
    return {
        name
        for entry in live.packages
        if (entry.source, entry.version) == known
        for name in _entry_names(entry)
    }


def live_bounds(
    live: LiveLock, roots: Iterable[Root], before: Lock, crossplane: Version | None
) -> Iterator[Bound]:
    """Yield which versions must not change yet: those of packages under names of the user's that entries name.

    Where the lock has another version already, that one is on its way to the cluster, and nothing binds it.
    """
    if not keeps_stale_entries(crossplane):
        return
    named = _given_names(roots, before)
    holders = {name: entry for entry in reversed(live.packages) for name in _entry_names(entry)}
    for entry in live.packages:
        source, holder = parse_source(entry.source), holders.get(entry.source)
        locked = before.packages.get(source)
        if holder and source in named and (locked is None or locked.version == entry.version):
            advice = f"ask for {source} {entry.version}, which the cluster has, and change it in a later lock"
            edge = Edge(source, _request(entry.version), parse_source(holder.source), _PLACE)
            yield Bound(edge, Candidate(holder.version, parse_candidate(holder.version)), advice)


def advise_live(before: Lock, after: Lock, crossplane: Version | None) -> list[str]:
    """Return a note for a first lock whose packages a cluster may have already, attached by hand."""
    if before.packages or not keeps_stale_entries(crossplane):
        return []
    return [
        f"{package.source} is installed as {package.object_name}, so what needs it is detached; if a cluster has these "
        "packages already, let the lock know: kubectl get lock lock -o yaml | xplock lock --live -"
        for package in after.in_order()
        if package.required_by and package.object_name != object_name(package.cluster_source)
    ]


def _given_names(roots: Iterable[Root], before: Lock) -> Mapping[Source, str]:
    """Return the names that are not those that Crossplane derives."""
    names = {package.cluster_source: package.object_name for package in before.packages.values()}
    names |= {root.source: root.name for root in roots if root.name}
    return {source: name for source, name in names.items() if name != object_name(source)}


def _entry_names(entry: LivePackage) -> set[str]:
    return {text.partition(" ")[0] for text in entry.dependencies}


def _request(version: str) -> Request:
    return Request(digest=parse_digest(version)) if is_digest(version) else Request(tag=version)
