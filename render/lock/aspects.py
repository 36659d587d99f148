"""The aspects of a package: every field as lines of text that can be compared and shown.

They come from the fields of the dataclasses, so a field that is added there is compared and shown as well.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, TypeAlias

from render.lock.graph import Target
from render.lock.model import (
    KeptPin,
    LockedDependency,
    LockedPackage,
    Provided,
    Replaced,
    State,
    pin_places,
)
from render.references import Source

# The comparable texts of a package, by aspect.
Aspects: TypeAlias = Mapping[str, tuple[str, ...]]
# The aspects that differ, each before and after.
Differences: TypeAlias = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


def find_changed(old: Target, new: Target) -> Differences:
    """Return the aspects in which two packages differ, whatever their sources are."""
    return find_differences(aspects_of(old), aspects_of(new))


def find_differences(old: Aspects, new: Aspects) -> Differences:
    """Return the aspects in which two packages differ."""
    names = [*new, *[name for name in old if name not in new]]
    pairs = {name: (old.get(name, ()), new.get(name, ())) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def aspects_of(package: Target) -> Aspects:
    """Return the texts of every field of a package, by the name that the field has in the file."""
    named = _LOCKED if isinstance(package, LockedPackage) else _PROVIDED
    found = {name: _format_field(package, field) for name, field in named.items()}
    return {name: lines for name, lines in found.items() if lines}


def _format_field(package: Target, field: "Field[Any]") -> tuple[str, ...]:
    """Return the lines of a field; none, if it has its default value."""
    value: Any = getattr(package, field.name)
    if field.name in _FORMATS:
        return _FORMATS[field.name](package)
    if value == _default(field):
        return ()
    if isinstance(value, Mapping):
        return tuple(_flatten(value))
    # A source is a tuple, too.
    if isinstance(value, tuple) and not isinstance(value, Source):
        return tuple(map(_format_value, value))
    return (_format_value(value),)


def _default(field: "Field[Any]") -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _format_value(value: object) -> str:
    # An empty text must not look like a value that is missing.
    return "yes" if value is True else str(value) or '""'


def _flatten(value: object, place: str = "") -> Iterator[str]:
    """Yield a line for every value in a mapping, so that a difference shows where it is."""
    if not isinstance(value, Mapping) or not value:
        yield f"{place}: {json.dumps(value, sort_keys=True)}"
        return
    for key in sorted(value):
        plain = re.fullmatch(_PLAIN_KEY, key)
        step = f".{key}" if plain else f"[{json.dumps(key)}]"
        yield from _flatten(value[key], f"{place}{step}".removeprefix("."))


def _format_dependency(dependency: LockedDependency) -> str:
    kind = " ".join(part for part in (dependency.api_version, dependency.kind) if part)
    return f"{dependency.package} {dependency.constraints}" + (f" ({kind})" if kind else "")


def _format_replaced(one: Source | Replaced) -> str:
    return str(one) if isinstance(one, Source) else f"{one.source} by {one.strategy}, consent: {one.consent}"


def _format_pin(package: LockedPackage, pin: KeptPin) -> str:
    """Return the reference of a pin and its digest, with the source of its bytes where that differs."""
    named, place = pin_places(package, pin)
    return (
        f"{named}:{pin.tag}@{pin.digest}" if named == place else f"{named}:{pin.tag} at {place}@{pin.digest}"
    )


def _format_detached(package: Target) -> tuple[str, ...]:
    if isinstance(package, Provided):
        return (f"in {package.folder}",) if package.detached else ()
    return package.detached


def _counts(counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"{count} {kind}" for kind, count in sorted(counts.items()))


# Fields whose texts are not plain.
_FORMATS: Mapping[str, Callable[[Any], tuple[str, ...]]] = {
    # Shown where a package is known by another source.
    "source": lambda package: () if package.source == package.display_source else (str(package.source),),
    # Most packages are wanted, so that is not shown.
    "state": lambda package: () if package.state is State.WANTED else (str(package.state),),
    "detached": _format_detached,
    "dependencies": lambda package: tuple(map(_format_dependency, package.dependencies)),
    "replaces": lambda package: tuple(map(_format_replaced, package.replaces)),
    "kept_pins": lambda package: tuple(_format_pin(package, pin) for pin in package.kept_pins),
    "crds": lambda package: tuple(map(str, package.crds)),
    "objects": lambda package: _counts(package.objects),
    "unclaimed": lambda package: _counts(package.unclaimed),
}
# Fields that have another name in the file.
_NAMES = {"object_name": "object", "folder": "providedBy"}
_PLAIN_KEY = r"[A-Za-z0-9_-]+"


def _name_fields(kind: type) -> "dict[str, Field[Any]]":
    return {_NAMES.get(one.name) or _camel_case(one.name): one for one in fields(kind)}


def _camel_case(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


_LOCKED, _PROVIDED = _name_fields(LockedPackage), _name_fields(Provided)
# The aspects with several values; every other aspect has one.
LISTS = frozenset(name for name, field in _LOCKED.items() if isinstance(_default(field), tuple | Mapping))
