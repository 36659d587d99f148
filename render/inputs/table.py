"""The keys of settings: one table of them is what the parser obeys and what the JSON Schema says."""

import re
from collections.abc import Iterable, Mapping, Sequence

from render.lean import Any, TypeAlias, dataclass
from render.yaml.documents import type_name
from render.yaml.fields import Fields
from render.yaml.scalars import parse_plain_scalar


@dataclass(frozen=True, slots=True)
class Text:
    """A text; unless it may be, it is not empty."""

    # Matches the whole text; the meaning says in words what does.
    pattern: str | None = None
    meaning: str = ""
    may_be_empty: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """A list of texts that is not empty."""

    item: Text


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """A text, or a list of texts that is not empty; read as a list either way."""

    item: Text


@dataclass(frozen=True, slots=True)
class TextMap:
    """A mapping of names to texts that is not empty."""

    name: Text
    value: Text


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    default: bool


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number within bounds."""

    least: int
    most: int


Shape: TypeAlias = Text | Texts | OneOrMore | TextMap | Choice | Flag | Number


@dataclass(frozen=True, slots=True)
class Spot:
    """One value, its place, and the list that collects what is wrong with it."""

    value: Any
    place: str
    problems: list[str]

    def complain(self, problem: str) -> None:
        self.problems.append(f"{self.place}: {problem}")

    def inside(self, key: int | str, value: Any) -> "Spot":
        return Spot(value, f"{self.place}[{key}]", self.problems)


def read_plain(spot: Spot, shape: Shape) -> object:
    """Return what was given; nothing where that is the default value, or wrong."""
    match shape:
        case Text():
            return _read_text(spot, shape)
        case Texts():
            return _read_texts(spot, shape.item)
        case OneOrMore():
            return _read_one_or_more(spot, shape.item)
        case TextMap():
            return _read_text_map(spot, shape)
        case Choice():
            return _read_choice(spot, shape)
        case Flag():
            return _read_flag(spot, shape)
        case Number():
            return _read_number(spot, shape)


def _read_text(spot: Spot, shape: Text) -> str | None:
    value = spot.value
    if value is None or (value == "" and not shape.may_be_empty):
        spot.complain('it is empty; write ""' if shape.may_be_empty else "it is empty")
        return None
    if not isinstance(value, str):
        quotes = "" if isinstance(value, dict | list) else "; write it in quotes"
        spot.complain(f"expected text, found {type_name(value)}{quotes}")
        return None
    return value if _fits(spot, value, shape) else None


def _fits(spot: Spot, text: str, shape: Text) -> bool:
    fits = shape.pattern is None or re.fullmatch(shape.pattern, text) is not None
    if not fits:
        spot.complain(f"expected {shape.meaning}; found {text!r}")
    return fits


def _read_texts(spot: Spot, shape: Text) -> list[str] | None:
    if not _is_filled(spot, list):
        return None
    texts = [_read_text(spot.inside(i, item), shape) for i, item in enumerate(spot.value)]
    return [text for text in texts if text is not None]


def _read_one_or_more(spot: Spot, shape: Text) -> list[str] | None:
    if isinstance(spot.value, list):
        return _read_texts(spot, shape)
    text = _read_text(spot, shape)
    return None if text is None else [text]


def _read_text_map(spot: Spot, shape: TextMap) -> dict[str, str] | None:
    if not _is_filled(spot, dict):
        return None
    named = {name: item for name, item in spot.value.items() if _fits(spot, name, shape.name)}
    texts = {name: _read_text(spot.inside(name, item), shape.value) for name, item in named.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _is_filled(spot: Spot, wanted: type[list[Any]] | type[dict[str, Any]]) -> bool:
    if not isinstance(spot.value, wanted):
        spot.complain(f"expected {type_name(wanted())}, found {type_name(spot.value)}")
        return False
    if not spot.value:
        spot.complain("it is empty")
    return bool(spot.value)


def _read_choice(spot: Spot, shape: Choice) -> str | None:
    text = _read_text(spot, Text())
    if text is not None and text not in shape.words:
        spot.complain(f"expected {', '.join(shape.words[:-1])} or {shape.words[-1]}, found {text!r}")
        return None
    return None if text == shape.default else text


def _read_flag(spot: Spot, shape: Flag) -> bool | None:
    if not isinstance(spot.value, bool):
        spot.complain(f"expected true or false, found {_found(spot.value, bool)}")
        return None
    return None if spot.value == shape.default else spot.value


def _read_number(spot: Spot, shape: Number) -> int | None:
    # For Python, true and false are numbers.
    if not isinstance(spot.value, int) or isinstance(spot.value, bool):
        spot.complain(f"expected a whole number, found {_found(spot.value, int)}")
        return None
    if not shape.least <= spot.value <= shape.most:
        # What was found is not shown: Python refuses to write a number of thousands of digits.
        spot.complain(f"expected a whole number from {shape.least:,} to {shape.most:,}")
        return None
    return spot.value


def _found(value: Any, wanted: type) -> str:
    if not isinstance(value, str | float):
        return type_name(value)
    in_quotes = isinstance(value, str) and type(parse_plain_scalar(value)) is wanted
    return f"{value!r}; write it without quotes" if in_quotes else repr(value)


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of mappings that all have the same keys."""

    keys: "tuple[Key, ...]"
    # Whether an entry with nothing but what is required would be without effect.
    needs_more: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping."""

    name: str
    shape: Shape | Entries
    description: str
    required: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping that was read by its keys: only what was given, and no default value."""

    fields: Fields
    # Each value is of the type that the shape of its key says.
    plain: Mapping[str, Any]
    entries: "Mapping[str, tuple[Entry, ...]]"

    @property
    def value(self) -> dict[str, object]:
        """What was given, as plain values."""
        listed = {name: [entry.value for entry in entries] for name, entries in self.entries.items()}
        return {**self.plain, **listed}


def read_entry(value: Any, place: str, keys: Sequence[Key], problems: list[str]) -> Entry:
    """Read a mapping by its keys; every one that is unknown, missing or of the wrong type is a problem."""
    fields = Fields(value, place, problems)
    if value is not None and not isinstance(value, dict):
        return Entry(fields, {}, {})
    given = value or {}
    _check_names(fields, given, keys)
    plain: dict[str, object] = {}
    entries: dict[str, tuple[Entry, ...]] = {}
    for key in keys:
        if given.get(key.name) is None:
            continue
        spot = Spot(given[key.name], f"{place}.{key.name}".strip("."), problems)
        if isinstance(key.shape, Entries):
            entries[key.name] = _read_entries(spot, key.shape)
        else:
            plain[key.name] = read_plain(spot, key.shape)
    said = {name: item for name, item in plain.items() if item is not None}
    return Entry(fields, said, {name: listed for name, listed in entries.items() if listed})


def _check_names(fields: Fields, given: Iterable[str], keys: Sequence[Key]) -> None:
    known = [key.name for key in keys]
    for name in given:
        if name not in known:
            fields.complain(name, f"unknown key; {_hint(name, known)}")
    for key in keys:
        if key.required and fields.get(key.name) is None:
            fields.complain(key.name, "it is missing")


def _hint(name: str, known: Sequence[str]) -> str:
    # Loaded for those who mistype a key, and for nobody else.
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}"


def _read_entries(spot: Spot, shape: Entries) -> tuple[Entry, ...]:
    if not isinstance(spot.value, list):
        spot.complain(f"expected a list, found {type_name(spot.value)}")
        return ()
    spots = [spot.inside(i, {} if item is None else item) for i, item in enumerate(spot.value)]
    if shape.needs_more:
        _check_effects(spots, shape.keys)
    return tuple(read_entry(inner.value, inner.place, shape.keys, inner.problems) for inner in spots)


def _check_effects(spots: Iterable[Spot], keys: Sequence[Key]) -> None:
    required = {key.name for key in keys if key.required}
    others = ", ".join(key.name for key in keys if not key.required)
    for spot in spots:
        if isinstance(spot.value, dict) and _given(spot.value) <= required:
            spot.complain(f"it has no effect; give at least one of {others}")


def _given(value: Mapping[str, Any]) -> set[str]:
    return {name for name, item in value.items() if item is not None}
