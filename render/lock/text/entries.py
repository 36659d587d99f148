"""The entries of LockDetails: all about a package that has no place in Crossplane's own Lock."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum

from render.crd_dependencies import AnswerPlace, CrdAnswer, CrdRequest, parse_crd, requirer_of
from render.lean import Any, TypeVar
from render.lock.model import KeptPin, LockedPackage, Provided, Replaced, State
from render.moves import Consent, Strategy
from render.names import is_dns_name
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
from render.texts import hides_something
from render.versions.constraints import parse_constraint
from render.yaml.fields import Fields, describe

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
        "crds",
        "replaces",
        "detached",
    }
    | {
        "staleEntry",
        "objects",
        "objectsDigest",
        "definitionsDigest",
        "groups",
        "family",
        "crossplane",
        "licence",
        "releasedAt",
        "signedBy",
        "attestedBy",
        "fields",
        "overrides",
    }
    | {"keptPins", "digest"}
)
_DEACTIVATED_FIELDS = _PACKAGE_FIELDS - {"state"} | {"kind", "version", "replacedBy", "unclaimed"}
_PROVIDED_FIELDS = frozenset(
    {"source", "folder", "kind", "version", "object", "tag", "detached", "installedAs", "replaces", "digest"}
)
_REPLACED_FIELDS = frozenset({"source", "strategy", "consent"})
_ANSWER_FIELDS = frozenset({"crd", "version", "answeredBy", "from"})
_PIN_FIELDS = frozenset({"tag", "source", "installedAs", "digest"})
# Not parsed any further: rendering needs no times.
_RELEASED_AT = r"2[0-9]{3}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]Z (?:claimed|proven)"
_NO_SOURCE = Source("", "")


def read_source(entry: Fields) -> Source:
    """Read the source of an entry; an invalid one becomes an empty source."""
    return _optional_source(entry, "source", entry.required_text("source")) or _NO_SOURCE


def read_kind(entry: Fields) -> Kind:
    """Read the kind of an entry."""
    return _word(entry, "kind", Kind) or Kind.PROVIDER


def read_version(entry: Fields) -> str:
    """Read the version of an entry: a tag or a digest."""
    version = entry.required_text("version")
    if version is not None and not is_tag(version) and not is_digest(version):
        entry.complain(f"expected a tag or a digest, found {describe(version)}", "version")
    return version or ""


def read_package(entry: Fields) -> LockedPackage:
    """Read a package of LockDetails; its version, kind and dependencies are in the first document."""
    entry.allow(_PACKAGE_FIELDS)
    state = State.WANTED if entry.get("state") is None else _word(entry, "state", State)
    if state is State.DEACTIVATED:
        entry.complain("a deactivated package belongs under deactivated", "state")
    return _read_package(entry, read_source(entry), Kind.PROVIDER, "", state or State.WANTED)


def read_deactivated(entry: Fields) -> LockedPackage:
    """Read a deactivated package."""
    entry.allow(_DEACTIVATED_FIELDS)
    package = _read_package(
        entry, read_source(entry), read_kind(entry), read_version(entry), State.DEACTIVATED
    )
    _check_version(entry, package)
    if not entry.items("replacedBy"):
        entry.complain("replacedBy is missing")
    return package


def read_provided(entry: Fields) -> Provided:
    """Read a package that another folder provides."""
    entry.allow(_PROVIDED_FIELDS)
    package = Provided(
        source=read_source(entry),
        folder=_read_folder(entry),
        version=read_version(entry),
        digest=_read_digest(entry),
        kind=read_kind(entry),
        object_name=_read_object(entry),
        tag=_read_tag(entry, "tag"),
        detached=entry.flag("detached"),
        installed_as=_read_source(entry, "installedAs"),
        replaces=_read_sources(entry, "replaces"),
    )
    _check_version(entry, package)
    return package


def _check_version(entry: Fields, package: LockedPackage | Provided) -> None:
    """Compare version, digest and tag; for a package in both documents, `disagreement` does it."""
    if is_digest(package.version) and not package.by_digest:
        entry.complain(f"the version is {package.version}, the digest {package.digest}", "version")
    if package.tag is not None and not is_digest(package.version):
        entry.complain(f"the version is {package.version}, so there is no tag to add", "tag")


def _read_folder(entry: Fields) -> str:
    folder = entry.required_text("folder")
    # As in the settings: relative, since a lock is the same on every machine.
    if folder is not None and (not folder or folder.startswith("/")):
        entry.complain(f"expected a relative path, found {describe(folder)}", "folder")
    return folder or ""


def _read_package(entry: Fields, source: Source, kind: Kind, version: str, state: State) -> LockedPackage:
    # Only fields that are there are read: most packages have few of them.
    more = {name: read(entry, key) for key, (name, read) in _OPTIONAL.items() if entry.get(key) is not None}
    digest, object_name = _read_digest(entry), _read_object(entry)
    return LockedPackage(source, version, digest, kind, object_name, state=state, **more)


def _read_digest(entry: Fields) -> Digest:
    return entry.parse_text(entry.required_text("digest"), parse_digest, "digest") or Digest("")


def _read_object(entry: Fields) -> str:
    name = entry.required_text("object")
    if name is not None and not is_dns_name(name):
        entry.complain(f"expected the name of an object, found {describe(name)}", "object")
    return name or ""


def _read_tag(entry: Fields, key: str) -> str | None:
    return _checked_tag(entry, entry.optional_text(key))


def _checked_tag(entry: Fields, tag: str | None) -> str | None:
    if tag is not None and not is_tag(tag):
        entry.complain(f"expected a tag, found {describe(tag)}", "tag")
    return tag


def _read_list_digest(entry: Fields, key: str) -> str:
    return entry.parse_text(entry.optional_text(key), parse_digest, key) or ""


def _read_constraint(entry: Fields, key: str) -> str | None:
    text = entry.optional_text(key)
    entry.parse_text(text, parse_constraint, key)
    return text


def _read_licence(entry: Fields, key: str) -> str | None:
    text = entry.optional_text(key)
    if text is not None and (not text or hides_something(text)):
        entry.complain(f"expected the words of a licence, found {describe(text)}", key)
    return text


def _read_released_at(entry: Fields, key: str) -> str | None:
    text = entry.optional_text(key)
    if text is not None and not re.fullmatch(_RELEASED_AT, text):
        entry.complain(f"expected a time in UTC and its kind, found {describe(text)}", key)
    return text


def _read_texts(entry: Fields, key: str) -> tuple[str, ...]:
    return tuple(entry.list_of_texts(key))


def _read_mapping(entry: Fields, key: str) -> dict[str, Any]:
    value = entry.get(key)
    # A reader of its own is needed to complain only.
    return value if isinstance(value, dict) else entry.mapping(key).value


def _read_required_by(entry: Fields, key: str) -> tuple[str, ...]:
    texts = entry.list_of_texts(key)
    for i, text in enumerate(texts):
        _optional_source(entry, key, requirer_of(text), i)
    return tuple(sorted(texts))


def read_answers(entry: Fields, key: str) -> tuple[CrdAnswer, ...]:
    """Read the packages that answer dependencies on CRDs."""
    found = [_read_answer(item) for item in entry.mappings(key)]
    return tuple([answer for answer in found if answer is not None])


def _read_answer(entry: Fields) -> CrdAnswer | None:
    entry.allow(_ANSWER_FIELDS)
    crd = _read_crd(entry)
    source = _optional_source(entry, "answeredBy", entry.required_text("answeredBy"))
    place = _word(entry, "from", AnswerPlace)
    versions = _read_constraint(entry, "version") or ""
    return CrdAnswer(crd, source, place, versions) if crd and source and place else None


def _read_crd(entry: Fields) -> CrdRequest | None:
    text = entry.required_text("crd")
    crd = entry.parse_text(text, parse_crd, "crd")
    if crd is not None and str(crd) != text:
        entry.complain(f"expected its canonical form {crd}", "crd")
    return crd


def _read_counts(entry: Fields, key: str) -> dict[str, int]:
    counts = _read_mapping(entry, key)
    for kind, count in counts.items():
        if type(count) is not int or count < 1:
            entry.complain(f"expected a number of objects, found {describe(count)}", key, kind)
    return counts


def _read_pins(entry: Fields, key: str) -> tuple[KeptPin, ...]:
    return tuple([_read_pin(pin) for pin in entry.mappings(key)])


def _read_pin(entry: Fields) -> KeptPin:
    entry.allow(_PIN_FIELDS)
    return KeptPin(
        _checked_tag(entry, entry.required_text("tag")) or "",
        _read_digest(entry),
        _read_source(entry, "source"),
        _read_source(entry, "installedAs"),
    )


def _read_all_replaced(entry: Fields, key: str) -> tuple[Replaced, ...]:
    return tuple([_read_replaced(item) for item in entry.mappings(key)])


def _read_replaced(entry: Fields) -> Replaced:
    entry.allow(_REPLACED_FIELDS)
    strategy, consent = _word(entry, "strategy", Strategy), _word(entry, "consent", Consent)
    return Replaced(read_source(entry), strategy or Strategy.PLAIN, consent or Consent.MOVES)


def _read_stale_entry(entry: Fields, key: str) -> tuple[str, ...]:
    """Read the dependencies that a stale entry names, as their package spells them."""
    names = entry.list_of_texts(key)
    for i, text in enumerate(names):
        entry.parse_text(text, parse_dependency_source, key, i)
    return tuple(names)


def _read_sources(entry: Fields, key: str) -> tuple[Source, ...]:
    found = [_optional_source(entry, key, text, i) for i, text in enumerate(entry.list_of_texts(key))]
    return tuple([source for source in found if source is not None])


def _read_source(entry: Fields, key: str) -> Source | None:
    return _optional_source(entry, key, entry.optional_text(key))


def _optional_source(entry: Fields, key: str, text: str | None, *way: int) -> Source | None:
    source = entry.parse_text(text, parse_source, key, *way)
    if source is not None and str(source) != text:
        entry.complain(f"expected its canonical form {source}", key, *way)
    return source


def _word(entry: Fields, key: str, words: type[W]) -> W | None:
    text = entry.required_text(key)
    try:
        return None if text is None else words(text)
    except ValueError:
        entry.complain(f"expected {' or '.join(words)}, found {describe(text)}", key)
        return None


# The optional fields of a package: the attribute that holds each, and the function that reads it.
_OPTIONAL: Mapping[str, tuple[str, Callable[[Fields, str], Any]]] = {
    "requiredBy": ("required_by", _read_required_by),
    "crds": ("crds", read_answers),
    "root": ("root", Fields.optional_text),
    "tag": ("tag", _read_tag),
    "objects": ("objects", _read_counts),
    "objectsDigest": ("objects_digest", _read_list_digest),
    "definitionsDigest": ("definitions_digest", _read_list_digest),
    "groups": ("groups", _read_texts),
    "family": ("family", Fields.optional_text),
    "crossplane": ("crossplane", _read_constraint),
    "licence": ("licence", _read_licence),
    "releasedAt": ("released_at", _read_released_at),
    "signedBy": ("signed_by", _read_texts),
    "attestedBy": ("attested_by", _read_texts),
    "detached": ("detached", _read_texts),
    "fields": ("fields", _read_mapping),
    "overrides": ("overrides", _read_mapping),
    "keptPins": ("kept_pins", _read_pins),
    "released": ("released", Fields.flag),
    "replaces": ("replaces", _read_all_replaced),
    "replacedBy": ("replaced_by", _read_sources),
    "installedAs": ("installed_as", _read_source),
    "staleEntry": ("stale_entry", _read_stale_entry),
    "unclaimed": ("unclaimed", _read_counts),
}
