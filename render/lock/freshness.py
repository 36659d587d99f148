"""Whether a lock is fresh: it answers its folder's inputs, and it holds together.

It holds together if every dependency is served by a version that suits it, and states and moves agree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from render.commands import xplock
from render.errors import Differs, RenderError
from render.lean import TYPE_CHECKING, TypeAlias
from render.limits import Limits
from render.lock.derived.answers import check_answers
from render.lock.derived.crds import check_crds
from render.lock.derived.detaching import check_detaching
from render.lock.derived.lists import check_lists
from render.lock.derived.pins import records_of_pins
from render.lock.graph import (
    ANY_VERSION,
    LockGraph,
    Need,
    Successor,
    Target,
    find_layers,
    find_successors,
    reach,
)
from render.lock.model import Lock, LockedPackage, State
from render.lock.text.file import read_lock
from render.moves import Strategy
from render.system.files import LOCK_FILE
from render.texts import first_lines
from render.versions.constraints import parse_constraint
from render.versions.version import InvalidVersion, parse_version

if TYPE_CHECKING:
    # Only the type is needed here; importing the reader of folders would cost time.
    from render.inputs.projects import Inputs

# A package of a family, and the folder that has it.
Member: TypeAlias = tuple[str, LockedPackage]

_SHOWN = 20


class MissingLock(Differs):
    """A folder without a lock."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has no {LOCK_FILE}",
            why="nothing has been locked there yet",
            next=f"run: {xplock('lock', folder=folder)}",
        )


class StaleLock(Differs):
    """A lock that does not match its inputs, or that contradicts itself."""

    def __init__(self, place: str, why: list[str]) -> None:
        super().__init__(
            f"{place} is out of date",
            why=first_lines(why, _SHOWN),
            next=f"run `{xplock('lock', folder=PurePath(place).parent)}` and commit what it writes",
        )


def require_lock(folder: Path, limits: Limits) -> Lock:
    """Read a folder's lock; raise if it is missing."""
    lock = read_lock(folder, limits)
    if lock is None:
        raise _missing(folder, limits)
    return lock


def _missing(folder: Path, limits: Limits) -> RenderError:
    """Return the error of a folder without a lock; one without files cannot be locked."""
    # Imported late: only errors need it.
    from render.inputs.folders import list_yaml_files
    from render.inputs.projects import NothingAsked

    return MissingLock(folder) if list_yaml_files(folder, limits) else NothingAsked(folder)


def require_consistent_lock(folder: Path, limits: Limits) -> Lock:
    """Read a folder's lock; raise if it is missing or contradicts itself."""
    lock = require_lock(folder, limits)
    problems = check_closure(lock)
    if problems:
        raise StaleLock(str(folder / LOCK_FILE), problems)
    return lock


def compare_inputs(lock: Lock, record: Mapping[str, str]) -> list[str]:
    """Return which inputs were added, removed or changed since the lock was written."""
    locked = lock.inputs
    return [
        f"{name} {'was added' if name not in locked else 'was removed' if name not in record else 'changed'}"
        for name in sorted(locked.keys() | record.keys())
        if locked.get(name) != record.get(name)
    ]


def require_fresh(lock: Lock, inputs: "Inputs", *, place: str) -> None:
    """Raise if a lock is stale, with the reasons."""
    why = find_staleness(lock, inputs)
    if why:
        raise StaleLock(place, why)


def find_staleness(lock: Lock, inputs: "Inputs") -> list[str]:
    """Return why a lock is stale: inputs that changed, contradictions, and differences from what the inputs ask for."""
    graph = LockGraph(lock)
    return staleness_of(graph, find_contradictions(graph), inputs)


def staleness_of(graph: LockGraph, contradictions: Sequence[str], inputs: "Inputs") -> list[str]:
    """Return why a lock is stale, where its contradictions are known already."""
    problems = [*compare_inputs(graph.lock, inputs.record), *contradictions]
    # Where an input has changed, the lock differs from it in many ways, and the change alone says it all.
    return problems or check_answers(graph, inputs.roots, inputs.settings, inputs.crd_roots)


def check_closure(lock: Lock) -> list[str]:
    """Return all contradictions within a lock; each text names both sides."""
    graph = LockGraph(lock)
    # Reasons to detach can only be worked out in a lock that holds together otherwise.
    return find_contradictions(graph) or check_detaching(graph)


def find_contradictions(graph: LockGraph) -> list[str]:
    """Return all contradictions within a lock, but for reasons to detach."""
    return [
        *_check_needs(graph),
        *_check_required_by(graph),
        *_check_reachable(graph),
        *_check_circles(graph),
        *check_lists(graph.lock),
        *check_crds(graph.lock),
        *check_states(graph),
    ]


def unmet_dependencies(lock: Lock) -> list[str]:
    """Return the dependencies that no package serves, or one that does not suit; each text names both sides."""
    return list(_check_needs(LockGraph(lock)))


def check_states(graph: LockGraph) -> list[str]:
    """Return contradictions about packages that are leaving, replaced others, or are aliases."""
    lock = graph.lock
    problems = [problem for package in lock.packages.values() for problem in _check_package(package)]
    return sorted([*problems, *_check_orphans(lock), *_check_moves(lock), *_check_deactivated(graph)])


def scattered_families(locks: Iterable[tuple[str, Lock]]) -> Iterator[tuple[str, list[Member]]]:
    """Yield each family of one cluster whose members name several registries or organisations.

    Packages that are leaving do not count: they cannot be moved any more.
    """
    families: dict[str, list[Member]] = {}
    for folder, lock in locks:
        for package in lock.in_order():
            if package.family and package.state is State.WANTED:
                families.setdefault(package.family, []).append((folder, package))
    for family, members in sorted(families.items()):
        if len({package.cluster_source.home for _, package in members}) > 1:
            yield family, members


def _check_needs(graph: LockGraph) -> Iterator[str]:
    for source, needs in graph.needs.items():
        for need in needs:
            for problem in _check_need(need):
                yield f"{_named(graph.lock.packages[source])} {problem}"


def _check_need(need: Need) -> Iterator[str]:
    constraints, named = need.dependency.constraints, need.named
    if not need.is_served:
        asked = f"{need.crd}, answered by {named}" if need.crd else f"{named} ({constraints})"
        yield f"needs {asked}, which is not in the lock"
    for target in need.targets:
        # Without a version, a CRD is asked for and no version of a package.
        if need.crd and constraints == ANY_VERSION:
            continue
        if not _accepts(constraints, target):
            served = "" if target.source == named else f", served by {target.source}"
            yield f"accepts {constraints} of {named}{served}; {_there(target)}"


def _accepts(text: str, target: Target) -> bool:
    digest = parse_constraint(text).digest
    return _suits(text, target.version_tag or "") if digest is None else target.digest == digest


@lru_cache(maxsize=8_192)
def _suits(constraint: str, tag: str) -> bool:
    # The locks of several folders have many packages and constraints in common.
    try:
        return parse_constraint(constraint).accepts(parse_version(tag))
    except InvalidVersion:
        return False


def _check_required_by(graph: LockGraph) -> Iterator[str]:
    for source, texts in graph.required_by.items():
        found, recorded = set(texts), set(graph.lock.packages[source].required_by)
        if found == recorded:
            continue
        for dependant in sorted(found - recorded):
            yield f"{dependant} needs {source}, whose requiredBy does not say so"
        for dependant in sorted(recorded - found):
            yield f"{source} is requiredBy {dependant}, which does not depend on it"


def _check_reachable(graph: LockGraph) -> Iterator[str]:
    packages = graph.lock.packages
    starts = [p.source for p in packages.values() if p.root is not None or p.state is State.ORPHANED]
    for source in sorted(packages.keys() - reach(starts, graph.dependencies)):
        yield f"{source} is in the lock, but nothing asks for it"


def _check_circles(graph: LockGraph) -> Iterator[str]:
    if sum(map(len, find_layers(graph.dependants))) == len(graph.dependants):
        return
    # Only a lock that is wrong needs it.
    from graphlib import CycleError, TopologicalSorter

    from render.texts import linked

    try:
        TopologicalSorter(graph.dependencies).prepare()
    except CycleError as error:
        first, *more = linked(list(reversed(error.args[1])), " needs ")
        yield f"packages need each other in a circle: {first}"
        yield from more


def _check_package(package: LockedPackage) -> Iterator[str]:
    source, alias = package.source, package.installed_as
    if package.released and package.state is State.WANTED:
        yield f"{source} is released, but it is not leaving"
    if package.stale_entry and not package.detached:
        yield f"{source} has a staleEntry, but it is not detached"
    if alias and not any(one.source == alias and one.strategy is Strategy.ALIAS for one in package.replaces):
        yield f"{source} is installedAs {alias}, but it does not replace that as an alias"


def _check_orphans(lock: Lock) -> Iterator[str]:
    orphans = [package for package in lock.packages.values() if package.state is State.ORPHANED]
    # Few locks have any, and only those need the texts of all sources.
    wanted = {str(p.source) for p in lock.packages.values() if p.state is State.WANTED} if orphans else set()
    for orphan in orphans:
        if orphan.root is not None:
            yield f"{orphan.source} is orphaned, but it is asked for: {orphan.root}"
        for dependant in wanted.intersection(orphan.required_by):
            yield f"{orphan.source} is orphaned, but {dependant} needs it"


def _check_moves(lock: Lock) -> Iterator[str]:
    """Find sources that are active although they were replaced, or that were replaced in two ways."""
    # The record of an orphan is history: a source that it replaced may have returned.
    wanted = [package for package in lock.packages.values() if package.state is State.WANTED]
    for source, successors in find_successors(wanted).items():
        ways = sorted(f"{one.package.source} ({_strategy(one)})" for one in successors)
        strategies = set(map(_strategy, successors))
        if source in lock.packages:
            yield f"{source} is active, but it is replaced by {' and '.join(ways)}"
        if len(strategies) > 1 or (len(ways) > 1 and strategies & {Strategy.ALIAS, Strategy.REPOINT}):
            yield f"{source} is replaced in two ways: by {' and by '.join(ways)}"


def _check_deactivated(graph: LockGraph) -> Iterator[str]:
    """Find deactivated packages whose `replacedBy` names other successors than there are."""
    for source, package in graph.lock.deactivated.items():
        recorded, found = set(package.replaced_by), set(graph.successors.get(source, ()))
        for successor in recorded - found:
            yield f"{source} is replacedBy {successor}, which does not replace it"
        for successor in found - recorded:
            yield f"{successor} replaces {source}, whose replacedBy does not say so"
        for what in sorted(_of_active_packages(package)):
            yield f"{source} is deactivated, and the lock has {what} of it, as of an active package"


def _of_active_packages(package: LockedPackage) -> Iterator[str]:
    lists = {
        "requiredBy": package.required_by,
        "crds": package.crds,
        "detached": package.detached,
        "staleEntry": package.stale_entry,
        "replaces": [one for one in package.replaces if one not in records_of_pins(package)],
    }
    yield from (name for name, entries in lists.items() if entries)
    if package.root is not None:
        yield "root"


def _strategy(successor: Successor) -> Strategy | None:
    return successor.replaced.strategy if successor.replaced else None


def _there(target: Target) -> str:
    if isinstance(target, LockedPackage):
        return f"locked is {target.version}"
    return f"{target.folder} provides {target.version}"


def _named(package: LockedPackage) -> str:
    return f"{package.source} {package.version}"
