"""An answer → Plan: one transition for each object of the lock before and of the lock after, nothing checked yet.

A plan can always be made, also one that a rule rejects.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.lean import replace
from render.lifecycle.names import choose_name, locked_names
from render.lifecycle.states import Context, Draft, Event, MovedPackage, Plan, StableResolution, Transition
from render.lifecycle.strategies import choose_strategies, replaced_sources
from render.lock.candidates import lock_answers, lock_dependencies
from render.lock.derived.detaching import EVERYTHING, completed_name, find_reasons
from render.lock.derived.fields import manifest_fields
from render.lock.derived.pins import as_deactivated
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Provided, State, named_source
from render.moves import Strategy
from render.packages import CrdDependency, count_kinds, defined_groups, digest_objects
from render.references import Source
from render.resolve.model import Chosen, Edge
from render.settings import Detach, PinMode
from render.versions.requests import Root


def make_plan(answer: StableResolution, context: Context) -> Plan:
    """Decide what happens to every object: its strategy, its name, its state, and whether it is detached."""
    draft = _make_draft(answer, context)
    moved = choose_strategies(draft)
    transitions = [*_active(draft, moved), *_deactivated(draft, moved)]
    found = [*transitions, *_dropped(context.before, transitions)]
    after = _make_lock(draft, transitions)
    reasons = find_reasons(LockGraph(after), draft.known_reasons)
    packages = {s: replace(p, detached=reasons.get(s, ())) for s, p in after.packages.items()}
    return Plan(
        draft, moved, [_with_reasons(one, packages) for one in found], replace(after, packages=packages)
    )


def _make_draft(answer: StableResolution, context: Context) -> Draft:
    roots = {root.source: root for root in answer.resolution.roots}
    names = locked_names(context.before, ())
    packages = {
        source: replace(
            _lock_package(source, answer, context, roots.get(source)),
            object_name=choose_name(source, roots.get(source), names),
        )
        for source in sorted(answer.resolution.packages)
    }
    asked = [CrdDependency(root.crd, root.constraint) for root in context.crd_roots]
    lock = Lock(
        {**packages, **answer.orphans},
        provided=_provided(answer, context),
        crds=lock_answers(None, asked, answer.resolution.answers),
    )
    return Draft(answer, context, lock, roots, _known_reasons(answer, context))


def _lock_package(
    source: Source, answer: StableResolution, context: Context, root: Root | None
) -> LockedPackage:
    chosen, edges = answer.resolution.packages[source], answer.resolution.edges_to(source)
    metadata, digest = chosen.package.metadata, chosen.package.digest
    tag = chosen.candidate.tag
    by_digest = context.settings.pin is PinMode.NATIVE or _is_asked_by_digest(chosen, edges)
    return LockedPackage(
        source=source,
        version=digest if by_digest else str(tag),
        digest=digest,
        kind=chosen.kind,
        object_name="",
        dependencies=lock_dependencies(chosen.dependencies),
        crds=lock_answers(source, chosen.package.metadata.crds, answer.resolution.answers),
        root=str(root.request) if root else None,
        tag=tag if by_digest else None,
        objects=count_kinds(chosen.package.objects),
        objects_digest=digest_objects(chosen.package.objects),
        definitions_digest=chosen.package.definitions_digest,
        groups=defined_groups(chosen.kind, chosen.package.objects),
        family=metadata.family,
        crossplane=metadata.crossplane.text if metadata.crossplane else None,
        **context.judge.locked_fields(chosen.package),
    )


def _is_asked_by_digest(chosen: Chosen, edges: Sequence[Edge]) -> bool:
    exact = any(edge.request.digest and not edge.request.tag for edge in edges)
    return chosen.candidate.tag is None or exact


def _known_reasons(answer: StableResolution, context: Context) -> dict[Source, list[str]]:
    """Return the reasons to detach that a lock cannot show, since it holds every dependency in full."""
    everything = [EVERYTHING] if context.settings.detach is Detach.ALL else []
    found = {source: [*everything, *orphan.detached] for source, orphan in answer.orphans.items()}
    for source, chosen in answer.resolution.packages.items():
        partial = [
            completed_name(edge.dependency.package, str(edge.source))
            for edge in chosen.dependencies
            if edge.completed and edge.dependency
        ]
        found[source] = everything + partial
    return found


def _active(draft: Draft, moved: Sequence[MovedPackage]) -> Iterator[Transition]:
    """Yield the transitions of all packages that are active after, sorted by source."""
    names = locked_names(draft.before, moved)
    taken: dict[Source, MovedPackage] = {}
    for one in moved:
        if one.keeps_object:
            taken.setdefault(one.target, one)
    aliases = [one for one in moved if one.strategy is Strategy.ALIAS]
    for source, package in sorted(draft.lock.packages.items()):
        if source in draft.answer.orphans:
            before = draft.before.packages[source]
            yield Transition(before, _leaving_event(before, Event.ORPHAN), package)
            continue
        move, root = taken.get(source), draft.roots.get(source)
        before_it = move.old if move else _own_object(source, draft.before, moved)
        after = replace(
            package,
            object_name=choose_name(source, root, names),
            replaces=replaced_sources(source, moved, draft),
            installed_as=_installed_as(source, aliases),
            fields=manifest_fields(root),
        )
        yield Transition(before_it, _active_event(before_it, after, move), after, move.move if move else None)


def _own_object(source: Source, before: Lock, moved: Iterable[MovedPackage]) -> LockedPackage | None:
    """Return the package that had the object of a source, active or deactivated, unless that object moves."""
    own = before.packages.get(source)
    left = any(one.old is own for one in moved)
    return before.deactivated.get(source) if own is None or left else own


def _installed_as(source: Source, aliases: Iterable[MovedPackage]) -> Source | None:
    named = [one.old.cluster_source for one in aliases if one.target == source]
    return next((alias for alias in named if alias != source), None)


def _active_event(before: LockedPackage | None, after: LockedPackage, moved: MovedPackage | None) -> Event:
    if moved is not None:
        return Event.ALIAS if moved.strategy is Strategy.ALIAS else Event.REPOINT
    if before is None:
        return Event.INSTALL
    if before.state is not State.WANTED:
        return Event.RETURN
    return Event.KEEP if before.digest == after.digest else Event.UPGRADE


def _leaving_event(before: LockedPackage, event: Event) -> Event:
    return event if before.state is State.WANTED else Event.KEEP


def _deactivated(draft: Draft, moved: Sequence[MovedPackage]) -> Iterator[Transition]:
    """Yield the transitions of all packages that are deactivated after, sorted by the cluster's source."""
    found = {
        source: Transition(
            package,
            Event.KEEP,
            replace(package, replaced_by=tuple(sorted(draft.moves[source].targets))),
            draft.moves[source],
        )
        for source, package in draft.before.deactivated.items()
        if source not in draft.answer.resolution.packages and source in draft.moves
    }
    for one in moved:
        if one.strategy is Strategy.DEACTIVATE:
            found[one.old.cluster_source] = Transition(one.old, Event.DEACTIVATE, _deactivate(one), one.move)
    return (found[source] for source in sorted(found))


def _deactivate(one: MovedPackage) -> LockedPackage:
    return as_deactivated(
        replace(
            one.old,
            state=State.DEACTIVATED,
            replaced_by=tuple(sorted(one.move.targets)),
            released=False,
        )
    )


def _dropped(before: Lock, transitions: Iterable[Transition]) -> Iterator[Transition]:
    kept = {id(one.before) for one in transitions}
    for package in before.installed():
        if id(package) not in kept:
            yield Transition(package, Event.DROP, None)


def _make_lock(draft: Draft, transitions: Iterable[Transition]) -> Lock:
    after = [one.after for one in transitions if one.after is not None]
    deactivated = {p.cluster_source: p for p in after if p.state is State.DEACTIVATED}
    return Lock(
        {package.source: package for package in after if package.state is not State.DEACTIVATED},
        deactivated=deactivated,
        provided=_provided(draft.answer, draft.context, deactivated.values()),
        crds=draft.lock.crds,
    )


def _provided(
    answer: StableResolution, context: Context, deactivated: Iterable[LockedPackage] = ()
) -> dict[Source, Provided]:
    """Return the packages of used folders that packages here depend on, or were deactivated for."""
    needed = {edge.source for chosen in answer.resolution.packages.values() for edge in chosen.dependencies}
    for orphan in answer.orphans.values():
        for named in (named_source(dependency, orphan.source) for dependency in orphan.dependencies):
            needed.update(answer.moves[named].targets if named in answer.moves else [named])
    needed.update(target for package in deactivated for target in package.replaced_by)
    provided = context.neighbours.provided
    return {source: provided[source] for source in sorted(needed & provided.keys())}


def _with_reasons(one: Transition, packages: Mapping[Source, LockedPackage]) -> Transition:
    after = one.after
    if after is None or after.state is State.DEACTIVATED:
        return one
    return replace(one, after=packages[after.source])
