"""The keys of settings: one table of them is what the parser obeys and what the JSON Schema says."""

from collections.abc import Iterable, Mapping, Sequence

from render.documents import type_name
from render.fields import Fields
from render.hints import Any
from render.inputs.shapes import Shape, Spot, read_plain
from render.values import dataclass


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
