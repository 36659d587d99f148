"""Findings about definitions, and what a comparison returns: every finding, and every package it could not compare."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from render.definitions.rules import RISKS, Risk
from render.lean import dataclass, field
from render.packages import PackagedObject
from render.references import Digest, Source
from render.xpkg.definitions import Definitions


@dataclass(frozen=True, slots=True)
class Finding:
    """A difference between two definitions of one name, by one rule."""

    # A name of RULES.
    rule: str
    risk: Risk
    # The name of the definition or Composition, and its kind: CustomResourceDefinition and so on.
    definition: str
    kind: str
    # The API version that it is about, and the place in its schema: `.spec.forProvider.rules[].port`; either may be
    # empty.
    version: str = ""
    path: str = ""
    # What was there and what is there now, as short texts; empty for nothing.
    before: str = ""
    after: str = ""
    # The source of the package that brings the definition now, or of the one that brought it.
    package: str = ""
    # The versions of that package before and after; empty where there is none.
    from_version: str = ""
    to_version: str = ""
    # What follows from it in this case, where that is more than the meaning of the rule: a clause without a full stop.
    detail: str = ""


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A package whose definitions could not be compared in full, and why."""

    package: str
    version: str
    reason: str
    # The definition that could not be read, if it is about one.
    definition: str = ""
    # Whether its content could not be had: `lock` with network or `mirror` brings it.
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """The findings, the worst first, and what is unknown."""

    findings: tuple[Finding, ...] = ()
    not_compared: tuple[NotCompared, ...] = ()

    @property
    def worst(self) -> Risk | None:
        """The worst class that was found."""
        return min((one.risk for one in self.findings), key=RISKS.index, default=None)

    def at_least(self, risk: Risk) -> tuple[Finding, ...]:
        """Return the findings of a class and of the worse ones."""
        return tuple(one for one in self.findings if RISKS.index(one.risk) <= RISKS.index(risk))


class DefinitionContent(Protocol):
    """What a comparison asks about packages: by digest, and only if digests in the locks differ.

    Either raises a RenderError where it cannot be had; the package is then one that is not compared.
    """

    def facts(self, source: Source, digest: Digest) -> Definitions:
        """Return the facts about the definitions of a package."""
        ...

    def documents(
        self, source: Source, digest: Digest, wanted: frozenset[PackagedObject]
    ) -> Iterator[tuple[PackagedObject, bytes]]:
        """Yield the text of some objects of a package, each as it is read."""
        ...


@dataclass(frozen=True, slots=True)
class LiveDefinition:
    """What only the cluster knows about a definition."""

    # `status.storedVersions` of its CRD; None if no CRD of that name was given.
    stored_versions: tuple[str, ...] | None = None
    # Whether it is an MRD that was never activated, so that it has no CRD.
    is_inactive: bool = False
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class LiveDefinitions:
    """The definitions of a cluster by name, and the kinds that were read: one of another kind is unknown."""

    definitions: Mapping[str, LiveDefinition] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings in their order: the worst first, then by rule, path and name."""
    return tuple(sorted(findings, key=_order))


def _order(one: Finding) -> tuple[int | str, ...]:
    place = one.path, one.definition, one.version, one.before, one.after
    return RISKS.index(one.risk), one.rule, *place, one.package, one.kind
