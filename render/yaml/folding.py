"""Keys as Go compares them: encoding/json finds a field without regard to case, so `Kind` is `kind` to it."""

from collections.abc import Iterable, Iterator, Mapping

from render.lean import Any, TypeAlias
from render.yaml.documents import Place

# Fields by name, with what is below each: the fields of a mapping, or of every item of a list; None: nothing to compare.
KnownFields: TypeAlias = Mapping[str, "KnownFields | None"]


def fold(key: str) -> str:
    """Return what Go compares instead of the key; equal for every spelling that it takes for one field."""
    if key.isascii():
        return key.lower()
    # Go folds character by character: the Kelvin sign is a k and the long s an s, but ß is not ss.
    folded = [one.casefold() for one in key]
    return "".join([new if len(new) == 1 else one for one, new in zip(key, folded, strict=True)])


def find_lookalikes(keys: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return the keys that Go may take for a known one and that are spelled otherwise, each with the known one."""
    spelled = {fold(name): name for name in known}
    return {key: spelled[fold(key)] for key in keys if spelled.get(fold(key), key) != key}


def describe_lookalikes(keys: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return a sentence for each key that Go may take for a known one."""
    found = find_lookalikes(keys, known)
    return [f"the key {key!r} has to be spelled {name!r}" for key, name in sorted(found.items())]


def find_lookalike_fields(value: Any, known: KnownFields, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield a place and a sentence for each field of a document that Go may take for a known one."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from find_lookalike_fields(item, known, (*place, i))
    elif isinstance(value, dict):
        yield from ((place, text) for text in describe_lookalikes(value, known))
        for name, below in known.items():
            if below is not None and name in value:
                yield from find_lookalike_fields(value[name], below, (*place, name))
