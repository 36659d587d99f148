"""Values of a diagnosis: the known states, what an object complains about, and a finding."""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

# Kind and name of an object that has no namespace.
ObjectKey: TypeAlias = tuple[str, str]


class State(Enum):
    """The states in which packages get stuck, in the order of diagnosis: one further up explains those below."""

    POISONED = "poisoned-lock"
    STALE = "stale-entry"
    BROKEN = "broken-entry"
    TAGGED = "tag-in-source"
    CYCLE = "cycle"
    NOT_PULLED = "not-pulled"
    WAITS = "waits-for-another"
    WRONG_CROSSPLANE = "wrong-crossplane"
    WRONG_CONTENT = "wrong-content"
    NAME_TAKEN = "name-taken"
    NOTHING_FITS = "nothing-fits"
    WRONG_VERSION = "wrong-version"
    DIGEST = "digest-under-semver"
    CONTROL = "controlled-by-another"
    REFUSED_DEFINITION = "refused-definition"
    WEBHOOK = "webhook-certificate"
    RUNTIME = "runtime"
    FOLLOWS = "not-healthy-yet"
    CONVERSION = "conversion-webhook"
    SILENT = "nothing-said"
    PAUSED = "paused"
    SWITCHED_OFF = "switched-off"
    NEVER_APPLIED = "config-never-applied"
    FOREIGN_REVISION = "revision-not-ours"
    DELETION = "deletion-hangs"
    INACTIVE_KINDS = "inactive-kinds"
    # No known text; it is quoted.
    UNKNOWN = "unknown"

    @property
    def number(self) -> int:
        """Its place in the order."""
        return list(State).index(self) + 1


@dataclass(frozen=True, slots=True)
class Trouble:
    """A condition by which an object says that something is wrong."""

    object: ObjectKey
    # The package that it belongs to.
    package: ObjectKey
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, the object to touch, and what follows from it."""

    state: State
    what: str
    why: tuple[str, ...] = ()
    touch: ObjectKey | None = None
    # Commands to paste, in order.
    run: tuple[str, ...] = ()
    # The danger, if there is one, and what happens then.
    care: str = ""
    then: str = ""
    # Everything that it is about.
    objects: tuple[ObjectKey, ...] = ()
    # What it explains, its own complaint included.
    troubles: tuple[Trouble, ...] = ()
    # Whether anything waits for a person; else it is a note.
    is_stuck: bool = True

    @property
    def consequences(self) -> list[ObjectKey]:
        """The packages that complain because of it, sorted; those that it is about are left out."""
        return sorted({trouble.package for trouble in self.troubles} - set(self.objects))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that was found, causes first, and which objects were not given."""

    findings: tuple[Finding, ...]
    # What cannot be seen, a line each.
    missing: tuple[str, ...] = ()
    packages: int = 0
    revisions: int = 0

    @property
    def stuck(self) -> list[Finding]:
        """The findings that wait for a person."""
        return [finding for finding in self.findings if finding.is_stuck]
