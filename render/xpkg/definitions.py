"""Definitions: the CRDs, XRDs and MRDs of a package, what is known about each, and the Compositions beside them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from render.digests import sha256_hex
from render.packages import PackagedObject

# Raised whenever facts are worked out in another way: those that an older version kept are not used again.
_FORMAT = 3

CRD, XRD, MRD = "CustomResourceDefinition", "CompositeResourceDefinition", "ManagedResourceDefinition"
COMPOSITION = "Composition"

# The fields of a definition that are plain text, in the order in which they are stored.
_TEXTS = (
    *("group", "kind", "plural", "singular", "claim_kind", "claim_plural"),
    *("scope", "conversion", "state"),
)


@dataclass(frozen=True, slots=True)
class DefinedVersion:
    """A version of a definition."""

    name: str
    served: bool
    # Whether objects are stored in it; of an XRD: whether Compositions refer to it.
    storage: bool
    deprecated: bool = False
    # `status` and `scale`, if it has them.
    subresources: tuple[str, ...] = ()
    # The digest of its schema without descriptions. Equal digests are equal schemas; different ones may be, too.
    schema: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """What is known about a definition without parsing its schemas."""

    item: PackagedObject
    group: str = ""
    # The kind, plural and singular that it defines.
    kind: str = ""
    plural: str = ""
    singular: str = ""
    # Only an XRD has claims.
    claim_kind: str = ""
    claim_plural: str = ""
    # With the default of its apiVersion, where it names none.
    scope: str = ""
    conversion: str = "None"
    # Of an MRD: whether it is installed active.
    state: str = ""
    versions: tuple[DefinedVersion, ...] = ()
    # Names, and fields of an XRD that Crossplane never lets change or allows in one scope only, as canonical texts.
    fixed: Mapping[str, str] = field(default_factory=dict)
    # The digest of its text from the line `spec:` on.
    digest: str = ""
    # Why the rest is unknown, if it is.
    problem: str = ""

    @property
    def name(self) -> str:
        """The name of the definition, `<plural>.<group>`."""
        return self.item.name


@dataclass(frozen=True, slots=True)
class Composition:
    """A Composition, and the composite resource it is for."""

    item: PackagedObject
    composite_api_version: str = ""
    composite_kind: str = ""
    digest: str = ""


class Definitions(NamedTuple):
    """The definitions and Compositions of a package, in their order."""

    definitions: tuple[Definition, ...] = ()
    compositions: tuple[Composition, ...] = ()

    @property
    def digest(self) -> str:
        """The digest of the sorted list of names and digests, which a lock holds; empty without definitions."""
        # The apiVersion of an XRD gives its default scope, and is not part of its text from `spec:` on.
        found: list[Definition | Composition] = [*self.definitions, *self.compositions]
        lines = sorted(
            f"{one.item.api_version} {one.item.kind} {one.item.name} {one.digest}\n" for one in found
        )
        return "sha256:" + sha256_hex("".join(lines)) if lines else ""

    def format(self) -> bytes:
        """Write the facts, to be stored."""
        return json.dumps(
            {
                "format": _FORMAT,
                "definitions": [_format_definition(one) for one in self.definitions],
                "compositions": [
                    [*_identity(one.item), one.composite_api_version, one.composite_kind, one.digest]
                    for one in self.compositions
                ],
            },
            separators=(",", ":"),
        ).encode()


def parse_definitions(data: bytes) -> Definitions | None:
    """Read stored facts; None if they are damaged, or of a version that worked out others."""
    try:
        facts = json.loads(data)
        if facts["format"] != _FORMAT:
            return None
        return Definitions(
            tuple(_parse_definition(*entry) for entry in facts["definitions"]),
            tuple(
                Composition(PackagedObject(*map(_text, entry[:3])), *map(_text, entry[3:]))
                for entry in facts["compositions"]
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _identity(item: PackagedObject) -> list[str]:
    return [item.api_version, item.kind, item.name]


def _format_definition(one: Definition) -> list[Any]:
    texts = [getattr(one, name) for name in _TEXTS]
    versions = [
        [v.name, v.served, v.storage, v.deprecated, list(v.subresources), v.schema] for v in one.versions
    ]
    return [_identity(one.item), texts, versions, dict(one.fixed), one.digest, one.problem]


def _parse_definition(
    item: Iterable[Any], texts: Iterable[Any], versions: Any, fixed: Any, digest: Any, problem: Any
) -> Definition:
    names = dict(zip(_TEXTS, map(_text, texts), strict=True))
    return Definition(
        PackagedObject(*map(_text, item)),
        versions=tuple(_parse_version(*entry) for entry in versions),
        fixed={_text(key): _text(value) for key, value in fixed.items()},
        digest=_text(digest),
        problem=_text(problem),
        **names,
    )


def _parse_version(
    name: Any, served: Any, storage: Any, deprecated: Any, subresources: Any, schema: Any
) -> DefinedVersion:
    flags = bool(served), bool(storage), bool(deprecated)
    return DefinedVersion(_text(name), *flags, tuple(map(_text, subresources)), _text(schema))


def _text(item: Any) -> str:
    if not isinstance(item, str):
        raise TypeError
    return item


def definitions_of(found: Iterable[Definition | Composition]) -> Definitions:
    """Return definitions and Compositions apart."""
    items = tuple(found)
    return Definitions(
        tuple(one for one in items if isinstance(one, Definition)),
        tuple(one for one in items if isinstance(one, Composition)),
    )
