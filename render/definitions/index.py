"""The definitions that the packages of a lock bring, by name, and what could not be read of them."""

from collections.abc import Iterable, Iterator, Mapping

from render.definitions.bringers import Bringer
from render.definitions.model import DefinitionContent, NotCompared
from render.errors import RenderError, UnusableContent, in_one_line
from render.lean import TypeAlias, dataclass
from render.limits import LimitExceeded
from render.packages import Kind, PackagedObject
from render.references import Digest, Source
from render.xpkg.definitions import XRD, Composition, Definition, Definitions

# What makes it the same definition in another lock: the package of a Function, or else a kind; and its name.
Key: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Brought:
    """A definition, and the package that brings it."""

    bringer: Bringer
    item: Definition

    @property
    def key(self) -> Key:
        """An MRD counts as its CRD. What a Function brings is installed nowhere."""
        if self.bringer.kind is Kind.FUNCTION:
            return self.bringer.name, self.item.name
        return (XRD if self.item.item.kind == XRD else ""), self.item.name


@dataclass(frozen=True, slots=True)
class BroughtComposition:
    """A Composition, and the package that brings it."""

    bringer: Bringer
    item: Composition


def not_compared(package: str, version: str, error: RenderError) -> NotCompared:
    """Return that a package is not compared, since its content cannot be had or read."""
    is_unusable = isinstance(error, UnusableContent | LimitExceeded)
    return NotCompared(package, version, in_one_line(error, advice=False), is_missing=not is_unusable)


class Reader:
    """Asks for the facts about packages, each once, and keeps what could not be had."""

    def __init__(self, content: DefinitionContent) -> None:
        self._content = content
        self._known: dict[tuple[Source, Digest], Definitions | None] = {}
        self.not_compared: list[NotCompared] = []

    def facts(self, bringer: Bringer) -> Definitions | None:
        """Return what a package brings; None if that cannot be had."""
        if bringer.is_empty:
            return Definitions()
        key = bringer.source, bringer.digest
        if key not in self._known:
            self._known[key] = self._ask(bringer)
        return self._known[key]

    def documents(
        self, bringer: Bringer, wanted: frozenset[PackagedObject]
    ) -> Iterator[tuple[PackagedObject, bytes]]:
        """Yield the text of some objects of a package, each as it is read."""
        return self._content.documents(bringer.source, bringer.digest, wanted)

    def reject(
        self, bringer: Bringer, reason: str, definition: str = "", *, is_missing: bool = False
    ) -> None:
        """Record that a package, or one of its definitions, is not compared."""
        self.not_compared.append(NotCompared(bringer.name, bringer.version, reason, definition, is_missing))

    def reject_for(self, bringer: Bringer, error: RenderError) -> None:
        """Record that the content of a package cannot be had or read."""
        self.not_compared.append(not_compared(bringer.name, bringer.version, error))

    def _ask(self, bringer: Bringer) -> Definitions | None:
        try:
            return self._content.facts(bringer.source, bringer.digest)
        except RenderError as error:
            self.reject_for(bringer, error)
            return None


class Index:
    """The definitions of some packages; of two packages with one definition, the active one counts."""

    def __init__(self, bringers: Iterable[Bringer], reader: Reader) -> None:
        self.definitions: dict[Key, Brought] = {}
        self.compositions: dict[str, BroughtComposition] = {}
        # The packages whose facts cannot be had.
        self.unknown: list[Bringer] = []
        self._reader = reader
        self._xrds: dict[tuple[str, str], Definition] | None = None
        self._twice: dict[Key, list[Brought]] = {}
        # An inactive package first, so that an active one takes its definitions.
        for bringer in sorted(bringers, key=lambda one: one.is_active):
            facts = reader.facts(bringer)
            if facts is None:
                self.unknown.append(bringer)
                continue
            for definition in facts.definitions:
                self._add(Brought(bringer, definition))
            for composition in facts.compositions:
                self.compositions[composition.item.name] = BroughtComposition(bringer, composition)

    @property
    def xrds(self) -> Mapping[tuple[str, str], Definition]:
        """The XRDs by the group and kind that they define."""
        if self._xrds is None:
            found = [one.item for one in self.definitions.values() if one.item.item.kind == XRD]
            self._xrds = {(one.group, one.kind): one for one in found}
        return self._xrds

    def _add(self, brought: Brought) -> None:
        known = self.definitions.get(brought.key)
        if known is not None and known.bringer.is_active == brought.bringer.is_active:
            self._twice.setdefault(brought.key, [known]).append(brought)
        self.definitions[brought.key] = brought

    def take_twice(self) -> dict[Key, list[Brought]]:
        """Return the definitions that stand here more than once; they are no longer in the index."""
        for key in self._twice:
            del self.definitions[key]
        return self._twice

    def may_bring(self, group: str) -> bool:
        """Return whether a package whose facts cannot be had may define kinds of a group."""
        return any(one.may_define_in(group) for one in self.unknown)
