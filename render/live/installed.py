"""Packages that a cluster had before they were locked: their entries in its Lock, and the versions these bind."""

from collections.abc import Iterable, Iterator, Mapping

from render.commands import as_path, shell
from render.crossplane import keeps_stale_entries
from render.live.lock import LiveLock, LivePackage
from render.live.names import parse_live_source, read_installed, without_tag
from render.lock.model import Lock, LockedPackage
from render.names import object_name
from render.references import PartialSource, Source, is_digest, parse_digest
from render.resolve.model import Bound, Candidate, Edge
from render.versions.requests import Request, Root
from render.versions.version import Version, parse_candidate

NOTHING_INSTALLED = LiveLock()
_PLACE = "in the cluster's Lock"


def live_entry(package: LockedPackage, live: LiveLock, crossplane: Version | None) -> set[str]:
    """Return the sources that the cluster's Lock names for a detached package in its locked version."""
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
    """Yield a bound for each package with a name given by the user that an entry of the cluster's Lock names.

    Where the lock has another version already, that one is on its way to the cluster, and nothing binds it.
    """
    if not keeps_stale_entries(crossplane):
        return
    named = _given_names(roots, before)
    holders = {name: entry for entry in reversed(live.packages) for name in _entry_names(entry)}
    for one in read_installed(live):
        source, entry, holder = one.source, one.entry, holders.get(one.entry.source)
        locked = before.packages.get(source)
        if holder and source in named and (locked is None or locked.version == entry.version):
            advice = f"ask for {source} {entry.version}, which the cluster has, and change it in a later lock"
            edge = Edge(source, _request(entry.version), _holder_source(holder, source), _PLACE)
            yield Bound(edge, Candidate(holder.version, parse_candidate(holder.version)), (advice,))


def live_candidates(live: LiveLock) -> dict[Source, Candidate]:
    """Return the versions of the packages that a cluster has."""
    found = {
        one.source: (one.entry.version, parse_candidate(one.entry.version)) for one in read_installed(live)
    }
    return {
        source: Candidate(tag, version) for source, (tag, version) in found.items() if version is not None
    }


def advise_live(before: Lock, after: Lock, crossplane: Version | None, folder: str) -> list[str]:
    """Return a note for a first lock whose packages a cluster may have already, attached by hand."""
    if before.packages or not keeps_stale_entries(crossplane):
        return []
    command = shell("xplock", "adopt", "--to", as_path(folder))
    return [
        f"{package.source} is installed as {package.object_name}, so what needs it is detached; if a cluster has these "
        f"packages already, take them over as they are: {command}"
        for package in after.in_order()
        if package.required_by and package.object_name != object_name(package.cluster_source)
    ]


def _given_names(roots: Iterable[Root], before: Lock) -> Mapping[Source, str]:
    """Return the object names that Crossplane would not derive."""
    names = {package.cluster_source: package.object_name for package in before.packages.values()}
    names |= {root.source: root.name for root in roots if root.name}
    return {source: name for source, name in names.items() if name != object_name(source)}


def _entry_names(entry: LivePackage) -> set[str]:
    return {text.partition(" ")[0] for text in entry.dependencies}


def _holder_source(holder: LivePackage, named: Source) -> Source:
    """Return the source of an entry that names a package; it may lack its registry, or have a tag."""
    source = parse_live_source(without_tag(holder.source))
    return source.complete(named) if isinstance(source, PartialSource) else source or named


def _request(version: str) -> Request:
    return Request(digest=parse_digest(version)) if is_digest(version) else Request(tag=version)
