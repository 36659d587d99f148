"""Which packages Crossplane must not check itself, and why: where its check would fail although ours holds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.lean import TypeAlias
from render.lock.graph import Serving, Target
from render.lock.model import Lock, LockedDependency, LockedPackage, spec_of
from render.names import object_name
from render.references import Source, is_digest

EVERYTHING = "detach is set to all"
_OWN_WISH = "its manifest says skipDependencyResolution"

# The dependencies of a package, each with what answers it.
_Needs: TypeAlias = Sequence[tuple[LockedDependency, Sequence[Target]]]


def find_reasons(lock: Lock, known: Mapping[Source, Iterable[str]]) -> dict[Source, tuple[str, ...]]:
    """Return why active packages are detached, closed upwards: who depends on a detached one is detached as well.

    `known` are reasons that a lock does not show by itself.
    """
    serving, packages = Serving(lock), lock.packages
    needs = {source: _needs(package, serving) for source, package in packages.items()}
    reasons = {
        source: {
            *_own_reasons(package, needs[source], serving),
            *_mismatches(needs[source]),
            *known.get(source, ()),
        }
        for source, package in packages.items()
    }
    dependants: dict[Source, list[Source]] = {source: [] for source in packages}
    for source, found in needs.items():
        for target in (target for _, targets in found for target in targets):
            if target.source in dependants:
                dependants[target.source].append(source)
    waiting = [source for source in packages if reasons[source]]
    while waiting:
        detached = waiting.pop()
        for dependant in dependants[detached]:
            if not reasons[dependant]:
                waiting.append(dependant)
            reasons[dependant].add(f"it depends on {detached}, which is detached")
    return {source: tuple(sorted(found)) for source, found in reasons.items() if found}


def check_detaching(lock: Lock) -> list[str]:
    """Return which packages of a lock are attached and must not be."""
    recorded = {source: package.detached for source, package in lock.packages.items()}
    return [
        f"{source} has to be detached: {'; '.join(why)}"
        for source, why in sorted(find_reasons(lock, recorded).items())
        if not recorded[source]
    ]


def _needs(package: LockedPackage, serving: Serving) -> _Needs:
    # What is missing makes a lock stale, which is found elsewhere.
    return [(dependency, serving.targets(package.source, dependency)) for dependency in package.dependencies]


def _own_reasons(package: LockedPackage, needs: _Needs, serving: Serving) -> Iterator[str]:
    if spec_of(package.fields).get("skipDependencyResolution") is True:
        yield _OWN_WISH
    for dependency in (dependency for dependency, targets in needs if not targets):
        # Crossplane would install what was replaced; and what names itself stops everything, as a circle.
        if serving.serves_itself(package.source, dependency):
            yield f"it needs {dependency.package}, whose place it has taken"


def _mismatches(needs: _Needs) -> Iterator[str]:
    for dependency, targets in needs:
        for target in targets:
            yield from _mismatch(dependency, target)


def _mismatch(dependency: LockedDependency, target: Target) -> Iterator[str]:
    """Yield why Crossplane would not take a locked package for what a dependency names, or must not look for it."""
    known = target.cluster_source
    # Crossplane compares text, and takes any other spelling for another package.
    if dependency.package != str(known):
        yield f"it needs {dependency.package}, which the cluster knows as {known}"
    # Its resolver would create the name it derives as well, and two objects for one source stop everything.
    if target.object_name != object_name(known):
        yield f"it needs {known}, whose object is named {target.object_name}"
    # It compares digests as text, and a tag suits no digest, whatever bytes it leads to.
    by_digest = target.by_digest or is_digest(dependency.constraints)
    if by_digest and dependency.constraints != target.version:
        installed = "digest" if target.by_digest else "tag"
        yield f"it needs {known} {dependency.constraints}, which is installed by its {installed}"
    if dependency.kind not in (None, target.kind):
        yield f"it takes {known} for a {dependency.kind}, which is a {target.kind}"
    if not isinstance(target, LockedPackage) and target.detached:
        yield f"it needs {known}, which is detached in {target.folder}"
