"""A policy, and the evidence about a package that it is applied to."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from render.lean import dataclass, field
from render.overrides import covers
from render.policy.licences import Licence
from render.policy.times import Released
from render.references import Digest, Source


class Rule(StrEnum):
    """The rules of a policy; exceptions and errors name them."""

    SOURCES = "sources"
    LICENCES = "licences"
    AGE = "age"


class Unknown(StrEnum):
    """What a rule does with a package that it knows too little about."""

    WARN = "warn"
    REFUSE = "refuse"
    ALLOW = "allow"


class Times(StrEnum):
    """Which release times count."""

    CLAIMED = "claimed"


@dataclass(frozen=True, slots=True)
class Denied:
    """Sources that are refused, with the reason."""

    prefix: str
    reason: str


@dataclass(frozen=True, slots=True)
class SourceRule:
    """Which sources packages may come from; what is denied is refused even if it is allowed, too."""

    # Empty: all but the denied ones.
    allow: tuple[str, ...] = ()
    deny: tuple[Denied, ...] = ()


@dataclass(frozen=True, slots=True)
class LicenceRule:
    """Which licences packages may have."""

    # By the texts as they are written. Empty: all that are known.
    allow: Mapping[str, Licence] = field(default_factory=dict)
    unknown: Unknown = Unknown.WARN
    # The licences of packages that say nothing, or something wrong.
    clarify: Mapping[Source, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgeRule:
    """How long ago the bytes of a package must have been released."""

    minimum: timedelta
    # As it is written.
    text: str
    times: Times = Times.CLAIMED
    unknown: Unknown = Unknown.REFUSE
    exempt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExceptionEntry:
    """A package that one rule does not apply to, for a reason."""

    source: Source
    rule: Rule
    reason: str
    # A tag or a digest; without one, every version.
    version: str | None = None
    # Its place in the file.
    place: str = ""

    def covers(self, rule: Rule, source: Source, *versions: str | None) -> bool:
        """Return whether it is about this rule and this package, by one of its tag and digest."""
        return (self.rule, self.source) == (rule, source) and self.version in (None, *versions)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one author; a rule that is None allows everything."""

    # The file that holds it, and its author in words.
    file: str
    author: str = ""
    sources: SourceRule | None = None
    licences: LicenceRule | None = None
    age: AgeRule | None = None
    exceptions: tuple[ExceptionEntry, ...] = ()

    @property
    def name(self) -> str:
        """The policy as errors name it."""
        return self.author or self.file

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that it has."""
        given = {Rule.SOURCES: self.sources, Rule.LICENCES: self.licences, Rule.AGE: self.age}
        return tuple(rule for rule, value in given.items() if value is not None)

    def excepts(self, rule: Rule, source: Source, *versions: str | None) -> bool:
        """Return whether an exception of this policy is about this rule and this package."""
        return any(one.covers(rule, source, *versions) for one in self.exceptions)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the bytes of a package."""

    # In the package's own words; None, if it says nothing.
    licence: str | None = None
    released: Released | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A package that a policy judges."""

    source: Source
    # The tag, if it has one.
    tag: str | None
    digest: Digest
    evidence: Evidence = Evidence()

    def __str__(self) -> str:
        return f"{self.source} {self.tag or self.digest}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a rule does not allow a package, or what it has to warn of."""

    policy: Policy
    rule: Rule
    reason: str
    # An edit that would allow it.
    advice: tuple[str, ...] = ()
    refused: bool = True

    def __str__(self) -> str:
        return f"{self.reason} ({self.policy.name}: policy.{self.rule})"


def is_below(prefixes: "tuple[str, ...]", source: Source) -> bool:
    """Return whether a source is at or below one of these prefixes."""
    return any(covers(prefix, source) for prefix in prefixes)
