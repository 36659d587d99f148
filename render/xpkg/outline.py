"""A definition's document → what is known about it, by a search of its outline if that is plain, else by the parser."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from render.digests import format_canonical
from render.limits import LimitExceeded, Limits
from render.packages import PackagedObject
from render.xpkg.definitions import COMPOSITION, CRD, MRD, XRD, Composition, DefinedVersion, Definition
from render.xpkg.schema_texts import digest_schema, drop_descriptions
from render.yaml.documents import InvalidDocument, definition_rules, parse_documents
from render.yaml.plain import parse_plain

T = TypeVar("T")

_KINDS = frozenset({CRD, XRD, MRD, COMPOSITION})
_SPEC = re.compile(rb"\nspec:[ \t]*(?=\n)")
# Lines of the outline: all that matter stand in one of the first columns.
_OUTLINE = re.compile(rb"\n(?! {7}|[ \t]*+(?:[\n#]|\Z))( *+)([^\n]*+)")
_SCHEMA = re.compile(r" *((?:- +)*)schema:[ \t]*")
# Keys whose values must not go on in another line.
_SHORT = re.compile(
    rb"(?:- +)*(?:name|served|storage|referenceable|deprecated|group|kind|plural|singular|scope|strategy"
    rb"|listKind|apiVersion|state): +\S.*"
)
_MOST_NODES = 20_000
_DEPTH = 20
OLD_CRD = "apiextensions.k8s.io/v1beta1"

_DEFAULT_SCOPES = {
    "apiextensions.crossplane.io/v1": "LegacyCluster",
    "apiextensions.crossplane.io/v2": "Namespaced",
    OLD_CRD: "Namespaced",
}
# Crossplane forbids to change these, or to have them in some scopes. CRDs become MRDs, whose names are as fixed.
_FIXED = {
    XRD: ("names", "claimNames", "enforcedCompositionRef", "connectionSecretKeys"),
    MRD: ("names",),
    CRD: ("names",),
}
_SUBRESOURCES = ("status", "scale")


class UnclearOutline(Exception):
    """A document without the shape of its kind, or with an outline that only the parser can read."""


UNREADABLE = (UnclearOutline, InvalidDocument, LimitExceeded, RecursionError)


def describe_problem(error: Exception) -> str:
    """Return in a line why a definition cannot be read."""
    if isinstance(error, LimitExceeded):
        return f"{error.what}: {'; '.join(error.why)}"
    if isinstance(error, RecursionError):
        return "its schema is nested too deeply"
    return error.problem if isinstance(error, InvalidDocument) else str(error)


def describe_definition(item: PackagedObject, data: bytes, limits: Limits) -> Definition | Composition | None:
    """Return the facts about a document, if it is a definition or a Composition.

    A definition that cannot be read has no facts but its digest and the problem: the API server refuses it, and a
    package must not become unreadable for it.
    """
    if item.kind not in _KINDS:
        return None
    found = _SPEC.search(data)
    digest = hashlib.sha256(memoryview(data)[found.start() if found else 0 :]).hexdigest()
    try:
        outline = search_outline(item, data)
        return _describe(item, outline.spec, outline.schema_digests(), digest)
    except UnclearOutline:
        return _parse_definition(item, data, digest, limits)


def _parse_definition(
    item: PackagedObject, data: bytes, digest: str, limits: Limits
) -> Definition | Composition:
    try:
        return _describe(item, *parse_spec(data, limits), digest)
    except UNREADABLE as error:
        problem = describe_problem(error)
    return (
        Composition(item, digest=digest)
        if item.kind == COMPOSITION
        else Definition(item, digest=digest, problem=problem)
    )


def parse_spec(data: bytes, limits: Limits) -> tuple[Mapping[str, Any], list[str]]:
    """Parse a definition, and return its spec and the digest of the schema of each version."""
    spec, schemas = parse_schemas(data, limits)
    return spec, [*map(digest_schema, schemas)]


def parse_schemas(data: bytes, limits: Limits) -> tuple[Mapping[str, Any], list[Any]]:
    """Parse a definition, and return its spec and the schema of each version."""
    document = next(iter(parse_documents(data.removeprefix(b"\n"), definition_rules(limits))), None)
    spec = document.get("spec") if isinstance(document, dict) else None
    if not isinstance(spec, dict):
        raise UnclearOutline("it has no spec")
    versions = spec.get("versions")
    listed = versions if isinstance(versions, list) else [{}]
    # Version v1beta1 of CRDs had one schema for all versions.
    shared = spec.get("validation")
    return spec, [(one.get("schema") if isinstance(one, dict) else None) or shared for one in listed]


@dataclass(frozen=True, slots=True)
class Outline:
    """A definition of which only the outline was read."""

    spec: Mapping[str, Any]
    # Its text from `spec:` on without descriptions, and the parts of it below each line `schema:`: the column of the
    # key, and where the text behind it starts and ends.
    text: bytes
    places: tuple[tuple[int, int, int], ...]

    def schema_digests(self) -> list[str]:
        """Return the digest of the text of each schema."""
        whole = memoryview(self.text)
        return [hashlib.sha256(whole[start:end]).hexdigest() for _, start, end in self.places]


def search_outline(item: PackagedObject, data: bytes) -> Outline:
    """Read the outline of a definition; raise UnclearOutline if only the parser can."""
    found = _SPEC.search(data)
    if found is None or item.api_version == OLD_CRD:
        raise UnclearOutline
    stripped = drop_descriptions(data[found.start() :])
    lines = list(_outline(stripped))
    documents = parse_plain("\n".join(line for _, _, line in lines), depth=_DEPTH, nodes=_MOST_NODES)
    spec = documents[0].get("spec") if documents and isinstance(documents[0], dict) else None
    if not isinstance(spec, dict):
        raise UnclearOutline
    return Outline(spec, stripped, tuple(_schema_places(stripped, lines)))


def _outline(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of the spec in the first columns: where each starts, its column, and its text."""
    end, short = 0, False
    for line in _OUTLINE.finditer(data):
        start, column = line.start(), len(line[1])
        if end and start > end and short:
            raise UnclearOutline
        if end and not column:
            break
        end, short = line.end(), _SHORT.fullmatch(line[2]) is not None
        try:
            yield start, column, line[0][1:].decode()
        except UnicodeDecodeError:
            raise UnclearOutline from None
    if data.count(b"\nspec:") > 1:
        raise UnclearOutline


def _schema_places(data: bytes, lines: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, int]]:
    """Yield the place of the text below each line `schema:`."""
    for number, (start, column, text) in enumerate(lines):
        key = _SCHEMA.fullmatch(text)
        if key is None:
            continue
        column += len(key[1])
        end = next((at for at, other, _ in lines[number + 1 :] if other <= column), len(data))
        yield column, start + len(text) + 1, end


def with_schemas(
    item: PackagedObject, spec: Mapping[str, Any], found: list[T]
) -> Iterator[tuple[Mapping[str, Any], T | None]]:
    """Yield the versions that a spec lists, each with what was found for its schema, if it has one."""
    listed = spec.get("versions")
    if listed is None and item.api_version == OLD_CRD:
        only = {"name": _text(spec, "version"), "served": True, "storage": True}
        listed = [{**only, **_only(spec, "subresources")}]
    if not isinstance(listed, list) or not listed:
        raise UnclearOutline("it lists no versions")
    described = [one for one in listed if isinstance(one, dict)]
    with_schema = [one for one in described if "schema" in one]
    if len(described) < len(listed) or len(found) not in (len(listed), len(with_schema)):
        raise UnclearOutline("its versions are no mappings")
    waiting = iter(found)
    for one in described:
        has_own = len(found) == len(listed) or "schema" in one
        yield one, next(waiting) if has_own else None


def _describe(
    item: PackagedObject, spec: Mapping[str, Any], schemas: list[str], digest: str
) -> Definition | Composition:
    if item.kind == COMPOSITION:
        target = _mapping(spec, "compositeTypeRef")
        return Composition(item, _text(target, "apiVersion"), _text(target, "kind"), digest)
    names, claims, conversion = (_mapping(spec, key) for key in ("names", "claimNames", "conversion"))
    kind = _text(names, "kind")
    return Definition(
        item,
        group=_text(spec, "group"),
        kind=kind,
        plural=_text(names, "plural"),
        singular=_text(names, "singular", kind.lower()),
        claim_kind=_text(claims, "kind"),
        claim_plural=_text(claims, "plural"),
        scope=_text(spec, "scope", _DEFAULT_SCOPES.get(item.api_version, "")),
        conversion=_text(conversion, "strategy", "None"),
        state=_text(spec, "state", "Inactive") if item.kind == MRD else "",
        versions=tuple(_versions(item, spec, schemas)),
        fixed={key: format_canonical(spec[key]) for key in _FIXED.get(item.kind, ()) if key in spec},
        digest=digest,
    )


def _versions(item: PackagedObject, spec: Mapping[str, Any], schemas: list[str]) -> Iterator[DefinedVersion]:
    stored = "referenceable" if item.kind == XRD else "storage"
    for one, schema in with_schemas(item, spec, schemas):
        yield DefinedVersion(
            _text(one, "name"),
            one.get("served") is True,
            one.get(stored) is True,
            one.get("deprecated") is True,
            tuple(key for key in _SUBRESOURCES if key in _mapping({**spec, **one}, "subresources")),
            schema or "",
        )


def _only(spec: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {key: spec[key]} if key in spec else {}


def _mapping(within: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = within.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnclearOutline(f"its {key} is no mapping")
    return value


def _text(within: Mapping[str, Any], key: str, default: str = "") -> str:
    value = within.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise UnclearOutline(f"its {key} is no text")
    return value
