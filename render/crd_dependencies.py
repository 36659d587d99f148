"""Dependencies on CRDs: `<plural|singular|kind|*>.<group>[/<version>]`, and the same as a mapping.

Two format documents of Crossplane describe them: packages depend on kinds of objects there, not on other packages.
"""

import re
from collections.abc import Collection
from enum import StrEnum

from render.errors import InvalidInput
from render.lean import dataclass
from render.references import Digest, Source
from render.versions.constraints import ANY, Constraint

GRAMMAR = "<plural|singular|kind|*>.<group>[/<version>]"
EXAMPLE = "buckets.s3.aws.upbound.io/v1beta1"
# Stands for every kind of a group; never for a part of a name.
EVERY_KIND = "*"
MAPPING_KEYS = ("group", "version", "kind")

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_NAME = re.compile(r"[A-Za-z](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
# Kubernetes accepts a group of a CRD only with a dot in it.
_GROUP = re.compile(rf"(?!.{{254}}){_LABEL}(?:\.{_LABEL})+")
_VERSION = re.compile(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?")


class InvalidCrd(InvalidInput):
    """A text that does not name a CRD, or the CRDs of a group."""

    def __init__(self, text: str, why: str, *, meant: str = EXAMPLE) -> None:
        super().__init__(
            f"{text!r} does not name a CRD" if text else "an empty text does not name a CRD",
            why=why,
            next=f"write {GRAMMAR}, such as {meant}",
        )


@dataclass(frozen=True, slots=True, order=True)
class CrdRequest:
    """The CRDs that a package or the user asks for: one kind of a group, or every kind, at a version or at any."""

    group: str
    # The plural, the singular or the kind, in lower case; or `*`.
    name: str
    # An API version that has to be served; without one, any.
    version: str | None = None

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" + (f"/{self.version}" if self.version else "")

    @property
    def is_wildcard(self) -> bool:
        """Whether it asks for every kind of its group."""
        return self.name == EVERY_KIND

    def names(self, group: str, words: Collection[str]) -> bool:
        """Return whether it asks for a definition with this group and these names, at whatever version."""
        return self.group == group and (self.is_wildcard or self.name in {word.lower() for word in words})

    def accepts_version(self, served: Collection[str]) -> bool:
        """Return whether one of the versions that a definition serves will do."""
        return bool(served) if self.version is None else self.version in served


def parse_crd(text: str) -> CrdRequest:
    """Parse the text of a dependency on a CRD."""
    named, slash, version = text.partition("/")
    name, dot, group = named.partition(".")
    if not dot:
        raise InvalidCrd(text, f"{named!r} has no group behind a dot" if named else "it has no name")
    return make_crd(group, version if slash else None, name, text=text)


def make_crd(group: str, version: str | None, name: str, *, text: str = "") -> CrdRequest:
    """Return the request with these parts; an error shows the text that they come from."""
    shown = text or f"{name}.{group}" + (f"/{version}" if version is not None else "")
    folded = group.lower()
    if "*" in group:
        plain = folded.replace("*.", "").replace("*", "")
        meant = f"*.{plain if _GROUP.fullmatch(plain) else EXAMPLE.partition('.')[2]}"
        raise InvalidCrd(shown, "a group holds no *, which stands for every kind of one group", meant=meant)
    if not _GROUP.fullmatch(folded):
        raise InvalidCrd(shown, f"{group!r} is not an API group: a domain name with a dot in it")
    if name != EVERY_KIND and not _NAME.fullmatch(name):
        meant = f"*.{folded}" if "*" in name else EXAMPLE
        star = "; a * stands for the whole name only" if "*" in name else ""
        raise InvalidCrd(shown, f"{name!r} is not the name of a kind{star}", meant=meant)
    if version is not None and not _VERSION.fullmatch(version):
        star = "; leave it out to accept any" if version in ("", "*") else ""
        raise InvalidCrd(shown, f"{version!r} is not an API version{star}", meant=f"{name}.{folded}/v1alpha1")
    return CrdRequest(folded, name.lower(), version)


# In a row of a catalog file, for a kind without a singular.
NO_SINGULAR = "-"
CATALOG_API, CATALOG_KIND = "xplock.dev/v1alpha1", "Catalog"


def asked_crd(crd: CrdRequest, versions: str) -> str:
    """Return a dependency on a CRD as text, with the versions of the package that it accepts."""
    return f"{crd} {versions}" if versions else str(crd)


class AnswerPlace(StrEnum):
    """Where the package that answers a dependency on a CRD was found."""

    # The packages that are there anyway: of the folder, and of the folders that it uses.
    CLOSURE = "closure"
    # The project's catalog; without this dependency the package would not be locked.
    CATALOG = "catalog"


@dataclass(frozen=True, slots=True, order=True)
class CrdAnswer:
    """A package that answers a dependency on a CRD, as a lock holds it."""

    crd: CrdRequest
    source: Source
    place: AnswerPlace = AnswerPlace.CLOSURE
    # The versions of the package that the dependant accepts; empty, if it does not say.
    versions: str = ""

    def __str__(self) -> str:
        return f"{asked_crd(self.crd, self.versions)} by {self.source} ({self.place})"


_REQUIRED = "crd "
_REQUIRER = " (of "


def required_by_crd(crd: CrdRequest, dependant: Source) -> str:
    """Return the line of a package that another one requires for a CRD."""
    return f"{_REQUIRED}{crd}{_REQUIRER}{dependant})"


def requirer_of(text: str) -> str:
    """Return the source in a line about who requires a package: for a CRD, or by its name."""
    return text.rpartition(_REQUIRER)[2].removesuffix(")") if text.startswith(_REQUIRED) else text


@dataclass(frozen=True, slots=True)
class CatalogSource:
    """A source of the project's catalog: where to look for a package that defines a CRD."""

    source: Source
    place: str
    constraint: Constraint = ANY


@dataclass(frozen=True, slots=True, order=True)
class CatalogRow:
    """A line of a catalog file: a kind, and the versions of a source that define it."""

    group: str
    version: str
    kind: str
    source: Source
    # A range of versions of the source.
    versions: str
    # The package that was read for it.
    digest: Digest
    plural: str = ""
    singular: str = ""
    # The file that has it.
    place: str = ""

    @property
    def text(self) -> str:
        """The row as a line of a catalog file."""
        names = [self.group, self.version, self.kind, self.plural, self.singular or NO_SINGULAR]
        return " ".join([*names, str(self.source), self.versions, self.digest])

    def answers(self, crd: CrdRequest) -> bool:
        """Return whether it names what is asked for, at a fitting version."""
        named = crd.names(self.group, (self.kind, self.plural, self.singular))
        return named and crd.accepts_version((self.version,))
