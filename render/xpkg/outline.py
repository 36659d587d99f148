"""A definition's document → what is known about it, by a search of its outline if that is plain, else by the parser."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from render.digests import format_canonical
from render.limits import LimitExceeded, Limits
from render.packages import PackagedObject
from render.xpkg.definitions import COMPOSITION, CRD, MRD, XRD, Composition, DefinedVersion, Definition
from render.xpkg.schema_texts import digest_schema, drop_descriptions
from render.yaml.documents import InvalidDocument, definition_rules, parse_documents
from render.yaml.plain import parse_plain

_KINDS = frozenset({CRD, XRD, MRD, COMPOSITION})
_SPEC = re.compile(rb"\nspec:[ \t]*(?=\n)")
# Lines of the outline: all that matter stand in one of the first columns.
_OUTLINE = re.compile(rb"\n(?! {7}|[ \t]*(?:\n|\Z|#))( *)([^\n]*)")
_SCHEMA = re.compile(r" *((?:- +)*)schema:[ \t]*")
# Keys whose values must not go on in another line.
_SHORT = re.compile(
    rb"(?:- +)*(?:name|served|storage|referenceable|deprecated|group|kind|plural|singular|scope|strategy"
    rb"|listKind|apiVersion|state): +\S.*"
)
_MOST_NODES = 20_000
_DEPTH = 20
_OLD_CRD = "apiextensions.k8s.io/v1beta1"

_DEFAULT_SCOPES = {
    "apiextensions.crossplane.io/v1": "LegacyCluster",
    "apiextensions.crossplane.io/v2": "Namespaced",
    _OLD_CRD: "Namespaced",
}
# Crossplane forbids to change these, or to have them in some scopes.
_FIXED = ("names", "claimNames", "enforcedCompositionRef", "connectionSecretKeys")
_SUBRESOURCES = ("status", "scale")


class _Unclear(Exception):
    """A document without the shape of its kind, or with an outline that only the parser can read."""


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
        if found is None:
            raise _Unclear
        return _describe(item, *_search_spec(item, data, found), digest)
    except _Unclear:
        return _parse_definition(item, data, digest, limits)


def _parse_definition(
    item: PackagedObject, data: bytes, digest: str, limits: Limits
) -> Definition | Composition:
    try:
        return _describe(item, *parse_spec(data, limits), digest)
    except (_Unclear, InvalidDocument) as error:
        problem = error.problem if isinstance(error, InvalidDocument) else str(error)
    except LimitExceeded as error:
        problem = f"{error.what}: {'; '.join(error.why)}"
    except RecursionError:
        problem = "its schema is nested too deeply"
    return (
        Composition(item, digest=digest)
        if item.kind == COMPOSITION
        else Definition(item, digest=digest, problem=problem)
    )


def parse_spec(data: bytes, limits: Limits) -> tuple[Mapping[str, Any], list[str]]:
    """Parse a definition, and return its spec and the digest of the schema of each version."""
    document = next(iter(parse_documents(data.removeprefix(b"\n"), definition_rules(limits))), None)
    spec = document.get("spec") if isinstance(document, dict) else None
    if not isinstance(spec, dict):
        raise _Unclear("it has no spec")
    versions = spec.get("versions")
    listed = versions if isinstance(versions, list) else [{}]
    # Version v1beta1 of CRDs had one schema for all versions.
    shared = spec.get("validation")
    return spec, [
        digest_schema((one.get("schema") if isinstance(one, dict) else None) or shared) for one in listed
    ]


def _search_spec(
    item: PackagedObject, data: bytes, found: re.Match[bytes]
) -> tuple[Mapping[str, Any], list[str]]:
    """Read the outline of a spec, and hash the text of its schemas."""
    if item.api_version == _OLD_CRD:
        raise _Unclear
    stripped = drop_descriptions(data[found.start() :])
    lines = list(_outline(stripped))
    documents = parse_plain("\n".join(line for _, _, line in lines), depth=_DEPTH, nodes=_MOST_NODES)
    spec = documents[0].get("spec") if documents and isinstance(documents[0], dict) else None
    if not isinstance(spec, dict):
        raise _Unclear
    return spec, list(_schema_digests(stripped, lines))


def _outline(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of the spec in the first columns: where each starts, its column, and its text."""
    end, short = 0, False
    for line in _OUTLINE.finditer(data):
        start, column = line.start(), len(line[1])
        if end and start > end and short:
            raise _Unclear
        if end and not column:
            break
        end, short = line.end(), _SHORT.fullmatch(line[2]) is not None
        try:
            yield start, column, line[0][1:].decode()
        except UnicodeDecodeError:
            raise _Unclear from None
    if data.count(b"\nspec:") > 1:
        raise _Unclear


def _schema_digests(data: bytes, lines: list[tuple[int, int, str]]) -> Iterator[str]:
    """Yield the digest of the text below each line `schema:`."""
    for number, (start, column, text) in enumerate(lines):
        key = _SCHEMA.fullmatch(text)
        if key is None:
            continue
        column += len(key[1])
        end = next((at for at, other, _ in lines[number + 1 :] if other <= column), len(data))
        yield hashlib.sha256(memoryview(data)[start + len(text) + 1 : end]).hexdigest()


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
        fixed={key: format_canonical(spec[key]) for key in _FIXED if key in spec} if item.kind == XRD else {},
        digest=digest,
    )


def _versions(item: PackagedObject, spec: Mapping[str, Any], schemas: list[str]) -> Iterator[DefinedVersion]:
    listed = spec.get("versions")
    if listed is None and item.api_version == _OLD_CRD:
        listed = [
            {"name": _text(spec, "version"), "served": True, "storage": True, **_only(spec, "subresources")}
        ]
    if not isinstance(listed, list) or not listed:
        raise _Unclear("it lists no versions")
    described = [one for one in listed if isinstance(one, dict)]
    with_schema = [one for one in described if "schema" in one]
    if len(described) < len(listed) or len(schemas) not in (len(listed), len(with_schema)):
        raise _Unclear("its versions are no mappings")
    waiting = iter(schemas)
    stored = "referenceable" if item.kind == XRD else "storage"
    for one in described:
        has_own = len(schemas) == len(listed) or "schema" in one
        yield DefinedVersion(
            _text(one, "name"),
            one.get("served") is True,
            one.get(stored) is True,
            one.get("deprecated") is True,
            tuple(key for key in _SUBRESOURCES if key in _mapping({**spec, **one}, "subresources")),
            next(waiting) if has_own else "",
        )


def _only(spec: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {key: spec[key]} if key in spec else {}


def _mapping(within: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = within.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Unclear(f"its {key} is no mapping")
    return value


def _text(within: Mapping[str, Any], key: str, default: str = "") -> str:
    value = within.get(key)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _Unclear(f"its {key} is no text")
    return value
