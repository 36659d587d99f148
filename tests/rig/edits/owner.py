"""The owner of a folder that asks for real packages: adds, removes, bumps and moves them at random, and takes advice."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from render.lean import replace
from render.lock.model import Lock, State
from render.moves import Strategy
from render.versions.requests import Root
from rig.builders.catalogs import root
from rig.builders.lock_story import move
from rig.commands.refusals import Refusal
from rig.edits.advice import take_advice
from rig.edits.folders import STRATEGIES, Edit, Folder, choose_leaving, drop, forget, upgrade
from rig.edits.real_packages import ASKED, Offer, beside

_MOST_PACKAGES = 36
# How often the owner does what an error says before an edit is given up.
_MOST_ADVICE = 5
# What an edit does to roots: the first words of its description.
KINDS = ("ask", "bump", "move", "remove")


class Ground(Protocol):
    """A folder somewhere that can be edited and locked."""

    @property
    def folder(self) -> Folder:
        """What the owner has written."""

    @property
    def lock(self) -> Lock:
        """The lock as it is now."""

    def write(self, folder: Folder) -> Refusal | None:
        """Write something else and lock it; what is refused is taken back."""

    def retire(self, names: Sequence[str]) -> Refusal | None:
        """Retire packages, one step, unless that is refused."""


@dataclass(frozen=True, slots=True)
class Step:
    """What became of one edit."""

    number: int
    what: str
    refused: str = ""
    retired: bool = False

    @property
    def kinds(self) -> set[str]:
        """What the edit did to roots; nothing if it was refused, or only retired packages."""
        words = set() if self.refused else {one.partition(" ")[0] for one in self.what.split("; ")}
        return words.intersection(KINDS)

    def __str__(self) -> str:
        return f"edit {self.number}: {self.what}{f'; refused: {self.refused}' if self.refused else ''}"


def take_step(ground: Ground, owner: "Owner", *, seed: int, number: int) -> Step:
    """Edit a folder once; the seed decides what, and what was done before."""
    chance = random.Random(f"{seed}/{number}")
    leaving = owner.leaving(ground.lock, chance)
    if leaving and not ground.retire(leaving):
        return Step(number, f"retire {' '.join(leaving)}", retired=True)
    before = ground.folder
    advised = owner.edit(before, ground.lock, chance)
    for _ in range(_MOST_ADVICE):
        wanted = advised
        refused = ground.write(wanted)
        if refused is None or (advised := take_advice(wanted, refused)) == wanted:
            break
    return Step(number, describe(before, wanted), refused.what if refused else "")


class Owner:
    """Edits a folder, one thing at a time."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        self._edits: tuple[Edit, ...] = (
            *(self.ask, self.ask, self.ask, self.bump, self.bump, drop, drop),
            *(self.migrate, self.migrate, self.migrate, self.split, self.undo, forget, upgrade),
        )

    def edit(self, folder: Folder, lock: Lock, chance: random.Random) -> Folder:
        """Return what the folder says after an edit that changes something."""
        while True:
            edit = chance.choice(self._edits) if len(folder.roots) > 2 else self.ask
            edited = edit(folder, lock, chance)
            if edited != folder:
                return edited

    def leaving(self, lock: Lock, chance: random.Random) -> list[str]:
        """Return what to retire now, which often is nothing."""
        leaving = [package for package in lock.installed() if package.state is not State.WANTED]
        # A released package is often dropped in the next step.
        often = 0.6 if any(package.released for package in leaving) else 0.25
        return choose_leaving(lock, chance) if chance.random() < often else []

    def ask(self, folder: Folder, lock: Lock, chance: random.Random) -> Folder:
        """Ask for something more, sometimes by a manifest with a name, unless there is a lot already."""
        fresh = sorted(set(ASKED) - folder.roots.keys())
        if len(lock.installed()) > _MOST_PACKAGES or not fresh:
            return folder
        name = chance.choice(fresh)
        given = f"my-{name.rpartition('/')[2]}" if chance.random() < 0.2 else None
        return folder.asking(name, self._wish(name, chance, given))

    def bump(self, folder: Folder, _: Lock, chance: random.Random) -> Folder:
        """Ask for another version of something."""
        name = chance.choice(sorted(folder.roots))
        return folder.asking(name, self._wish(name, chance, folder.roots[name].name))

    def migrate(self, folder: Folder, lock: Lock, chance: random.Random) -> Folder:
        """Move a package that is installed to another of its places, with its family."""
        movable = [str(source) for source in lock.packages if self._offer.elsewhere(str(source))]
        if not movable:
            return folder
        old = chance.choice(movable)
        new = chance.choice(self._offer.elsewhere(old))
        family = self._offer.family(old)
        moving = [one for one in movable if family and self._offer.family(one) == family] or [old]
        strategy = chance.choice([*[None] * 6, *STRATEGIES])
        for one in moving:
            target = beside(new, one.rpartition("/")[2])
            if one != target and target in self._offer.versions:
                folder = self._move(folder, one, [target], chance, strategy)
        return folder

    def split(self, folder: Folder, lock: Lock, chance: random.Random) -> Folder:
        """Move a package that is installed to some of its parts."""
        whole = [str(source) for source in lock.packages if self._offer.parts(str(source))]
        if not whole:
            return folder
        old = chance.choice(whole)
        parts = self._offer.parts(old)
        return self._move(folder, old, parts[: chance.randint(2, len(parts))], chance)

    def undo(self, folder: Folder, _: Lock, chance: random.Random) -> Folder:
        """Replace a move by its opposite."""
        simple = sorted(old for old, entry in folder.moves.items() if len(entry.targets) == 1)
        if not simple:
            return folder
        old = chance.choice(simple)
        new = str(folder.moves[old].targets[0])
        return self._move(folder.moving(None, old=old), new, [old], chance)

    def _move(
        self,
        folder: Folder,
        old: str,
        new: Sequence[str],
        chance: random.Random,
        strategy: Strategy | None = None,
    ) -> Folder:
        asked = folder.roots.get(old)
        folder = folder.without(old).moving(move(old, *new, strategy=strategy), old=old)
        for name in new:
            # What it moves to has moved no further, or no longer.
            folder = folder.moving(None, old=name)
        if asked is None and len(new) == 1 and chance.random() < 0.5:
            # A dependant of the old one brings the new one.
            return folder
        for name in new:
            kept = asked.name if asked and len(new) == 1 else None
            folder = folder.asking(name, self._wish(name, chance, kept))
        return folder

    def _wish(self, source: str, chance: random.Random, name: str | None = None) -> Root:
        wish = root(source, tag=chance.choice(["", "", *self._offer.recent(source)]))
        return replace(wish, name=name, kind=self._offer.versions[source][0].kind) if name else wish


def describe(before: Folder, after: Folder) -> str:
    """Describe in a line what an edit changes."""
    told = ["upgrade"] if after.upgrade else []
    told += [f"remove {source}" for source in before.roots.keys() - after.roots.keys()]
    told += [f"ask for {_told(source, after)}" for source in after.roots.keys() - before.roots.keys()]
    kept = before.roots.keys() & after.roots.keys()
    told += [f"bump {_told(s, after)}" for s in kept if before.roots[s] != after.roots[s]]
    told += [f"forget the move of {old}" for old in before.moves.keys() - after.moves.keys()]
    changed = [entry for old, entry in after.moves.items() if before.moves.get(old) != entry]
    told += [f"move {m.source} to {' and '.join(map(str, m.targets))} {m.strategy or ''}" for m in changed]
    return "; ".join(one.strip() for one in sorted(told))


def _told(source: str, folder: Folder) -> str:
    wish = folder.roots[source]
    return " ".join(filter(None, (source, wish.request.tag, wish.name and f"as {wish.name}")))
