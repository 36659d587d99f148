"""An answer → Lock: what was decided, with everything that rendering will need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from render.lean import replace
from render.lifecycle.carry_over import carry_pins, check_repinned, lost_fields
from render.lifecycle.families import check_families
from render.lifecycle.handovers import Handover, Situation
from render.lifecycle.names import check_kinds, name_objects
from render.lifecycle.preferences import NOTHING_INSTALLED, live_entry
from render.lifecycle.settle import Settled
from render.lifecycle.states import stale_entry
from render.lifecycle.strategies import choose_handovers, replaced_by
from render.live.lock import LiveLock
from render.lock.candidates import lock_dependencies
from render.lock.detaching import EVERYTHING, find_reasons
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Provided, State, named_source, spec_of
from render.moves import Strategy
from render.names import object_name
from render.overrides import override_fields
from render.packages import count_kinds, defined_groups, digest_objects
from render.references import Source
from render.requests import Root
from render.resolve.model import Chosen, Edge, Resolution
from render.settings import Detach, PinMode, Settings


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a lock is made in: the lock before, the settings, and other folders of the same cluster."""

    before: Lock = field(default_factory=Lock)
    settings: Settings = field(default_factory=Settings)
    provided: Mapping[Source, Provided] = field(default_factory=dict)
    # What the folders of those packages have switched off; its names are taken.
    switched_off: Sequence[LockedPackage] = ()
    # Locks of folders that use this one.
    users: Sequence[Lock] = ()
    # What the cluster has that was installed before it was locked.
    live: LiveLock = NOTHING_INSTALLED


def create_lock(settled: Settled, record: Mapping[str, str], around: Surroundings) -> Lock:
    """Write down what was decided."""
    resolution, before = settled.resolution, around.before
    check_kinds(resolution, before.installed())
    roots = {root.source: root for root in resolution.roots}
    known = _known_reasons(settled, around.settings)
    decided = {
        source: _lock_package(resolution, source, roots.get(source), around.settings)
        for source in sorted(resolution.packages)
    }
    draft = _draft(decided, roots, settled, around)
    situation = Situation(
        before, draft, settled.moves, roots, around.settings, known, around.users, around.provided
    )
    handovers = choose_handovers(situation)
    names = name_objects(resolution, _locked_names(before, handovers), _others(settled, handovers, around))
    packages = {
        source: _inherit(
            replace(
                package,
                object_name=names[source],
                replaces=replaced_by(source, handovers, situation),
                installed_as=_installed_as(source, handovers),
            ),
            _predecessor(source, before, handovers),
            roots.get(source),
            around.settings,
        )
        for source, package in decided.items()
    }
    deactivated = _deactivated(before, packages, handovers, settled)
    lock = replace(
        draft,
        packages={**packages, **settled.orphans},
        inputs=dict(sorted(record.items())),
        deactivated=deactivated,
        provided=_needed_of_others(settled, around, deactivated.values()),
    )
    check_families(lock)
    return _complete(lock, known, handovers, around)


def _lock_package(
    resolution: Resolution, source: Source, root: Root | None, settings: Settings
) -> LockedPackage:
    chosen, edges = resolution.packages[source], resolution.edges_to(source)
    metadata, digest = chosen.package.metadata, chosen.package.digest
    tag = chosen.candidate.tag
    by_digest = settings.pin is PinMode.NATIVE or _is_asked_by_digest(chosen, edges)
    return LockedPackage(
        source=source,
        version=digest if by_digest else str(tag),
        digest=digest,
        kind=chosen.kind,
        object_name="",
        dependencies=lock_dependencies(chosen.dependencies),
        root=str(root.request) if root else None,
        tag=tag if by_digest else None,
        objects=count_kinds(chosen.package.objects),
        objects_digest=digest_objects(chosen.package.objects),
        groups=defined_groups(chosen.kind, chosen.package.objects),
        family=metadata.family,
        crossplane=metadata.crossplane.text if metadata.crossplane else None,
    )


def _is_asked_by_digest(chosen: Chosen, edges: Sequence[Edge]) -> bool:
    exact = any(edge.request.digest and not edge.request.tag for edge in edges)
    return chosen.candidate.tag is None or exact


def _draft(
    decided: Mapping[Source, LockedPackage],
    roots: Mapping[Source, Root],
    settled: Settled,
    around: Surroundings,
) -> Lock:
    """Return the lock as it would be if nothing had moved."""
    locked = _locked_names(around.before, ())
    packages = {}
    for source, package in decided.items():
        given = roots[source].name if source in roots else None
        packages[source] = replace(package, object_name=given or locked.get(source) or object_name(source))
    return Lock({**packages, **settled.orphans}, provided=_needed_of_others(settled, around))


def _needed_of_others(
    settled: Settled, around: Surroundings, deactivated: Iterable[LockedPackage] = ()
) -> dict[Source, Provided]:
    """Return what others provide and packages here depend on, or are switched off for."""
    needed = {edge.source for chosen in settled.resolution.packages.values() for edge in chosen.dependencies}
    for orphan in settled.orphans.values():
        for named in (named_source(dependency, orphan.source) for dependency in orphan.dependencies):
            needed.update(settled.moves[named].targets if named in settled.moves else [named])
    needed.update(target for package in deactivated for target in package.replaced_by)
    return {source: around.provided[source] for source in sorted(needed & around.provided.keys())}


def _locked_names(before: Lock, handovers: Sequence[Handover]) -> dict[Source, str]:
    """Return the names that sources have already, or take over."""
    names = {source: package.object_name for source, package in before.deactivated.items()}
    names |= {source: package.object_name for source, package in before.packages.items()}
    for handover in handovers:
        if handover.old.source != handover.target or not handover.keeps_object:
            # The object goes to another, or off; a package that is needed still gets one of its own.
            names.pop(handover.old.source, None)
        if handover.keeps_object:
            names[handover.target] = handover.old.object_name
    return names


def _others(
    settled: Settled, handovers: Sequence[Handover], around: Surroundings
) -> list[LockedPackage | Provided]:
    """Return whose names are taken: what stays without being asked for, what is switched off, what others render."""
    returning = settled.resolution.packages.keys()
    off = [package for source, package in around.before.deactivated.items() if source not in returning]
    switched = [_switch_off(h) for h in handovers if h.strategy is Strategy.DEACTIVATE]
    here = [*settled.orphans.values(), *off, *switched]
    return [*here, *around.provided.values(), *around.switched_off]


def _predecessor(source: Source, before: Lock, handovers: Sequence[Handover]) -> LockedPackage | None:
    """Return what was rendered before as the object that a package has now."""
    taken = [h.old for h in handovers if h.keeps_object and h.target == source]
    if taken:
        return taken[0]
    own = before.packages.get(source)
    left = any(h.old is own for h in handovers)
    return before.deactivated.get(source) if own is None or left else own


def _installed_as(source: Source, handovers: Sequence[Handover]) -> Source | None:
    aliases = [h.old.cluster_source for h in handovers if h.strategy is Strategy.ALIAS and h.target == source]
    return next((alias for alias in aliases if alias != source), None)


def _inherit(
    package: LockedPackage, before: LockedPackage | None, root: Root | None, settings: Settings
) -> LockedPackage:
    # A root that is dropped but still needed keeps what its manifest said: it is the same object.
    manifest = root if root and root.is_manifest else before
    overrides = override_fields(package.source, package.kind, {}, settings.overrides)
    return replace(
        package,
        fields=manifest.fields if manifest else {},
        overrides=overrides,
        kept_pins=carry_pins(before, package) if settings.pin is PinMode.DIGEST else (),
    )


def _deactivated(
    before: Lock,
    packages: Mapping[Source, LockedPackage],
    handovers: Sequence[Handover],
    settled: Settled,
) -> dict[Source, LockedPackage]:
    moves = settled.moves
    found = {
        source: replace(package, replaced_by=tuple(sorted(moves[source].targets)))
        for source, package in before.deactivated.items()
        if source not in packages and source in moves
    }
    for handover in handovers:
        if handover.strategy is Strategy.DEACTIVATE:
            found[handover.old.cluster_source] = _switch_off(handover)
    return dict(sorted(found.items()))


def _switch_off(handover: Handover) -> LockedPackage:
    return replace(
        handover.old,
        state=State.DEACTIVATED,
        replaced_by=tuple(sorted(handover.move.targets)),
        released=False,
        root=None,
        required_by=(),
        dependencies=(),
        detached=(),
        stale_entry=(),
        replaces=(),
    )


def _complete(
    lock: Lock, known: Mapping[Source, Sequence[str]], handovers: Sequence[Handover], around: Surroundings
) -> Lock:
    """Add what follows from all packages together: who requires whom, who is detached."""
    graph = LockGraph(lock)
    reasons = find_reasons(graph, known)
    before = {source: _predecessor(source, around.before, handovers) for source in lock.packages}
    packages = {}
    for source, package in sorted(lock.packages.items()):
        detached = reasons.get(source, ())
        told = replace(
            package, detached=detached, required_by=tuple(sorted(map(str, graph.dependants[source])))
        )
        packages[source] = replace(
            told,
            overrides=_with_lost_fields(told, before[source]),
            stale_entry=_stale_entry(told, before[source], around),
        )
    if around.settings.pin is PinMode.DIGEST:
        check_repinned(packages, before)
    return replace(lock, packages=packages)


def _stale_entry(
    package: LockedPackage, before: LockedPackage | None, around: Surroundings
) -> tuple[str, ...]:
    """Return what its entry in the cluster's Lock names, by the lock before and by what the cluster says itself."""
    crossplane = around.settings.crossplane_version
    known = stale_entry(package, before, crossplane)
    return tuple(sorted({*known, *live_entry(package, around.live, crossplane)}))


def _with_lost_fields(package: LockedPackage, before: LockedPackage | None) -> Mapping[str, object]:
    overrides = package.overrides
    detached = ["skipDependencyResolution"] if package.detached else []
    lost = lost_fields(before, {*spec_of(overrides), *spec_of(package.fields), *detached})
    return {**overrides, "spec": {**lost, **spec_of(overrides)}} if lost else overrides


def _known_reasons(settled: Settled, settings: Settings) -> dict[Source, list[str]]:
    """Return the reasons to detach that a lock cannot show, since it holds every dependency in full."""
    everything = [EVERYTHING] if settings.detach is Detach.ALL else []
    found = {source: [*everything, *orphan.detached] for source, orphan in settled.orphans.items()}
    for source, chosen in settled.resolution.packages.items():
        partial = [
            f"it needs {edge.dependency.package}, which the cluster knows as {edge.source}"
            for edge in chosen.dependencies
            if edge.completed and edge.dependency
        ]
        found[source] = everything + partial
    return found
