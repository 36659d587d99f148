"""Which definitions of two locks belong together, and which are in one of them only."""

from collections.abc import Iterator, Mapping

from render.definitions.bringers import pair_bringers
from render.definitions.index import Brought, BroughtComposition, Index, Key, Reader
from render.lean import dataclass
from render.lock.model import Lock
from render.packages import Kind


@dataclass(frozen=True, slots=True)
class Pair:
    """A definition before and after; one of the two may be missing."""

    old: Brought | None
    new: Brought | None


@dataclass(frozen=True, slots=True)
class CompositionPair:
    """A Composition before and after; one of the two may be missing."""

    old: BroughtComposition | None
    new: BroughtComposition | None


class Pairing:
    """Everything that two locks bring and that digests do not settle, in pairs."""

    def __init__(self, old: Lock, new: Lock, reader: Reader) -> None:
        bringers = pair_bringers(old, new)
        self.reader = reader
        self.old = Index(bringers.old, reader)
        self.new = Index(bringers.new, reader)
        self._settled = [one for one in bringers.settled if one.kind is not Kind.FUNCTION]
        self._indexes: dict[tuple[str, bool], Index] = {}
        self._reject_twice()

    def definitions(self) -> Iterator[Pair]:
        """Yield the definitions that one of the locks lacks, or that differ, or that another package brings."""
        for key in sorted(self.old.definitions.keys() | self.new.definitions.keys()):
            pair = self._complete(key, Pair(self.old.definitions.get(key), self.new.definitions.get(key)))
            if pair is not None and not _is_settled(pair):
                yield pair

    def compositions(self) -> Iterator[CompositionPair]:
        """Yield the Compositions of packages that changed."""
        for name in sorted(self.old.compositions.keys() | self.new.compositions.keys()):
            old, new = self.old.compositions.get(name), self.new.compositions.get(name)
            is_unknown = (old is None and self.old.unknown) or (new is None and self.new.unknown)
            if not is_unknown:
                yield CompositionPair(old, new)

    def settled(self, group: str, *, active: bool = True) -> Index:
        """Return what unchanged packages bring that may define kinds of a group: all, or those that are not active."""
        if (group, active) not in self._indexes:
            counted = [one for one in self._settled if active or not one.is_active]
            chosen = [one for one in counted if one.may_define_in(group)]
            self._indexes[group, active] = Index(chosen, self.reader)
        return self._indexes[group, active]

    def settled_with_compositions(self) -> Index:
        """Return what the unchanged packages bring that may bring Compositions."""
        return Index([one for one in self._settled if one.has_compositions], self.reader)

    def _complete(self, key: Key, pair: Pair) -> Pair | None:
        """Add the other side of a definition; nothing is returned where that is unknown or of no interest."""
        found = pair.old or pair.new
        if found is None or (pair.old and pair.new):
            return pair
        group = key[1].partition(".")[2]
        other = self.new if pair.new is None else self.old
        if other.may_bring(group):
            return None
        if found.bringer.kind is Kind.FUNCTION:
            return pair if pair.old else None
        # No two active packages bring one definition.
        settled = self.settled(group, active=not found.bringer.is_active)
        same = settled.definitions.get(key)
        if same is None:
            return None if settled.may_bring(group) else pair
        if same.bringer.is_active:
            return None
        return Pair(same, pair.new) if pair.old is None else Pair(pair.old, same)

    def _reject_twice(self) -> None:
        """Take out the definitions that stand in a lock more than once."""
        old, new = self.old.take_twice(), self.new.take_twice()
        for key in sorted(old.keys() | new.keys()):
            first = [*old.get(key, []), *new.get(key, [])][0]
            for index in (self.old, self.new):
                index.definitions.pop(key, None)
            if _digests(old, key) != _digests(new, key):
                self.reader.reject(first.bringer, "the definition is there more than once", key[1])


def _digests(twice: Mapping[Key, list[Brought]], key: Key) -> list[str]:
    return sorted(one.item.digest for one in twice.get(key, []))


def _is_settled(pair: Pair) -> bool:
    old, new = pair.old, pair.new
    if old is None or new is None:
        return False
    if not (old.bringer.is_active or new.bringer.is_active):
        return True
    same_text = (old.item.digest, old.item.item) == (new.item.digest, new.item.item)
    return same_text and old.bringer.place == new.bringer.place
