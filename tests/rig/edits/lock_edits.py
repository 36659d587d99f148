"""Every edit of a lock that keeps it valid YAML: each value changed, each entry removed or doubled, fields planted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from render.references import is_digest

Path = tuple[str | int, ...]

EVIL = "xpkg.example.org/evil/package"
_DIGEST = "sha256:" + "e" * 64
_WORDS: Mapping[str, tuple[str, ...]] = {
    "kind": ("Provider", "Configuration", "Function"),
    "strategy": ("alias", "repoint", "deactivate", "plain"),
    "consent": ("moves", "claim"),
    "state": ("wanted", "orphaned"),
}
# Fields that a package may have, each with values that would change what is rendered.
_PLANTED: Mapping[str, tuple[Any, ...]] = {
    "root": ("v1.0.0", "any version"),
    "tag": ("v1.0.0",),
    "state": ("orphaned",),
    "released": (True,),
    "installedAs": (EVIL,),
    "requiredBy": ([EVIL],),
    "replaces": tuple(
        [{"source": EVIL, "strategy": strategy, "consent": consent}]
        for strategy in ("alias", "deactivate", "plain")
        for consent in ("moves", "claim")
    ),
    "replacedBy": ([EVIL],),
    "detached": (
        ["a reason"],
        ["it needs acme/other, which the cluster knows as xpkg.example.org/acme/other"],
    ),
    "staleEntry": ([EVIL],),
    "objects": ({"CustomResourceDefinition": 7},),
    "objectsDigest": (_DIGEST,),
    "definitionsDigest": (_DIGEST,),
    "groups": (["evil.example.org"],),
    "family": ("evil",),
    "crossplane": (">=v9",),
    "fields": ({"spec": {"runtimeConfigRef": {"name": "evil"}}}, {"metadata": {"labels": {"a": "b"}}}),
    "overrides": ({"spec": {"packagePullPolicy": "Always"}}, {"metadata": {"annotations": {"a": "b"}}}),
    "keptPins": (
        [{"tag": "v0.9.0", "digest": _DIGEST}],
        [{"tag": "v0.9.0", "digest": _DIGEST, "source": EVIL}],
        [{"tag": "v0.9.0", "digest": _DIGEST, "installedAs": EVIL}],
    ),
    "unclaimed": ({"CustomResourceDefinition": 7},),
    "dependencies": ([{"package": EVIL, "constraints": "*"}],),
}


@dataclass(frozen=True)
class Edit:
    """One change, and the two documents after it."""

    path: Path
    what: str
    documents: list[Any]

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.what}"


def planted_moves(documents: list[Any]) -> Iterator[Edit]:
    """Yield plants of two fields that go together: a package that says it replaced another one, and keeps a pin of that.

    The other one is foreign, or has the path of the package on another registry, so that both derive one name.
    """
    details = documents[1]
    for part in ("packages", "deactivated"):
        for i, entry in enumerate(details.get(part, ())):
            own = entry["source"]
            for victim in (EVIL, f"old.example.org/{own.partition('/')[2]}"):
                for record, pin in product(_records(victim), _pins(victim, own, entry["digest"])):
                    planted = {
                        **entry,
                        "replaces": [*(record and [record]), *entry.get("replaces", [])],
                        "keptPins": [pin, *entry.get("keptPins", [])],
                    }
                    planted = {key: value for key, value in planted.items() if value}
                    entries = [*details[part][:i], planted, *details[part][i + 1 :]]
                    what = f"is planted as {record} with {pin}"
                    yield Edit((1, part, i, "keptPins"), what, [documents[0], {**details, part: entries}])


def _records(victim: str) -> list[dict[str, str]]:
    words = product(_WORDS["strategy"], _WORDS["consent"])
    return [{}, *({"source": victim, "strategy": one, "consent": other} for one, other in words)]


def _pins(victim: str, own: str, digest: str) -> list[dict[str, str]]:
    here = {"tag": "v0.9.0", "source": own, "installedAs": victim, "digest": digest}
    return [
        here,
        {**here, "source": victim, "installedAs": victim},
        {**here, "source": victim, "installedAs": own},
    ]


def edits_of(documents: list[Any]) -> Iterator[Edit]:
    """Yield every edit of the two documents of a lock."""
    for path, what, new in _edits(documents, ()):
        yield Edit(path, what, new)


def _edits(value: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
    if isinstance(value, dict):
        yield from _mapping_edits(value, path)
    elif isinstance(value, list):
        yield from _list_edits(value, path)
    else:
        for other in _others(value, path):
            yield path, f"{value!r} becomes {other!r}", other


def _mapping_edits(value: dict[str, Any], path: Path) -> Iterator[tuple[Path, str, Any]]:
    for key, item in value.items():
        yield (*path, key), "is removed", {k: v for k, v in value.items() if k != key}
        for where, what, new in _edits(item, (*path, key)):
            yield where, what, {**value, key: new}
    if _is_package(path):
        for key, plants in _PLANTED.items():
            for plant in plants:
                if key not in value:
                    yield (*path, key), f"is planted as {plant!r}", {**value, key: plant}


def _list_edits(value: list[Any], path: Path) -> Iterator[tuple[Path, str, Any]]:
    for i, item in enumerate(value):
        if path:
            yield (*path, i), "is removed", [*value[:i], *value[i + 1 :]]
            yield (*path, i), "is doubled", [*value[:i], item, *value[i:]]
        for where, what, new in _edits(item, (*path, i)):
            yield where, what, [*value[:i], new, *value[i + 1 :]]


def _is_package(path: Path) -> bool:
    return len(path) == 3 and path[1] in ("packages", "deactivated")


def _others(value: Any, path: Path) -> list[Any]:
    key = path[-1]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if key in _WORDS:
        return [word for word in _WORDS[str(key)] if word != value]
    text = str(value)
    if is_digest(text):
        return [text[:-1] + ("0" if text[-1] != "0" else "1"), _DIGEST]
    others = ["", f"{text}-x", "v0.0.1", "v9.9.9", ">=v0"] if text[:1] in "v>^*<=~" else [f"{text}-x"]
    return [*others, EVIL] if "/" in text else others
