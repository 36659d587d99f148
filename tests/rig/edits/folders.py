"""Small worlds in which packages move, and folders whose owner edits them: asks, drops, moves, undoes, retires."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from render.errors import RenderError
from render.lean import replace
from render.lifecycle.retiring.blockers import LockedFolder
from render.lifecycle.retiring.retire import retire_packages
from render.lifecycle.update import LockOptions
from render.limits import Limits
from render.lock.model import Lock, State
from render.lock.text.format import format_lock
from render.lock.text.parse import InvalidLock, parse_lock
from render.moves import Move, Strategy
from render.packages import Dependency, Kind
from render.references import Source
from render.versions.requests import Root
from render.versions.version import parse_version
from rig.builders.catalogs import FakeCatalog, named, root, written
from rig.builders.lock_story import Story, move

AWAY = "xpkg.example.com/acme"
# What can move, and to what: under another name, under the same name elsewhere, or to several.
SUCCESSORS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "store": (("depot",), ("depot",), (f"{AWAY}/store",), (f"{AWAY}/depot",)),
    "depot": ((f"{AWAY}/depot",), ("part-a", "part-b")),
    "fn": (("fn-two",), (f"{AWAY}/fn",)),
    "fam-a": ((f"{AWAY}/fam-a",),),
    "fam-b": ((f"{AWAY}/fam-b",),),
}
STORES = ("store", "depot", f"{AWAY}/store", f"{AWAY}/depot")
PARTS = ("part-a", "part-b")
FUNCTIONS = ("fn", "fn-two", f"{AWAY}/fn")
FAMILY = ("fam-a", "fam-b", f"{AWAY}/fam-a", f"{AWAY}/fam-b")
DEPENDANTS = ("user", "next", "flow", "kin", "top")
NAMES = (*STORES, *PARTS, *FUNCTIONS, *FAMILY, *DEPENDANTS, "base")
VERSIONS = ("v1.0.0", "v1.1.0", "v2.0.0")
CONSTRAINTS = ("*", "*", ">=v1.0.0", "^1.0.0")
# Of what moves, mostly where it moves from.
ASKED = (
    "store",
    "store",
    "user",
    "user",
    "fn",
    "flow",
    "fam-a",
    "fam-b",
    "kin",
    "next",
    "top",
    "top",
    "depot",
)
STRATEGIES = (Strategy.ALIAS, Strategy.REPOINT, Strategy.DEACTIVATE)


def make_world(chance: random.Random, *, steady: bool = False) -> FakeCatalog:
    """Return packages; some of them install the same objects from several sources.

    In a steady world all versions of a package need the same others.
    """
    kind = chance.choice([Kind.PROVIDER, Kind.PROVIDER, Kind.CONFIGURATION])
    kinds = {**dict.fromkeys([*STORES, *PARTS], kind), **dict.fromkeys(FUNCTIONS, Kind.FUNCTION)}
    kinds |= dict.fromkeys(FAMILY, Kind.PROVIDER)
    defined = "CustomResourceDefinition" if kind is Kind.PROVIDER else "CompositeResourceDefinition"
    objects = {name: [f"{defined} as.store.org", f"{defined} bs.store.org"] for name in STORES}
    objects |= {name: [f"{defined} {name[-1]}s.store.org"] for name in PARTS}
    objects |= {name: [f"CustomResourceDefinition {name[-1]}s.fam.org"] for name in FAMILY}
    based = chance.sample(STORES, chance.randrange(3))
    movers: dict[str, dict[str, Dependency]] = {
        f"{name} {version}": {"base": written(str(named("base")))} if name in based else {}
        for name in (*STORES, *PARTS, *FUNCTIONS, *FAMILY, "base")
        for version in VERSIONS
    }
    claims = {"depot": ["store"]} if chance.random() < 0.3 else {}
    return FakeCatalog(
        {**movers, **_dependants(chance, steady=steady)},
        kinds=kinds,
        objects=objects,
        families=dict.fromkeys(FAMILY, "fam"),
        replaces=claims,
    )


def _dependants(chance: random.Random, *, steady: bool) -> dict[str, dict[str, Dependency]]:
    """Return packages whose later versions may need what the earlier ones' dependency became."""
    needed = {
        "user": ["store", "store", chance.choice(STORES)],
        "next": [chance.choice(STORES[1:]), chance.choice(STORES[1:])],
        "flow": ["fn", chance.choice(FUNCTIONS)],
        "kin": ["fam-a"],
        "top": [chance.choice(["user", "user fn", "user fam-b"]), "next"],
    }
    made: dict[str, dict[str, Dependency]] = {}
    for dependant, names in needed.items():
        for version, name in zip(VERSIONS, names, strict=False):
            words = (names[0] if steady else name).split(" ")
            made[f"{dependant} {version}"] = {
                word: written(str(named(word)), chance.choice(CONSTRAINTS)) for word in words
            }
    return made


@dataclass(frozen=True)
class Folder:
    """What the owner of a folder has written into it."""

    roots: Mapping[str, Root] = field(default_factory=dict)
    moves: Mapping[str, Move] = field(default_factory=dict)
    guard: bool = True
    upgrade: bool = False

    def asking(self, name: str, wish: Root) -> "Folder":
        """Return it with one more root, or another one."""
        return self._with(roots={**self.roots, name: wish})

    def without(self, name: str) -> "Folder":
        """Return it without a root."""
        return self._with(roots={key: wish for key, wish in self.roots.items() if key != name})

    def moving(self, entry: Move | None, *, old: str) -> "Folder":
        """Return it with another move of a source, or without any."""
        left = {key: known for key, known in self.moves.items() if key != old}
        return self._with(moves=left if entry is None else {**left, old: entry})

    def _with(self, **changes: object) -> "Folder":
        return Folder(**{**vars(self), **changes})


# What the folder says, its lock, and what decides.
Edit: TypeAlias = Callable[[Folder, Lock, random.Random], Folder]


def ask(folder: Folder, _: Lock, chance: random.Random) -> Folder:
    """Ask for something, or for another version of it."""
    name = chance.choice(ASKED)
    return folder.asking(name, _wish(name, chance))


def ask_by_name(folder: Folder, _: Lock, chance: random.Random) -> Folder:
    """Ask for something by a manifest with a name of one's own."""
    name = chance.choice(["store", "fn", "fam-a", "user"])
    return folder.asking(name, _called(_wish(name, chance), f"my-{name}"))


def drop(folder: Folder, _: Lock, chance: random.Random) -> Folder:
    """Stop asking for something."""
    return folder.without(chance.choice(sorted(folder.roots))) if len(folder.roots) > 1 else folder


def migrate(folder: Folder, lock: Lock, chance: random.Random) -> Folder:
    """Move a package that is installed, with its family, and ask for its successors instead of it."""
    movable = [name for name in SUCCESSORS if named(name) in lock.packages]
    if not movable:
        return folder
    old = chance.choice(movable)
    strategy = chance.choice([None, None, None, *STRATEGIES])
    if old not in FAMILY:
        return _migrate(folder, old, chance.choice(SUCCESSORS[old]), strategy, chance)
    for member in movable:
        if member in FAMILY:
            folder = _migrate(folder, member, SUCCESSORS[member][0], strategy, chance)
    return folder


def _migrate(
    folder: Folder, old: str, new: tuple[str, ...], strategy: str | None, chance: random.Random
) -> Folder:
    given = folder.roots[old].name if old in folder.roots else None
    folder = folder.without(old).moving(move(old, *new, strategy=strategy), old=old)
    for name in new:
        kept = given if len(new) == 1 and chance.random() < 0.5 else None
        folder = folder.asking(name, _called(_wish(name, chance), kept))
    return folder


def prepare(folder: Folder, lock: Lock, chance: random.Random) -> Folder:
    """Ask for something whose dependency has moved before it was ever installed."""
    dependant, old = chance.choice([("user", "store"), ("flow", "fn"), ("kin", "fam-a")])
    if named(old) in lock.packages:
        return migrate(folder, lock, chance)
    asking = folder.asking(dependant, root(dependant, tag=VERSIONS[0]))
    return _migrate(asking, old, chance.choice(SUCCESSORS[old]), None, chance)


def undo(folder: Folder, _: Lock, chance: random.Random) -> Folder:
    """Replace a move by its opposite."""
    simple = sorted(old for old, entry in folder.moves.items() if len(entry.targets) == 1)
    if not simple:
        return folder
    old = chance.choice(simple)
    new = next(name for name in NAMES if named(name) == folder.moves[old].targets[0])
    folder = folder.moving(None, old=old).moving(move(new, old), old=new)
    return folder.without(new).asking(old, _wish(old, chance)) if new in folder.roots else folder


def forget(folder: Folder, _: Lock, chance: random.Random) -> Folder:
    """Remove a `moves` entry; the lock remembers it."""
    return folder.moving(None, old=chance.choice(sorted(folder.moves))) if folder.moves else folder


def upgrade(folder: Folder, _: Lock, __: random.Random) -> Folder:
    """Take the newest of everything."""
    return Folder(folder.roots, folder.moves, folder.guard, upgrade=True)


def switch_guard(folder: Folder, lock: Lock, _: random.Random) -> Folder:
    """Leave the guards out from now on, or have them back; what is leaving under its guard is waited for."""
    leaving = any(package.state is State.ORPHANED for package in lock.packages.values())
    return folder if leaving else Folder(folder.roots, folder.moves, not folder.guard)


EDITS: tuple[Edit, ...] = (
    *(ask, ask, ask_by_name, drop, drop),
    *(migrate, migrate, migrate, migrate, prepare),
    *(undo, forget, upgrade),
)


def choose_leaving(lock: Lock, chance: random.Random) -> list[str]:
    """Return some of what is leaving: all of it, or one."""
    leaving = [str(p.cluster_source) for p in lock.installed() if p.state is not State.WANTED]
    return leaving if not leaving or chance.random() < 0.5 else [chance.choice(leaving)]


def _wish(name: str, chance: random.Random) -> Root:
    # Not all that could be asked for has as many versions.
    versions = {"kin": VERSIONS[:1], **dict.fromkeys(["next", "flow", "top"], VERSIONS[:2])}
    return root(name, tag=chance.choice(["", *versions.get(name, VERSIONS)]))


def _called(wish: Root, name: str | None) -> Root:
    # With a kind it would be a manifest, which has to say the right one.
    return replace(wish, name=name)


@dataclass
class Life:
    """A folder, its lock and everything that was agreed to in it."""

    story: Story
    folder: Folder = field(default_factory=Folder)
    # Every move that any lock was made with.
    agreed: set[tuple[Source, Source]] = field(default_factory=set)

    @classmethod
    def begin(cls, catalog: FakeCatalog, crossplane: str) -> "Life":
        """Return a folder in which nothing is locked."""
        story = Story(catalog)
        story.settings = replace(story.settings, crossplane_version=parse_version(crossplane))
        claims = {(named(old), named(new)) for new, olds in catalog.replaces.items() for old in olds}
        return cls(story, agreed=claims)

    @property
    def lock(self) -> Lock:
        """The lock as it is now."""
        return self.story.current

    def edit(self, change: Edit, chance: random.Random) -> RenderError | None:
        """Edit the folder and lock it; what cannot be locked is taken back."""
        return self.write(change(self.folder, self.lock, chance))

    def write(self, edited: Folder) -> RenderError | None:
        """Lock what the folder is to say; what cannot be locked is taken back."""
        before = (self.story.settings, self.story.inputs)
        options = LockOptions(upgrade_everything=edited.upgrade, allow_lower=True)
        try:
            self.story.lock(
                *edited.roots.values(),
                options=options,
                moves=tuple(edited.moves.values()),
                guard=edited.guard,
            )
        except RenderError as error:
            # An unreadable lock is our own bug.
            assert not isinstance(error, InvalidLock)
            self.story.settings, self.story.inputs = before
            return error
        self.folder = Folder(edited.roots, edited.moves, edited.guard)
        self.agreed |= {(entry.source, target) for entry in edited.moves.values() for target in entry.targets}
        return None

    def retire(self, chance: random.Random) -> RenderError | None:
        """Retire some of the leaving packages, one step."""
        chosen = choose_leaving(self.lock, chance)
        return self.let_go(chosen) if chosen else None

    def let_go(self, chosen: Sequence[str]) -> RenderError | None:
        """Retire packages, one step."""
        settings = self.story.settings
        folder = LockedFolder(".", self.lock, settings.guard, settings.crossplane_version)
        try:
            (retirement,) = retire_packages(chosen, [folder])
        except RenderError as error:
            return error
        self.story.current = parse_lock(format_lock(retirement.lock), Limits(), place="crossplane.lock.yaml")
        return None

    def may_take_over(self, old: Source, new: Source) -> bool:
        """Return whether moves lead from one package to another, in any number of steps."""
        reached, left = {old}, [old]
        while left:
            source = left.pop()
            fresh = {target for known, target in self.agreed if known == source} - reached
            reached |= fresh
            left += fresh
        return new in reached
