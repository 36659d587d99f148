"""The keys of settings: one table describes them for the parser and for the JSON Schema."""

import re
from collections.abc import Mapping, Sequence

from render.lean import Any, TypeAlias, dataclass
from render.yaml.documents import type_name
from render.yaml.fields import Fields, describe, wrong_text
from render.yaml.scalars import parse_plain_scalar


@dataclass(frozen=True, slots=True)
class Text:
    """A text; unless it may be, it is not empty."""

    # Matches the whole text; the meaning describes it in words.
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
class Entries:
    """A list of mappings that all have the same keys."""

    keys: "tuple[Key, ...]"
    # Whether an entry with only its required keys would have no effect.
    needs_more: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """One mapping with keys of its own."""

    keys: "tuple[Key, ...]"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping."""

    name: str
    shape: Shape | Entries | Group
    description: str
    required: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping that was read by its keys, without those that are missing, wrong or have their default value."""

    fields: Fields
    # Each value has the type that the shape of its key describes.
    plain: Mapping[str, Any]
    entries: "Mapping[str, tuple[Entry, ...]]"
    groups: "Mapping[str, Entry]"

    @property
    def value(self) -> dict[str, object]:
        """The mapping as plain values."""
        listed = {name: [entry.value for entry in entries] for name, entries in self.entries.items()}
        return {**self.plain, **listed, **{name: entry.value for name, entry in self.groups.items()}}


def read_entry(fields: Fields, keys: Sequence[Key]) -> Entry:
    """Read a mapping by its keys; an unknown or missing key, or a wrong value, is a problem."""
    _check_names(fields, keys)
    plain: dict[str, object] = {}
    entries: dict[str, tuple[Entry, ...]] = {}
    groups: dict[str, Entry] = {}
    for key in keys:
        value = fields.get(key.name)
        if value is None:
            continue
        if isinstance(key.shape, Entries):
            entries[key.name] = _read_entries(fields, key.name, key.shape)
        elif isinstance(key.shape, Group):
            groups[key.name] = read_entry(fields.mapping(key.name), key.shape.keys)
        else:
            plain[key.name] = _read_shape(value, key.shape, fields, key.name)
    given = {name: item for name, item in plain.items() if item is not None}
    return Entry(fields, given, {name: listed for name, listed in entries.items() if listed}, groups)


def _check_names(fields: Fields, keys: Sequence[Key]) -> None:
    known = [key.name for key in keys]
    for name in fields.value:
        if name not in known:
            fields.complain(f"unknown key; {_hint(name, known)}", name)
    for key in keys:
        if key.required and fields.get(key.name) is None:
            fields.complain("it is missing", key.name)


def _hint(name: str, known: Sequence[str]) -> str:
    # Imported for a mistyped key only, to keep rendering fast.
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}"


def _read_entries(fields: Fields, name: str, shape: Entries) -> tuple[Entry, ...]:
    listed = fields.mappings(name)
    if shape.needs_more:
        for entry in listed:
            _check_effect(entry, shape.keys)
    return tuple(read_entry(entry, shape.keys) for entry in listed)


def _check_effect(entry: Fields, keys: Sequence[Key]) -> None:
    required = {key.name for key in keys if key.required}
    if {name for name, item in entry.value.items() if item is not None} <= required:
        others = ", ".join(key.name for key in keys if not key.required)
        entry.complain(f"it has no effect; give at least one of {others}")


# Below, `way` leads from the mapping to the value: a key, and an item or a name below it.


def _read_shape(value: Any, shape: Shape, fields: Fields, *way: int | str) -> object:
    """Return a value; nothing if it is the default value, or wrong."""
    match shape:
        case Text():
            return _read_text(value, shape, fields, *way)
        case Texts():
            return _read_texts(value, shape.item, fields, *way)
        case OneOrMore():
            return _read_one_or_more(value, shape.item, fields, *way)
        case TextMap():
            return _read_text_map(value, shape, fields, *way)
        case Choice():
            return _read_choice(value, shape, fields, *way)
        case Flag():
            return _read_flag(value, shape, fields, *way)
        case Number():
            return _read_number(value, shape, fields, *way)


def _read_text(value: Any, shape: Text, fields: Fields, *way: int | str) -> str | None:
    if value is None or (value == "" and not shape.may_be_empty):
        fields.complain('it is empty; write ""' if shape.may_be_empty else "it is empty", *way)
        return None
    if not isinstance(value, str):
        fields.complain(wrong_text(value), *way)
        return None
    return value if _fits(value, shape, fields, *way) else None


def _fits(text: str, shape: Text, fields: Fields, *way: int | str) -> bool:
    fits = shape.pattern is None or re.fullmatch(shape.pattern, text) is not None
    if not fits:
        fields.complain(f"expected {shape.meaning}; found {text!r}", *way)
    return fits


def _read_texts(value: Any, shape: Text, fields: Fields, *way: int | str) -> list[str] | None:
    if not _is_filled(value, list, fields, *way):
        return None
    texts = [_read_text(item, shape, fields, *way, i) for i, item in enumerate(value)]
    return [text for text in texts if text is not None]


def _read_one_or_more(value: Any, shape: Text, fields: Fields, *way: int | str) -> list[str] | None:
    if isinstance(value, list):
        return _read_texts(value, shape, fields, *way)
    text = _read_text(value, shape, fields, *way)
    return None if text is None else [text]


def _read_text_map(value: Any, shape: TextMap, fields: Fields, *way: int | str) -> dict[str, str] | None:
    if not _is_filled(value, dict, fields, *way):
        return None
    named = {name: item for name, item in value.items() if _fits(name, shape.name, fields, *way)}
    texts = {name: _read_text(item, shape.value, fields, *way, name) for name, item in named.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _is_filled(
    value: Any, wanted: type[list[Any]] | type[dict[str, Any]], fields: Fields, *way: int | str
) -> bool:
    if not isinstance(value, wanted):
        fields.complain(f"expected {type_name(wanted())}, found {type_name(value)}", *way)
        return False
    if not value:
        fields.complain("it is empty", *way)
    return bool(value)


def _read_choice(value: Any, shape: Choice, fields: Fields, *way: int | str) -> str | None:
    text = _read_text(value, Text(), fields, *way)
    if text is not None and text not in shape.words:
        words = f"{', '.join(shape.words[:-1])} or {shape.words[-1]}"
        fields.complain(f"expected {words}, found {text!r}", *way)
        return None
    return None if text == shape.default else text


def _read_flag(value: Any, shape: Flag, fields: Fields, *way: int | str) -> bool | None:
    if not isinstance(value, bool):
        fields.complain(f"expected true or false, found {_without_quotes(value, bool)}", *way)
        return None
    return None if value == shape.default else value


def _read_number(value: Any, shape: Number, fields: Fields, *way: int | str) -> int | None:
    # For Python, true and false are numbers.
    if not isinstance(value, int) or isinstance(value, bool):
        fields.complain(f"expected a whole number, found {_without_quotes(value, int)}", *way)
        return None
    if not shape.least <= value <= shape.most:
        fields.complain(f"expected a whole number from {shape.least:,} to {shape.most:,}", *way)
        return None
    return value


def _without_quotes(value: Any, wanted: type) -> str:
    in_quotes = isinstance(value, str) and type(parse_plain_scalar(value)) is wanted
    return f"{describe(value)}; write it without quotes" if in_quotes else describe(value)
