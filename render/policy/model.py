"""A policy, and the evidence about a package that it is applied to."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum

from render.lean import dataclass, field
from render.overrides import covers
from render.policy.licences import Licence
from render.policy.times import Released
from render.references import DOCKER_HUB, Digest, Source

# All of them answer with the same images.
_DOCKER_HUB = DOCKER_HUB | {"registry-1.docker.io", "registry.hub.docker.com"}
# Between the type of an attestation, which has no space, and its signer.
_BY = " by "


class Rule(StrEnum):
    """The rules of a policy; exceptions and errors name them."""

    SOURCES = "sources"
    LICENCES = "licences"
    AGE = "age"
    PROVENANCE = "provenance"


class Unknown(StrEnum):
    """What a rule does with a package that it knows too little about."""

    WARN = "warn"
    REFUSE = "refuse"
    ALLOW = "allow"


class Times(StrEnum):
    """Which release times count."""

    CLAIMED = "claimed"
    PROVEN = "proven"


class Required(StrEnum):
    """What signers must have made of a package."""

    SIGNATURE = "signature"
    ATTESTATION = "attestation"


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
class SignerPattern:
    """Signers that are believed: one by its key, or all whose names in a certificate fit."""

    # The fingerprint, as it is written in locks.
    key: str = ""
    # The key itself, where it was given.
    pem: str = ""
    issuer: str = ""
    # A star stands for any text.
    subject: str = ""

    def fits(self, signer: str) -> bool:
        """Return whether a signer is one of these, in the words of a lock."""
        if self.key:
            return signer == self.key
        issuer, _, subject = signer.partition(" ")
        return issuer == self.issuer and fits_pattern(self.subject, subject)

    def __str__(self) -> str:
        return self.key or f"{self.issuer} {self.subject}"


def fits_pattern(pattern: str, text: str) -> bool:
    """Return whether a text fits a pattern, in which a star stands for any text; both are compared from end to end."""
    first, *others = pattern.split("*")
    if not others:
        return text == pattern
    if not text.startswith(first) or not text.endswith(others[-1]):
        return False
    rest = text[len(first) :]
    for part in others[:-1]:
        found = rest.find(part)
        if found < 0:
            return False
        rest = rest[found + len(part) :]
    return len(rest) >= len(others[-1])


@dataclass(frozen=True, slots=True)
class ProvenanceRule:
    """Who must have signed a package, or attested something about it."""

    signers: tuple[SignerPattern, ...]
    require: Required = Required.SIGNATURE
    # Types of attestations, of which one is enough; without any, every type is.
    predicates: tuple[str, ...] = ()


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
    provenance: ProvenanceRule | None = None
    exceptions: tuple[ExceptionEntry, ...] = ()

    @property
    def name(self) -> str:
        """The policy as errors name it."""
        return self.author or self.file

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that it has."""
        given = {
            Rule.SOURCES: self.sources,
            Rule.LICENCES: self.licences,
            Rule.AGE: self.age,
            Rule.PROVENANCE: self.provenance,
        }
        return tuple(rule for rule, value in given.items() if value is not None)

    @property
    def needs_signatures(self) -> bool:
        """Whether it asks who signed a package, or since when a log has a signature of it."""
        return self.provenance is not None or self.needs_proven_times

    @property
    def needs_proven_times(self) -> bool:
        """Whether it asks since when a log has a signature."""
        return self.age is not None and self.age.times is Times.PROVEN

    def excepts(self, rule: Rule, source: Source, *versions: str | None) -> bool:
        """Return whether an exception of this policy is about this rule and this package."""
        return any(one.covers(rule, source, *versions) for one in self.exceptions)


@dataclass(frozen=True, slots=True)
class SignedBy:
    """Who provably signed a package, in the words of a lock, and what was attested."""

    signer: str
    # Empty for a plain signature.
    predicate: str = ""

    @classmethod
    def of_attestation(cls, text: str) -> "SignedBy":
        """Return the signer of an attestation, in the words of a lock."""
        predicate, _, signer = text.partition(_BY)
        return cls(signer, predicate)

    def __str__(self) -> str:
        return f"{self.predicate}{_BY}{self.signer}" if self.predicate else self.signer


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known about the bytes of a package."""

    # In the package's own words; None, if it says nothing.
    licence: str | None = None
    # As the package claims it, and since when a log proves it.
    released: Released | None = None
    proven: Released | None = None
    signed_by: tuple[SignedBy, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A package that a policy judges."""

    source: Source
    # The tag, if it has one.
    tag: str | None
    digest: Digest
    evidence: Evidence = Evidence()

    @property
    def version(self) -> str:
        """The tag, or the digest without one."""
        return self.tag or self.digest

    def __str__(self) -> str:
        return f"{self.source} {self.version}"


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
    """Return whether a source is at or below one of these prefixes, by whichever name of Docker Hub."""
    names = _DOCKER_HUB if source.registry in _DOCKER_HUB else (source.registry,)
    same = [Source(name, source.repository) for name in names]
    return any(covers(prefix, one) for prefix in prefixes for one in same)
