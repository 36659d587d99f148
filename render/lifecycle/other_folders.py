"""Packages of other folders of the cluster: what a folder must leave to them, and what it must not take from them."""

from collections.abc import Iterable, Iterator, Sequence

from render.errors import RenderError, Unsatisfiable
from render.folders.neighbours import Neighbours
from render.lifecycle.retiring.ways_out import retire_losing
from render.lifecycle.states import Event, Plan
from render.lock.freshness import unmet_dependencies
from render.lock.graph import LockGraph, Target
from render.lock.model import Lock, LockedPackage, State
from render.moves import Move
from render.packages import Kind
from render.references import Source
from render.texts import first_lines
from render.versions.requests import Root

_SHOWN, _SHOWN_PROBLEMS = 5, 20


class BelongsElsewhere(Unsatisfiable):
    """A package that is asked for or moved here, and that another folder provides."""


class OtherName(Unsatisfiable):
    """A package that another folder has taken over, under another name."""


class NeededByUser(Unsatisfiable):
    """A package that would be dropped here, and that a using folder needs."""


class LosesProvided(Unsatisfiable):
    """A package that is installed here, and needs a package that other folders no longer provide."""


def refuse_provided(
    roots: Iterable[Root], moves: Iterable[Move], before: Lock, neighbours: Neighbours
) -> None:
    """Raise for roots, moves and installed packages that belong to a used folder."""
    _refuse_roots(roots, neighbours)
    successors = LockGraph(before).successors
    recorded = [Move(source, targets, place="the lock") for source, targets in successors.items()]
    for move in (*moves, *recorded):
        _refuse_move(move, neighbours)
    for package in before.installed():
        _refuse_other_name(package, neighbours)


def check_provided_packages_stay(plan: Plan) -> Iterator[RenderError]:
    """A package here depends on nothing that a used folder is about to drop, or has dropped."""
    provided = plan.after.provided
    for source in sorted(plan.context.neighbours.released & provided.keys()):
        folder = provided[source].folder
        yield LosesProvided(
            f"{source} is needed here, and {folder} is about to drop it",
            why="it is retired there, and its guard is off",
            next=f"ask for it in {folder}, and lock that again",
        )
    problems = [*unmet_dependencies(plan.after), *_without_successor(plan.after)]
    leaving = [package for package in plan.after.installed() if package.state is not State.WANTED]
    if problems:
        losing = _losing(leaving, problems)
        yield LosesProvided(
            "packages that are leaving would lose what they need",
            why=first_lines(problems, _SHOWN_PROBLEMS),
            next=_keep_or_retire(losing, plan),
        )


def check_using_folders_lose_nothing(plan: Plan) -> Iterator[RenderError]:
    """No package is dropped that a using folder needs; without a guard it would be deleted."""
    gone = {one.before.source for one in plan.transitions if one.before and one.event is Event.DROP}
    # A source that another folder replaced, and renders as the same object, is not lost.
    dropped = (gone & plan.before.packages.keys()) - LockGraph(plan.after).successors.keys()
    for folder, lock in plan.context.neighbours.using:
        for source in sorted(dropped & lock.provided.keys()):
            yield NeededByUser(
                f"{source} would be dropped, and {folder} needs it",
                why="no package here needs it any more, and guard is off",
                next=f"ask for it here, or first lock {folder} without what needs it",
            )


def note_takeovers(plan: Plan) -> list[str]:
    """Describe each package that is dropped here because a used folder now provides it."""
    before, after, provided = plan.before, plan.after, plan.context.neighbours.provided
    gone = before.packages.keys() - after.packages.keys() - after.deactivated.keys()
    return [
        f"{source} is dropped here; {provided[source].folder} provides it from now on"
        for source in sorted((gone & provided.keys()) - after.provided.keys())
    ]


def _refuse_roots(roots: Iterable[Root], neighbours: Neighbours) -> None:
    # The first of two moves of one source counts.
    moved = {move.source: move for move in reversed(neighbours.moves)}
    lines = []
    for root in roots:
        asked = f"{root.place} asks for {root.source}"
        if root.source in neighbours.provided:
            other = neighbours.provided[root.source]
            lines.append(f"{asked}; {other.folder} provides it as {other.kind} {other.object_name}")
        elif root.source in moved:
            move = moved[root.source]
            lines.append(f"{asked}; {move.place} has replaced it by {' and '.join(map(str, move.targets))}")
    if lines:
        raise BelongsElsewhere(
            f"{'a package is' if len(lines) == 1 else f'{len(lines):,} packages are'} asked for here, "
            "and provided by a folder that is used",
            why=[*first_lines(lines, _SHOWN), "two objects for one source stop every package in the cluster"],
            next="drop one of them: without the one here, the other one serves whatever needs it",
        )


def _refuse_move(move: Move, neighbours: Neighbours) -> None:
    other = neighbours.provided.get(move.source)
    # A package that has moved back within another folder belongs there.
    if other is not None and not {*move.targets} <= {*other.replaces}:
        raise BelongsElsewhere(
            f"{move.source} moves here, and {other.folder} provides it",
            why=f"{move.place} has replaced it by {' and '.join(map(str, move.targets))}",
            next=f"make the move where the package is: in {other.folder}",
        )


def _refuse_other_name(package: LockedPackage, neighbours: Neighbours) -> None:
    other = neighbours.provided.get(package.source)
    if other is None or _identity(other) == _identity(package):
        return
    raise OtherName(
        f"{package.source} is installed as {package.object_name}, and {other.folder} calls it {other.object_name}",
        why="a package that is dropped here stays in the cluster, and a second object for one source stops every package",
        next=f"name it {package.object_name} in {other.folder}",
    )


def _identity(package: Target) -> tuple[Kind, str, Source]:
    return package.kind, package.object_name, package.cluster_source


def _losing(leaving: Iterable[LockedPackage], problems: Iterable[str]) -> list[LockedPackage]:
    """Return the leaving packages that problems start with: each names its package first."""
    named = {problem.partition(" ")[0] for problem in problems}
    return [package for package in leaving if str(package.source) in named]


def _keep_or_retire(losing: Sequence[LockedPackage], plan: Plan) -> list[str]:
    found = {one.source: one for one in losing}
    ways = retire_losing(found, found, plan.context)
    return ["have what they need in a folder that is used", *(["or, without them:"] if ways else []), *ways]


def _without_successor(lock: Lock) -> Iterator[str]:
    for source, package in sorted(lock.deactivated.items()):
        for target in sorted(set(package.replaced_by) - lock.packages.keys() - lock.provided.keys()):
            yield f"{source} is deactivated for {target}, which is neither here nor provided"
