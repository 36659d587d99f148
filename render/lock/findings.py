"""A parsed document, read field by field; every problem knows its place, and all are reported at once."""

from collections.abc import Callable, Mapping, Sequence

from render.errors import InvalidInput, RenderError
from render.lean import Any, TypeVar, dataclass, field
from render.limits import Limits
from render.texts import first_lines
from render.yaml.documents import Place, find_lines, type_name

T = TypeVar("T")

_SHOWN_PROBLEMS = 50
_MOST_BITS = 64


class InvalidLock(InvalidInput):
    """A lock that was edited, damaged or merged into something that is no lock."""

    def __init__(self, place: str, problems: Sequence[str]) -> None:
        super().__init__(
            f"{place} is not a valid lock",
            why=first_lines(problems, _SHOWN_PROBLEMS),
            next=[
                "restore it from Git",
                "or run `xplock lock --new`, which knows nothing of what is installed",
            ],
        )


class DoubledLock(InvalidLock):
    """A lock into which Git merged the same package twice, without a conflict; nothing else is wrong with it."""


@dataclass(slots=True)
class Findings:
    """What is wrong with a file."""

    limits: Limits
    # A newer revision may hold fields that we do not know.
    tolerant: bool = False
    problems: list[tuple[Place, str]] = field(default_factory=list)
    # How many of them are a package that stands there twice.
    doubled: int = 0

    def complain(self, place: Place, problem: str) -> None:
        self.problems.append((place, problem))

    def complain_doubled(self, place: Place, source: object) -> None:
        """Complain about a package that stands there twice, as Git may leave it."""
        self.complain(place, f"{source} stands here a second time")
        self.doubled += 1

    def described(self, data: bytes, names: Sequence[str], lines: Sequence[int] = ()) -> list[str]:
        """Return the problems in the order of their lines; `lines` are those of the file this text was cut from."""
        ways = [place[:i] for place, _ in self.problems for i in range(1, len(place) + 1)]
        found = find_lines(data, set(ways))
        numbered = [(_nearest(place, found), _way(place, names), text) for place, text in self.problems]
        return [
            f"line {lines[line - 1] if lines else line}: {way}{text}" for line, way, text in sorted(numbered)
        ]


class Node:
    """One mapping, its place, and where to complain about it."""

    __slots__ = ("_value", "findings", "place")

    def __init__(self, value: Any, place: Place, findings: Findings) -> None:
        self._value = value if isinstance(value, dict) else {}
        self.findings = findings
        self.place = place
        if not isinstance(value, dict):
            self.complain(f"expected a mapping, found {type_name(value)}")

    def complain(self, problem: str, *way: int | str) -> None:
        self.findings.complain((*self.place, *way), problem)

    def get(self, key: str) -> Any:
        return self._value.get(key)

    def allow(self, keys: frozenset[str]) -> None:
        """Complain about every field but these."""
        if not self.findings.tolerant and not self._value.keys() <= keys:
            for key in self._value.keys() - keys:
                self.complain("unknown field", key)

    def expect(self, key: str, value: str) -> None:
        """Complain unless a field has the one value it can have."""
        if self._value.get(key) != value:
            self.complain(f"expected {value}, found {describe(self._value.get(key))}", key)

    def text(self, key: str) -> str | None:
        """Return a text that must be there."""
        value = self._value.get(key)
        if isinstance(value, str):
            return value
        if value is None:
            self.complain(f"{key} is missing")
            return None
        return self.optional(key)

    def optional(self, key: str) -> str | None:
        value = self._value.get(key)
        if value is None or isinstance(value, str):
            return value
        self.complain(f"expected text, found {describe(value)}", key)
        return None

    def parsed(self, key: str, parse: Callable[[str], T], text: str | None, *way: int) -> T | None:
        """Return what a text says, or complain with the parser's own words."""
        try:
            return None if text is None else parse(text)
        except RenderError as error:
            self.complain("; ".join([error.what, *error.why]), key, *way)
            return None

    def flag(self, key: str) -> bool:
        """Return whether something holds; what is not said does not."""
        value = self._value.get(key)
        if value is not None and value is not True:
            self.complain(f"expected true or nothing, found {describe(value)}", key)
        return value is True

    def texts(self, key: str) -> list[str]:
        """Return a list of texts that need not be there."""
        found = []
        for i, item in enumerate(self.items(key)):
            if isinstance(item, str):
                found.append(item)
            else:
                self.complain(f"expected text, found {describe(item)}", key, i)
        return found

    def mapping(self, key: str, *, required: bool = False) -> dict[str, Any]:
        value = self._value.get(key)
        if isinstance(value, dict) or (value is None and not required):
            return value or {}
        self.complain(f"expected a mapping, found {describe(value)}", key)
        return {}

    def items(self, key: str, *, required: bool = False) -> list[Any]:
        value = self._value.get(key)
        if isinstance(value, list) or (value is None and not required):
            return value or []
        self.complain(f"expected a list, found {describe(value)}", key)
        return []

    def nodes(self, key: str, *, required: bool = True) -> "list[Node]":
        """Return the mappings of a list."""
        items, place, findings = self.items(key, required=required), self.place, self.findings
        return [Node(item, (*place, key, i), findings) for i, item in enumerate(items)]


def describe(value: Any) -> str:
    """Return a value as found in a file, in a person's words."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f'the text "{value}"'
    # Python refuses to write a number of thousands of digits.
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a number that is too large"
    return type_name(value) if isinstance(value, dict | list) else str(value)


def _nearest(place: Place, found: Mapping[Place, int]) -> int:
    # What is missing has no line of its own; what it is missing from has one.
    known = (found[place[:i]] for i in range(len(place), 0, -1) if place[:i] in found)
    return next(known, 1)


def _way(place: Place, names: Sequence[str]) -> str:
    if not place:
        return ""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place[1:])
    index = int(place[0])
    return f"{names[index] if index < len(names) else f'document {index + 1}'}{steps}: "
