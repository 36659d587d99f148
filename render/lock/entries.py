"""What LockDetails says of each package: what Crossplane's own Lock has no place for."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from render.constraints import parse_constraint
from render.lean import Any, TypeVar
from render.lock.findings import Node, describe
from render.lock.model import KeptPin, LockedPackage, Provided, Replaced, State
from render.moves import Consent, Strategy
from render.packages import Kind
from render.references import (
    Digest,
    Source,
    is_digest,
    is_tag,
    parse_dependency_source,
    parse_digest,
    parse_source,
)

W = TypeVar("W", bound=StrEnum)

_PACKAGE_FIELDS = frozenset(
    {
        "source",
        "installedAs",
        "object",
        "state",
        "released",
        "tag",
        "root",
        "requiredBy",
        "replaces",
        "detached",
    }
    | {"staleEntry", "objects", "objectsDigest", "groups", "family", "crossplane", "fields", "overrides"}
    | {"keptPins", "digest"}
)
_DEACTIVATED_FIELDS = _PACKAGE_FIELDS - {"state"} | {"kind", "version", "replacedBy", "unclaimed"}
_PROVIDED_FIELDS = frozenset(
    {"source", "folder", "kind", "version", "object", "tag", "detached", "installedAs", "replaces", "digest"}
)
_REPLACED_FIELDS = frozenset({"source", "strategy", "consent"})
_PIN_FIELDS = frozenset({"tag", "source", "installedAs", "digest"})
_NO_SOURCE = Source("", "")
# Kubernetes: the name of an object is a DNS subdomain.
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_OBJECT_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


def read_source(node: Node) -> Source:
    """Read the source of an entry; one that is none is empty."""
    return _optional_source(node, "source", node.text("source")) or _NO_SOURCE


def read_kind(node: Node) -> Kind:
    """Read the kind of an entry."""
    return _word(node, "kind", Kind) or Kind.PROVIDER


def read_version(node: Node) -> str:
    """Read the version of an entry: a tag or a digest."""
    version = node.text("version")
    if version is not None and not is_tag(version) and not is_digest(version):
        node.complain(f"expected a tag or a digest, found {describe(version)}", "version")
    return version or ""


def read_package(node: Node) -> LockedPackage:
    """Read a package of LockDetails; its version, kind and dependencies stand in the first document."""
    node.allow(_PACKAGE_FIELDS)
    state = State.WANTED if node.get("state") is None else _word(node, "state", State)
    if state is State.DEACTIVATED:
        node.complain("what is deactivated stands under deactivated", "state")
    return _read_package(node, read_source(node), Kind.PROVIDER, "", state or State.WANTED)


def read_deactivated(node: Node) -> LockedPackage:
    """Read a package that was replaced and is switched off."""
    node.allow(_DEACTIVATED_FIELDS)
    package = _read_package(node, read_source(node), read_kind(node), read_version(node), State.DEACTIVATED)
    _check_version(node, package)
    if not node.items("replacedBy"):
        node.complain("replacedBy is missing")
    return package


def read_provided(node: Node) -> Provided:
    """Read a package that another folder provides."""
    node.allow(_PROVIDED_FIELDS)
    package = Provided(
        source=read_source(node),
        folder=_read_folder(node),
        version=read_version(node),
        digest=_read_digest(node),
        kind=read_kind(node),
        object_name=_read_object(node),
        tag=_read_tag(node, "tag"),
        detached=node.flag("detached"),
        installed_as=_read_source(node, "installedAs"),
        replaces=_read_sources(node, "replaces"),
    )
    _check_version(node, package)
    return package


def _check_version(node: Node, package: LockedPackage | Provided) -> None:
    """Of packages in both documents the same is found by comparing these."""
    if is_digest(package.version) and not package.by_digest:
        node.complain(f"the version is {package.version}, the digest {package.digest}", "version")
    if package.tag is not None and not is_digest(package.version):
        node.complain(f"the version is {package.version}, so there is no tag to add", "tag")


def _read_folder(node: Node) -> str:
    folder = node.text("folder")
    # As in the settings: relative, since a lock is the same on every machine.
    if folder is not None and (not folder or folder.startswith("/")):
        node.complain(f"expected a relative path, found {describe(folder)}", "folder")
    return folder or ""


def _read_package(node: Node, source: Source, kind: Kind, version: str, state: State) -> LockedPackage:
    # Most packages have few of these.
    more = {name: read(node, key) for key, (name, read) in _OPTIONAL.items() if node.get(key) is not None}
    digest, object_name = _read_digest(node), _read_object(node)
    return LockedPackage(source, version, digest, kind, object_name, state=state, **more)


def _read_digest(node: Node) -> Digest:
    return node.parsed("digest", parse_digest, node.text("digest")) or Digest("")


def _read_object(node: Node) -> str:
    name = node.text("object")
    if name is not None and not _OBJECT_NAME.fullmatch(name):
        node.complain(f"expected the name of an object, found {describe(name)}", "object")
    return name or ""


def _read_tag(node: Node, key: str) -> str | None:
    return _checked_tag(node, node.optional(key))


def _checked_tag(node: Node, tag: str | None) -> str | None:
    if tag is not None and not is_tag(tag):
        node.complain(f"expected a tag, found {describe(tag)}", "tag")
    return tag


def _read_objects_digest(node: Node, key: str) -> str:
    return node.parsed(key, parse_digest, node.optional(key)) or ""


def _read_constraint(node: Node, key: str) -> str | None:
    text = node.optional(key)
    node.parsed(key, parse_constraint, text)
    return text


def _read_texts(node: Node, key: str) -> tuple[str, ...]:
    return tuple(node.texts(key))


def _read_required_by(node: Node, key: str) -> tuple[str, ...]:
    return tuple(sorted(map(str, _read_sources(node, key))))


def _read_counts(node: Node, key: str) -> dict[str, int]:
    counts = node.mapping(key)
    for kind, count in counts.items():
        if type(count) is not int or count < 1:
            node.complain(f"expected a number of objects, found {describe(count)}", key, kind)
    return counts


def _read_pins(node: Node, key: str) -> tuple[KeptPin, ...]:
    return tuple([_read_pin(pin) for pin in node.nodes(key)])


def _read_pin(node: Node) -> KeptPin:
    node.allow(_PIN_FIELDS)
    return KeptPin(
        _checked_tag(node, node.text("tag")) or "",
        _read_digest(node),
        _read_source(node, "source"),
        _read_source(node, "installedAs"),
    )


def _read_all_replaced(node: Node, key: str) -> tuple[Replaced, ...]:
    return tuple([_read_replaced(entry) for entry in node.nodes(key)])


def _read_replaced(node: Node) -> Replaced:
    node.allow(_REPLACED_FIELDS)
    strategy, consent = _word(node, "strategy", Strategy), _word(node, "consent", Consent)
    return Replaced(read_source(node), strategy or Strategy.PLAIN, consent or Consent.MOVES)


def _read_stale_entry(node: Node, key: str) -> tuple[str, ...]:
    """Read what an entry names: dependencies, as their package writes them."""
    names = node.texts(key)
    for i, text in enumerate(names):
        node.parsed(key, parse_dependency_source, text, i)
    return tuple(names)


def _read_sources(node: Node, key: str) -> tuple[Source, ...]:
    found = [_optional_source(node, key, text, i) for i, text in enumerate(node.texts(key))]
    return tuple([source for source in found if source is not None])


def _read_source(node: Node, key: str) -> Source | None:
    return _optional_source(node, key, node.optional(key))


def _optional_source(node: Node, key: str, text: str | None, *way: int) -> Source | None:
    source = node.parsed(key, parse_source, text, *way)
    if source is not None and str(source) != text:
        node.complain(f"expected its canonical form {source}", key, *way)
    return source


def _word(node: Node, key: str, words: type[W]) -> W | None:
    text = node.text(key)
    try:
        return None if text is None else words(text)
    except ValueError:
        node.complain(f"expected {' or '.join(words)}, found {describe(text)}", key)
        return None


# The fields that a package need not have: where each is kept, and what reads it.
_OPTIONAL: Mapping[str, tuple[str, Callable[[Node, str], Any]]] = {
    "requiredBy": ("required_by", _read_required_by),
    "root": ("root", Node.optional),
    "tag": ("tag", _read_tag),
    "objects": ("objects", _read_counts),
    "objectsDigest": ("objects_digest", _read_objects_digest),
    "groups": ("groups", _read_texts),
    "family": ("family", Node.optional),
    "crossplane": ("crossplane", _read_constraint),
    "detached": ("detached", _read_texts),
    "fields": ("fields", Node.mapping),
    "overrides": ("overrides", Node.mapping),
    "keptPins": ("kept_pins", _read_pins),
    "released": ("released", Node.flag),
    "replaces": ("replaces", _read_all_replaced),
    "replacedBy": ("replaced_by", _read_sources),
    "installedAs": ("installed_as", _read_source),
    "staleEntry": ("stale_entry", _read_stale_entry),
    "unclaimed": ("unclaimed", _read_counts),
}
