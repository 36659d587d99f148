"""Folders → what rules look at; whatever cannot be read is told by a rule as well."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from render.checks.listings import Listings
from render.checks.model import Checked, CheckedFolder
from render.errors import RenderError
from render.inputs.projects import Inputs, read_inputs
from render.lean import TYPE_CHECKING, Any, TypeAlias, TypeVar, replace
from render.limits import Limits
from render.lock.freshness import find_contradictions, staleness_of
from render.lock.graph import LockGraph
from render.lock.model import Lock
from render.lock.text.file import read_lock_bytes
from render.lock.text.parse import parse_lock
from render.manifests.objects import render_lock
from render.system.boundary import real_path
from render.system.files import LOCK_FILE

if TYPE_CHECKING:
    from render.checks.environments import Earlier
    from render.folders.members import Member
    from render.folders.neighbours import Neighbours
    from render.policy.model import Policy

T = TypeVar("T")
Rendered: TypeAlias = tuple[Mapping[str, Any], ...]


def read_checked(
    folders: Sequence[Path],
    limits: Limits,
    environ: Mapping[str, str],
    *,
    same_cluster: bool = False,
    in_order: bool = False,
) -> Checked:
    """Read folders with their locks, what they use, and what is rendered from them."""
    once: dict[Path, Path] = {}
    for folder in folders:
        once.setdefault(real_path(folder), folder)
    locks, listings = _Locks(limits), Listings(limits)
    alike = _Alike()
    read = [
        replace(_read_folder(folder, locks, alike, limits, environ), listings=listings.find(folder, here))
        for here, folder in once.items()
    ]
    policy = _read_policy(environ, limits)
    earlier = _read_earlier(dict(zip(once, read, strict=True)), locks, limits, in_order=in_order)
    if not same_cluster and not any(one.has_neighbours for one in read):
        return Checked(tuple(read), operator_policy=policy, earlier=earlier)
    members = {one.path: _member(one) for one in read}
    around = [replace(one, around=_attempt(partial(_read_around, one, members, limits))) for one in read]
    return Checked(tuple(around), members, same_cluster, policy, earlier)


def _read_policy(environ: Mapping[str, str], limits: Limits) -> "Policy | None":
    if not environ.get("XPLOCK_POLICY"):
        return None
    # Imported late: most operators have none.
    from render.inputs.policies.operator_file import read_operator_policy

    return read_operator_policy(environ, limits)


def _read_earlier(
    read: Mapping[Path, CheckedFolder], locks: "_Locks", limits: Limits, *, in_order: bool
) -> "dict[Path, Earlier]":
    """Return what is locked in the environment before each folder, in the order of the call or of settings above."""
    from render.checks.environments import Earlier, Environments, as_named, pair_in_order

    environments = Environments(limits)
    pairs = pair_in_order(list(read)) if in_order else {}
    found: dict[Path, Earlier] = {}
    for here, one in read.items():
        before = pairs.get(here) if in_order else environments.before(here)
        # A lock that cannot be read is reported for its own folder.
        lock = _attempt(partial(locks.read, before)) if before is not None else None
        if before is not None and lock and not isinstance(lock, RenderError):
            found[here] = Earlier(as_named(before, one.folder), lock[0].lock)
    return found


class _Locks:
    """Reads locks with what they contradict themselves in; one that many folders have is understood once."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[bytes, tuple[LockGraph, list[str]]] = {}

    def read(self, folder: Path) -> tuple[LockGraph, list[str]] | None:
        data = read_lock_bytes(folder, self._limits)
        if data is None:
            return None
        if data not in self._known:
            graph = LockGraph(parse_lock(data, self._limits, place=str(folder / LOCK_FILE)))
            self._known[data] = graph, find_contradictions(graph)
        return self._known[data]


class _Alike:
    """Keeps what is rendered, and so is fine: a folder with the same lock and the same inputs renders the same."""

    def __init__(self) -> None:
        # By the lock, which stays in memory, and the record of inputs; of several that only pass other objects
        # through, the last one.
        self._known: dict[tuple[int, tuple[tuple[str, str], ...]], tuple[Inputs, Rendered]] = {}

    def find(self, graph: LockGraph, inputs: Inputs) -> Rendered | None:
        found = self._known.get(self._key(graph, inputs))
        return found[1] if found and replace(found[0], folder=inputs.folder) == inputs else None

    def keep(self, graph: LockGraph, inputs: Inputs, objects: Rendered) -> None:
        self._known[self._key(graph, inputs)] = inputs, objects

    def _key(self, graph: LockGraph, inputs: Inputs) -> tuple[int, tuple[tuple[str, str], ...]]:
        return id(graph), tuple(inputs.record.items())


def _read_folder(
    folder: Path, locks: _Locks, alike: _Alike, limits: Limits, environ: Mapping[str, str]
) -> CheckedFolder:
    inputs = _attempt(lambda: read_inputs(folder, limits, environ))
    found = _attempt(lambda: locks.read(folder))
    if found is None or isinstance(found, RenderError):
        return CheckedFolder(folder, inputs, found)
    graph, problems = found
    lock = graph.lock
    known = alike.find(graph, inputs) if isinstance(inputs, Inputs) else None
    if known is not None:
        return CheckedFolder(folder, inputs, lock, objects=known)
    stale = tuple(staleness_of(graph, problems, inputs) if isinstance(inputs, Inputs) else problems)
    objects: Rendered | RenderError = ()
    if isinstance(inputs, Inputs) and not stale:
        objects = _attempt(lambda: tuple(render_lock(lock, inputs, limits, environ)))
        if not isinstance(objects, RenderError):
            alike.keep(graph, inputs, objects)
    return CheckedFolder(folder, inputs, lock, stale, objects)


def _member(one: CheckedFolder) -> "Member":
    # Folders that stand alone need none of this.
    from render.folders.members import Member

    uses = one.inputs.settings.uses if isinstance(one.inputs, Inputs) else ()
    # A lock that is not up to date is judged when it is needed.
    return Member(one.folder, uses, one.fresh_lock)


def _read_around(one: CheckedFolder, members: "dict[Path, Member]", limits: Limits) -> "Neighbours":
    from render.folders.neighbours import Neighbours, read_neighbours

    if not isinstance(one.inputs, Inputs):
        return Neighbours()
    settings = one.inputs.settings
    around = read_neighbours(one.folder, settings.uses, limits, members)
    return around.after_moves(settings.moves, one.lock if isinstance(one.lock, Lock) else Lock())


def _attempt(read: Callable[[], T]) -> T | RenderError:
    try:
        return read()
    except RenderError as error:
        return error
