"""The shapes of settings: one table of keys is what the parser obeys and what the JSON Schema says."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from render.documents import type_name
from render.fields import Fields


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is not empty."""

    # Matches the whole text; the meaning says in words what does.
    pattern: str | None = None
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]
    default: str


@dataclass(frozen=True, slots=True)
class Entries:
    """A list of mappings that all have the same keys."""

    keys: "tuple[Key, ...]"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a mapping."""

    name: str
    shape: Text | Choice | Entries
    description: str
    required: bool = False
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping that was read by its keys: only what was given, and no default value."""

    fields: Fields
    texts: Mapping[str, str]
    entries: "Mapping[str, tuple[Entry, ...]]"

    @property
    def value(self) -> dict[str, object]:
        """What was given, as plain values."""
        listed = {name: [entry.value for entry in entries] for name, entries in self.entries.items()}
        return {**self.texts, **listed}


def read_entry(value: Any, place: str, keys: Sequence[Key], problems: list[str]) -> Entry:
    """Read a mapping by its keys; every one that is unknown, missing or of the wrong type is a problem."""
    fields = Fields(value, place, problems)
    if value is not None and not isinstance(value, dict):
        return Entry(fields, {}, {})
    given = value or {}
    _check_names(fields, given, keys)
    texts: dict[str, str] = {}
    entries: dict[str, tuple[Entry, ...]] = {}
    for key in keys:
        if given.get(key.name) is None:
            continue
        if isinstance(key.shape, Entries):
            entries[key.name] = _read_entries(fields, place, key.name, key.shape, problems)
        elif text := _read_text(fields, key.name, key.shape):
            texts[key.name] = text
    return Entry(fields, texts, {name: listed for name, listed in entries.items() if listed})


def _check_names(fields: Fields, given: Iterable[str], keys: Sequence[Key]) -> None:
    known = [key.name for key in keys]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(known)}"
            fields.complain(name, f"unknown key; {hint}")
    for key in keys:
        if key.required and fields.get(key.name) is None:
            fields.complain(key.name, "it is missing")


def _read_entries(
    fields: Fields, place: str, name: str, shape: Entries, problems: list[str]
) -> tuple[Entry, ...]:
    listed = fields.get(name)
    if not isinstance(listed, list):
        fields.complain(name, f"expected a list, found {type_name(listed)}")
        return ()
    prefix = f"{place}.{name}".strip(".")
    items = enumerate({} if item is None else item for item in listed)
    return tuple(read_entry(item, f"{prefix}[{i}]", shape.keys, problems) for i, item in items)


def _read_text(fields: Fields, name: str, shape: Text | Choice) -> str | None:
    if fields.get(name) == "":
        fields.complain(name, "it is empty")
        return None
    text = fields.text(name)
    if not text:
        return None
    if isinstance(shape, Choice):
        return _read_choice(fields, name, text, shape)
    if shape.pattern and not re.fullmatch(shape.pattern, text):
        fields.complain(name, f"expected {shape.meaning}, found {text!r}")
        return None
    return text


def _read_choice(fields: Fields, name: str, text: str, shape: Choice) -> str | None:
    if text not in shape.words:
        fields.complain(name, f"expected {' or '.join(shape.words)}, found {text!r}")
        return None
    return None if text == shape.default else text
