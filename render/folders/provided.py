"""Packages that belong to other folders: what a folder must leave to them, and whether its lock still knows them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace

from render.errors import Unsatisfiable
from render.folders.neighbours import Neighbours
from render.lock.consistency import unmet_dependencies
from render.lock.graph import LockGraph
from render.lock.model import Lock, LockedPackage, Provided
from render.moves import Move
from render.packages import Kind
from render.references import Source
from render.requests import Root
from render.texts import first_lines

_SHOWN, _SHOWN_PROBLEMS = 5, 20


class BelongsElsewhere(Unsatisfiable):
    """A package that is asked for or moved here, and that another folder provides."""


class OtherName(Unsatisfiable):
    """A package that another folder has taken over, under another name."""


class NeededByUser(Unsatisfiable):
    """A package that would be dropped here, and that a folder that uses this one needs."""


class LosesProvided(Unsatisfiable):
    """A package that is installed here, and needs what other folders provide no longer."""


def refuse_provided(roots: Iterable[Root], moves: Iterable[Move], before: Lock, around: Neighbours) -> None:
    """Refuse what a folder must leave to those that it uses."""
    _refuse_roots(roots, around)
    successors = LockGraph(before).successors
    for move in (
        *moves,
        *[Move(source, targets, place="the lock") for source, targets in successors.items()],
    ):
        _check_move(move, around)
    for package in before.installed():
        _check_takeover(package, around)


def compare_provided(lock: Lock, around: Neighbours) -> list[str]:
    """Return what other folders provide otherwise than a lock has it."""
    return [*_changes(lock, around), *_claimed(lock, around)]


def find_unsuited(lock: Lock, around: Neighbours) -> list[str]:
    """Return which packages of a lock do not accept what other folders provide by now."""
    own = set(unmet_dependencies(lock))
    # What is no longer there is another matter.
    now = replace(lock, provided={**lock.provided, **around.provided})
    return [problem for problem in unmet_dependencies(now) if problem not in own]


def require_provided(lock: Lock, around: Neighbours) -> None:
    """Refuse a lock that relies on what other folders let go of, or no longer have."""
    for source in sorted(around.released & lock.provided.keys()):
        folder = lock.provided[source].folder
        raise LosesProvided(
            f"{source} is needed here, and {folder} is about to drop it",
            why="it is retired there, and its guard is off",
            next=f"ask for it in {folder}, and lock that again",
        )
    problems = [*unmet_dependencies(lock), *_without_successor(lock)]
    if problems:
        raise LosesProvided(
            "packages that are leaving would lose what they need",
            why=first_lines(problems, _SHOWN_PROBLEMS),
            next=["retire them first: xplock retire", "or have what they need in a folder that is used"],
        )


def refuse_drops(before: Lock, after: Lock, around: Neighbours) -> None:
    """Refuse to drop what folders that use this one need; without a guard it would be deleted."""
    dropped = before.packages.keys() - after.packages.keys() - {*LockGraph(after).successors}
    for folder, lock in around.users:
        for source in sorted(dropped & lock.provided.keys()):
            raise NeededByUser(
                f"{source} would be dropped, and {folder} needs it",
                why="nobody here needs it any more, and guard is off",
                next=f"ask for it here, or first lock {folder} without what needs it",
            )


def tell_takeovers(before: Lock, after: Lock, around: Neighbours) -> list[str]:
    """Return a line for each package that is dropped since it goes on in another folder, and that after says nothing of."""
    gone = before.packages.keys() - after.packages.keys() - after.deactivated.keys()
    return [
        f"{source} is dropped here and goes on in {around.provided[source].folder}, which provides it"
        for source in sorted((gone & around.provided.keys()) - after.provided.keys())
    ]


def _refuse_roots(roots: Iterable[Root], around: Neighbours) -> None:
    # Of two moves of one source the first one counts.
    moved = {move.source: move for move in reversed(around.moves)}
    lines = []
    for root in roots:
        asked = f"{root.place} asks for {root.source}"
        if root.source in around.provided:
            lines.append(f"{asked}; {_described(around.provided[root.source])}")
        elif root.source in moved:
            move = moved[root.source]
            lines.append(f"{asked}; {move.place} has {' and '.join(map(str, move.targets))} in its place")
    if lines:
        shown = first_lines(lines, _SHOWN)
        raise BelongsElsewhere(
            f"{'a package is' if len(lines) == 1 else f'{len(lines):,} packages are'} asked for here, "
            "and provided by a folder that is used",
            why=[*shown, "two objects for one source stop every package in the cluster"],
            next="drop one of them: without the one here, the other one serves whatever needs it",
        )


def _check_move(move: Move, around: Neighbours) -> None:
    other = around.provided.get(move.source)
    # What has moved back within another folder is at home there.
    if other is not None and not {*move.targets} <= {*other.replaces}:
        raise BelongsElsewhere(
            f"{move.source} moves here, and {other.folder} provides it",
            why=f"{move.place} has {' and '.join(map(str, move.targets))} in its place",
            next=f"make the move where the package is: in {other.folder}",
        )


def _described(package: Provided) -> str:
    return f"{package.folder} provides it as {package.kind} {package.object_name}"


def _check_takeover(package: LockedPackage, around: Neighbours) -> None:
    other = around.provided.get(package.source)
    if other is None or _identity(other) == _identity(package):
        return
    raise OtherName(
        f"{package.source} is installed as {package.object_name}, and {other.folder} calls it {other.object_name}",
        why="what is dropped here goes on in the cluster, and a second object for one source stops every package",
        next=f"name it {package.object_name} in {other.folder}",
    )


def _identity(package: LockedPackage | Provided) -> tuple[Kind, str, Source]:
    return package.kind, package.object_name, package.cluster_source


def _changes(lock: Lock, around: Neighbours) -> Iterator[str]:
    for source, known in sorted(lock.provided.items()):
        now = around.provided.get(source)
        if now is None:
            yield f"{known.folder} no longer provides {source}"
        elif now.version != known.version:
            yield f"{now.folder} provides {source} {now.version}, and not {known.version}"
        elif now != known:
            yield f"{now.folder} provides {source} with another {' and '.join(_differences(known, now))}"
        elif source in around.released:
            yield f"{now.folder} is about to drop {source}"


def _differences(known: Provided, now: Provided) -> Sequence[str]:
    names = [each.name for each in fields(Provided) if getattr(known, each.name) != getattr(now, each.name)]
    return [name.replace("_", " ") for name in names]


def _claimed(lock: Lock, around: Neighbours) -> Iterator[str]:
    """Yield what is rendered here and belongs to others by now."""
    moved = {move.source: move.place for move in around.moves}
    names = {(other.kind, other.object_name): other.folder for other in around.provided.values()}
    for package in lock.installed():
        other = around.provided.get(package.source)
        if other is not None:
            yield f"{other.folder} provides {package.source}"
        elif package.source in lock.packages and package.source in moved:
            yield f"{moved[package.source]} has others in the place of {package.source}"
        elif (package.kind, package.object_name) in names:
            yield f"{names[package.kind, package.object_name]} has a {package.kind} {package.object_name}"


def _without_successor(lock: Lock) -> Iterator[str]:
    for source, package in sorted(lock.deactivated.items()):
        for target in sorted(set(package.replaced_by) - lock.packages.keys() - lock.provided.keys()):
            yield f"{source} is switched off for {target}, which is neither here nor provided"
