"""Which packages Crossplane must not check itself, and why: where its check would fail although ours holds."""

from collections.abc import Iterable, Iterator, Mapping

from render.errors import RenderError
from render.lock.graph import LockGraph, Need, Target
from render.lock.model import LockedDependency, LockedPackage, State, spec_of
from render.names import object_name
from render.references import PartialSource, Source, is_digest, parse_dependency_source
from render.settings import Detach

EVERYTHING = "detach is set to all"
ON_CRDS = "it depends on CRDs, which Crossplane does not resolve"
_KNOWS = ", which the cluster knows as "
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


def check_reasons(graph: LockGraph, detach: Detach) -> list[str]:
    """Return which wanted packages of a lock are attached and must not be, or are detached without that reason."""
    packages = graph.lock.packages
    everything = [EVERYTHING] if detach is Detach.ALL else []
    known = {source: [*everything, *_hidden_reasons(package, graph)] for source, package in packages.items()}
    found = find_reasons(graph, known)
    return sorted(
        f"{source} {_difference(found.get(source, ()), package.detached)}"
        for source, package in packages.items()
        # The reasons of an orphan are history, but it needs one if there is one.
        if set(found.get(source, ())) != set(package.detached)
        and not (package.detached and package.state is not State.WANTED)
    )


def _difference(derived: Iterable[str], recorded: Iterable[str]) -> str:
    missing = [why for why in derived if why not in recorded]
    wrong = [why for why in recorded if why not in derived]
    if wrong:
        return f"is detached in the lock for a reason that does not hold: {'; '.join(wrong)}"
    return f"has to be detached: {'; '.join(missing)}"


def stays_attached(package: LockedPackage) -> bool:
    """Return whether a manifest keeps its package attached to packages with names given by the user, as in the cluster.

    That is safe while those packages keep their versions.
    """
    return _asks_to_stay(package) and not package.detached


def _asks_to_stay(package: LockedPackage) -> bool:
    """Return whether the manifest says that names given by the user are no reason to detach; others still are."""
    return spec_of(package.fields).get("skipDependencyResolution") is False


def completed_name(dependency: str, source: str) -> str:
    """Return the reason to detach a package whose dependency is written without a registry."""
    return f"it needs {dependency}{_KNOWS}{source}"


def knows_otherwise(reason: str, name: str = "") -> bool:
    """Return whether a reason says that the cluster knows a dependency, or the one of this name, by another name."""
    return reason.startswith(completed_name(name, "")) if name else _KNOWS in reason


def _hidden_reasons(package: LockedPackage, graph: LockGraph) -> Iterator[str]:
    """Yield the recorded reasons that a lock does not show by itself: names that were completed; all, of an orphan."""
    for reason in package.detached:
        if package.state is not State.WANTED or _is_completion(reason, package, graph):
            yield reason


def _is_completion(reason: str, package: LockedPackage, graph: LockGraph) -> bool:
    written, _, known = reason.removeprefix("it needs ").partition(_KNOWS)
    try:
        name = parse_dependency_source(written)
    except RenderError:
        return False
    if not isinstance(name, PartialSource) or reason != completed_name(written, known):
        return False
    named = name.complete(package.source)
    targets = [t for need in graph.needs[package.source] if need.named == named for t in need.targets]
    return known in {str(target.source) for target in targets}


def _own_reasons(package: LockedPackage, needs: Iterable[Need]) -> Iterator[str]:
    if spec_of(package.fields).get("skipDependencyResolution") is True:
        yield _OWN_REQUEST
    if package.crds:
        yield ON_CRDS
    attached = _asks_to_stay(package)
    for need in needs:
        if need.crd is not None:
            continue
        # Crossplane would install the replaced package; one that names itself is a circle and stops every package.
        if need.is_self_dependency:
            yield f"it needs {need.dependency.package}, whose place it has taken"
        for target in need.targets:
            yield from _mismatches(need.dependency, target, attached=attached)


def _mismatches(dependency: LockedDependency, target: Target, *, attached: bool) -> Iterator[str]:
    """Yield why Crossplane would not find a dependency in the package that serves it, or must not look for it."""
    known = target.cluster_source
    # Crossplane compares text, and takes any other spelling for another package.
    if dependency.package != str(known):
        yield completed_name(dependency.package, str(known))
    # Its resolver would also create an object with the derived name, and two objects for one source stop every package.
    if target.object_name != object_name(known) and not attached:
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
