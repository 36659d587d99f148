"""Whether the API server of a cluster with Crossplane v2.3.4 would take an object of pkg.crossplane.io.

It is asked as kubectl and Argo CD ask: unknown fields are errors, and the object has to get in by creation and by
server-side apply, which alone refuses most nulls. One thing surprises: no kind needs to have a `spec`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from rig.cluster.metadata import SYNC_OPTIONS, check_names, has_sync_option

Shape: TypeAlias = str | Mapping[str, Any]

GROUP = "pkg.crossplane.io"

_DATA = Path(__file__).parents[2] / "data/crossplane-crds.json"
_HEAD = ("apiVersion", "kind", "metadata")
_SERVER_SIDE = "ServerSideApply=true"
_PACKAGE = re.compile(r"[^./]+(\.[^./]+)+(/[^/:@]+)+(:[^:@]+(@sha256.+)?|@sha256.+)")
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    # JSON has one type of numbers: 1.0 is an integer.
    "integer": lambda value: type(value) in (int, float) and value % 1 == 0 and -(2**63) <= value < 2**63,
    "object": lambda value: isinstance(value, Mapping),
    "list": lambda value: isinstance(value, list),
}
_TYPE_OF = {"fields": "object", "map": "object", "list": "list", "enum": "string"}
# By the text of the rule. CEL's `$` is the very end, unlike Python's, so the whole text has to match.
_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    r"self.matches('^[^\\.\\/]+(\\.[^\\.\\/]+)+(\\/[^\\/:@]+)+(:[^:@]+(@sha256.+)?|@sha256.+)$')": (
        lambda value: _PACKAGE.fullmatch(value) is not None,
        "is not a registry with a dot, a repository, and a tag or digest",
    ),
    "size(self) > 0": (lambda value: len(value) > 0, "is empty"),
}


def is_known(value: Mapping[str, Any]) -> bool:
    """Return whether an object is judged here: all are, but those of other groups."""
    api_version = value.get("apiVersion")
    return not isinstance(api_version, str) or api_version.partition("/")[0] == GROUP


def problems_of(value: Mapping[str, Any], *, partial: bool = False) -> list[str]:
    """Return why the API server would refuse an object; a partial one adds fields to an object that is there."""
    if not is_known(value):
        raise KeyError(f"{value['apiVersion']} is not of {GROUP}; ask is_known first")
    kind = f"{value.get('apiVersion')} {value.get('kind')}"
    fields = _fields_by_kind().get(kind)
    if fields is None:
        return [f"there is no kind {kind}"]
    body = {name: item for name, item in value.items() if name not in _HEAD}
    found = [*check_shape(body, {"fields": fields}, partial=partial)]
    return found + _metadata_problems(value.get("metadata", {}), partial=partial)


def check_shape(value: Any, shape: Shape, at: str = "", *, partial: bool = False) -> Iterator[str]:
    """Find everything in a value that its shape, which the data describes, does not allow."""
    form = shape if isinstance(shape, str) else next(iter(shape))
    expected = _TYPE_OF.get(form, form)
    if not isinstance(shape, str) and form == "of":
        yield from _check_rules(value, shape, at, partial)
    elif not _TYPES[expected](value):
        yield f"{at}: {_shown(value)} is not of type {expected}"
    elif not isinstance(shape, str):
        yield from _CHECKS[form](value, shape[form], at, partial)


@cache
def description() -> Mapping[str, Any]:
    """Read what there is to know about the fields of objects."""
    known: Mapping[str, Any] = json.loads(_DATA.read_text())
    return known


@cache
def _fields_by_kind() -> Mapping[str, dict[str, Shape]]:
    return {
        f"{GROUP}/{version} {kind}": entry["fields"]
        for kind, entry in description()["kinds"].items()
        for version in entry["versions"]
    }


def _metadata_problems(metadata: Any, *, partial: bool) -> list[str]:
    found = [*check_shape(metadata, description()["metadata"], "metadata")]
    if found:
        # Names can only be looked at where they are texts.
        return found
    if partial and not has_sync_option(metadata, _SERVER_SIDE):
        found = [f"metadata.annotations.{SYNC_OPTIONS}: a partial object needs {_SERVER_SIDE}"]
    return [*found, *check_names(metadata)]


def _check_fields(value: Any, fields: Mapping[str, Shape], at: str, partial: bool) -> Iterator[str]:
    marked = {name.rstrip("!?"): name for name in fields}
    for name, item in value.items():
        place = _inside(at, name)
        if name not in marked:
            yield f"{place}: no such field"
        elif item is not None or not marked[name].endswith("?"):
            yield from check_shape(item, fields[marked[name]], place, partial=partial)
    required = [] if partial else [name for name in marked if marked[name].endswith("!")]
    yield from (f"{_inside(at, name)}: missing" for name in required if name not in value)


def _check_list(value: Any, shape: Shape, at: str, _: bool) -> Iterator[str]:
    # Server-side apply replaces such a list, so that items are never partial.
    for i, item in enumerate(value):
        yield from check_shape(item, shape, f"{at}[{i}]")


def _check_map(value: Any, shape: Shape, at: str, partial: bool) -> Iterator[str]:
    for key, item in value.items():
        yield from check_shape(key, "string", f"{at}, key")
        yield from check_shape(item, shape, f"{at}.{key}", partial=partial)


def _check_enum(value: Any, allowed: list[str], at: str, _: bool) -> Iterator[str]:
    if value not in allowed:
        yield f"{at}: {_shown(value)} is none of {', '.join(allowed)}"


def _check_rules(value: Any, shape: Mapping[str, Any], at: str, partial: bool) -> Iterator[str]:
    found = [*check_shape(value, shape["of"], at, partial=partial)]
    yield from found
    for rule in shape["rules"] if not found else ():
        if rule not in _RULES:
            raise LookupError(f"the rule {rule} has no translation")
        holds, problem = _RULES[rule]
        if not holds(value):
            yield f"{at}: {_shown(value)} {problem}"


_CHECKS: Mapping[str, Callable[[Any, Any, str, bool], Iterator[str]]] = {
    "fields": _check_fields,
    "list": _check_list,
    "map": _check_map,
    "enum": _check_enum,
}


def _inside(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _shown(value: Any) -> str:
    return f"{value!r:.200}"
