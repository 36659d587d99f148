"""Which packages Crossplane must not check itself, and why: where its check would fail although ours holds."""

from collections.abc import Iterable, Iterator, Mapping

from render.lock.graph import LockGraph, Need, Target
from render.lock.model import LockedDependency, LockedPackage, spec_of
from render.names import object_name
from render.references import Source, is_digest

EVERYTHING = "detach is set to all"
_OWN_REQUEST = "its manifest says skipDependencyResolution"


def find_reasons(graph: LockGraph, known: Mapping[Source, Iterable[str]]) -> dict[Source, tuple[str, ...]]:
    """Return why active packages are detached; every dependant of a detached package is detached as well.

    `known` are reasons that a lock does not show by itself.
    """
    packages = graph.lock.packages
    reasons = {
        source: {*_own_reasons(package, graph.needs[source]), *known.get(source, ())}
        for source, package in packages.items()
    }
    waiting = [source for source in packages if reasons[source]]
    while waiting:
        detached = waiting.pop()
        for dependant in graph.dependants[detached]:
            if not reasons[dependant]:
                waiting.append(dependant)
            reasons[dependant].add(f"it depends on {detached}, which is detached")
    return {source: tuple(sorted(found)) for source, found in reasons.items() if found}


def check_detaching(graph: LockGraph) -> list[str]:
    """Return which packages of a lock are attached and must not be."""
    recorded = {source: package.detached for source, package in graph.lock.packages.items()}
    return [
        f"{source} has to be detached: {'; '.join(why)}"
        for source, why in sorted(find_reasons(graph, recorded).items())
        if not recorded[source]
    ]


def _own_reasons(package: LockedPackage, needs: Iterable[Need]) -> Iterator[str]:
    if spec_of(package.fields).get("skipDependencyResolution") is True:
        yield _OWN_REQUEST
    for need in needs:
        # Crossplane would install the replaced package; one that names itself is a circle and stops every package.
        if need.is_self_dependency:
            yield f"it needs {need.dependency.package}, whose place it has taken"
        for target in need.targets:
            yield from _mismatches(need.dependency, target)


def _mismatches(dependency: LockedDependency, target: Target) -> Iterator[str]:
    """Yield why Crossplane would not find a dependency in the package that serves it, or must not look for it."""
    known = target.cluster_source
    # Crossplane compares text, and takes any other spelling for another package.
    if dependency.package != str(known):
        yield f"it needs {dependency.package}, which the cluster knows as {known}"
    # Its resolver would also create an object with the derived name, and two objects for one source stop every package.
    if target.object_name != object_name(known):
        yield f"it needs {known}, whose object is named {target.object_name}"
    # It compares digests as text, and a tag never equals a digest, whatever bytes the tag names.
    by_digest = target.by_digest or is_digest(dependency.constraints)
    if by_digest and dependency.constraints != target.version:
        installed = "digest" if target.by_digest else "tag"
        yield f"it needs {known} {dependency.constraints}, which is installed by its {installed}"
    if dependency.kind not in (None, target.kind):
        yield f"it takes {known} for a {dependency.kind}, which is a {target.kind}"
    if not isinstance(target, LockedPackage) and target.detached:
        yield f"it needs {known}, which is detached in {target.folder}"
