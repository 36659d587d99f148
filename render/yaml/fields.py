"""A mapping out of a document, read field by field; problems are collected with their places and reported together."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from render.errors import RenderError, in_one_line
from render.lean import Any, TypeVar
from render.yaml.documents import Place, type_name

T = TypeVar("T")

_MOST_BITS = 64


class Problems:
    """The problems of one document, each with its place."""

    __slots__ = ("found", "ignore_unknown")

    def __init__(self) -> None:
        self.found: list[tuple[Place, str]] = []
        # Set for a document of a newer format, which may have fields that this version does not know.
        self.ignore_unknown = False

    def __len__(self) -> int:
        return len(self.found)

    def add(self, place: Place, problem: str) -> None:
        """Record a problem."""
        self.found.append((place, problem))

    def texts(self) -> list[str]:
        """Return each problem behind its place, such as `spec.dependsOn[0].version: it is missing`."""
        return [f"{format_place(place)}: {problem}" if place else problem for place, problem in self.found]


class Fields:
    """One mapping, its place, and the problems to add to; an empty value is read as an empty mapping."""

    __slots__ = ("place", "problems", "value")

    def __init__(self, value: Any, problems: Problems, place: Place = ()) -> None:
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.place = place
        self.problems = problems
        if value is not None and not isinstance(value, dict):
            self.complain(f"expected a mapping, found {type_name(value)}")
            # One problem is enough: every field would be missing.
            self.problems = Problems()

    def __contains__(self, key: str) -> bool:
        return key in self.value

    def get(self, key: str) -> Any:
        """Return the value of a field as it was parsed."""
        return self.value.get(key)

    def complain(self, problem: str, *way: int | str) -> None:
        """Add a problem with this mapping, or with a field and an item below it."""
        self.problems.add((*self.place, *way), problem)

    def allow(self, keys: frozenset[str]) -> None:
        """Complain about all fields but these."""
        if not self.value.keys() <= keys and not self.problems.ignore_unknown:
            for key in self.value.keys() - keys:
                self.complain("unknown field", key)

    def expect(self, key: str, value: str) -> None:
        """Complain unless a field has the only value it can have."""
        if self.value.get(key) != value:
            self.complain(f"expected {value}, found {describe(self.value.get(key))}", key)

    def text(self, key: str) -> str:
        """Return a text; a missing one is empty."""
        return self.optional_text(key) or ""

    def optional_text(self, key: str) -> str | None:
        """Return a text that may be missing."""
        value = self.value.get(key)
        if value is None or isinstance(value, str):
            return value
        self.complain(wrong_text(value), key)
        return None

    def required_text(self, key: str) -> str | None:
        """Return a text; complain about a missing one."""
        value = self.value.get(key)
        if isinstance(value, str):
            return value
        self.complain(f"{key} is missing") if value is None else self.complain(wrong_text(value), key)
        return None

    def flag(self, key: str) -> bool:
        """Return whether a field is true; a field that is false must be left out."""
        value = self.value.get(key)
        if value is not None and value is not True:
            self.complain(f"expected true or nothing, found {describe(value)}", key)
        return value is True

    def mapping(self, key: str) -> "Fields":
        """Return the reader of a mapping below this one; a missing one is empty."""
        return Fields(self.value.get(key), self.problems, (*self.place, key))

    def texts(self, key: str) -> dict[str, str]:
        """Return a mapping of names to texts."""
        reader = self.mapping(key)
        return {name: reader.text(name) for name in reader.value}

    def items(self, key: str, *, required: bool = False) -> list[Any]:
        """Return a list as it was parsed; a missing one is empty."""
        value = self.value.get(key)
        if isinstance(value, list) or (value is None and not required):
            return value or []
        self.complain(f"expected a list, found {type_name(value)}", key)
        return []

    def mappings(self, key: str, *, required: bool = False) -> "list[Fields]":
        """Return the readers of a list of mappings."""
        items, place, problems = self.items(key, required=required), self.place, self.problems
        return [Fields(item, problems, (*place, key, i)) for i, item in enumerate(items)]

    def list_of_texts(self, key: str) -> list[str]:
        """Return the texts of a list, without the items that are none."""
        found = []
        for i, item in enumerate(self.items(key)):
            if isinstance(item, str):
                found.append(item)
            else:
                self.complain(wrong_text(item), key, i)
        return found

    def parse(self, key: str, parse: Callable[[str], T]) -> T | None:
        """Parse the text of a field; a missing one is parsed as an empty text."""
        text = "" if self.value.get(key) is None else self.optional_text(key)
        return self.parse_text(text, parse, key)

    def parse_text(self, text: str | None, parse: Callable[[str], T], *way: int | str) -> T | None:
        """Parse a text, if there is one; an error of the parser is a problem at the place below this mapping."""
        try:
            return None if text is None else parse(text)
        except RenderError as error:
            # A program wrote this text, so the advice on how to write one is left out.
            self.complain(in_one_line(error, advice=False), *way)
            return None

    @contextmanager
    def errors_at(self, *way: int | str) -> Iterator[None]:
        """Turn an error into a problem at a place below this mapping, with the advice it gives."""
        try:
            yield
        except RenderError as error:
            self.complain(in_one_line(error), *way)


def format_place(place: Place) -> str:
    """Return a place as people write it: `spec.dependsOn[0].version`, `metadata.labels[example.org/team]`."""
    steps = [f".{step}" if isinstance(step, str) and _is_plain(step) else f"[{step}]" for step in place]
    return "".join(steps).removeprefix(".")


def describe(value: Any) -> str:
    """Return a value as found in a document, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f'the text "{value}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    # Python refuses to write a number of thousands of digits.
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a number that is too large"
    return type_name(value) if isinstance(value, dict | list) else str(value)


def wrong_text(value: Any) -> str:
    """Return the problem with a value in the place of a text."""
    quotes = "" if value is None or isinstance(value, dict | list) else "; write it in quotes"
    return f"expected text, found {describe(value)}{quotes}"


def _is_plain(step: str) -> bool:
    return step.replace("-", "").replace("_", "").isalnum()
