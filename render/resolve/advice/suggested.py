"""Edits that a second search has shown to help, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from render.crd_dependencies import CrdRequest
from render.references import Source


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Another version in the place of a request."""

    place: str
    source: Source
    version: str
    # Whether the place only says which versions of the package are accepted.
    accepts: bool = False

    def __str__(self) -> str:
        wanted = f"{self.source} {self.version}"
        asked = f"accept {wanted}" if self.accepts else f"ask for {wanted} instead"
        return f"{asked}, which suits everyone ({self.place})"


@dataclass(frozen=True, slots=True)
class OtherApiVersion:
    """Other API versions in the place of one that nothing suitable serves."""

    place: str
    crd: CrdRequest
    served: tuple[str, ...]
    # The package that serves them.
    source: Source
    version: str

    def __str__(self) -> str:
        named = f"{self.crd.name}.{self.crd.group}"
        return f"ask for {' or '.join(self.served)} of {named} instead, as {self.source} {self.version} serves ({self.place})"


@dataclass(frozen=True, slots=True)
class ProvidedInstead:
    """Another version of a package that another folder provides."""

    folder: str
    source: Source
    version: str

    def __str__(self) -> str:
        return f"lock {self.source} {self.version} in {self.folder} first, which suits everyone here"


@dataclass(frozen=True, slots=True)
class CorrectedCommand:
    """Versions of the command line that a second search has found to suit everyone, by their sources."""

    versions: Mapping[Source, str]
    # Empty, if all that it would do is to keep what is locked.
    command: str = ""

    def __str__(self) -> str:
        several = len(self.versions) > 1
        if not self.command:
            locked = "versions are" if several else f"{next(iter(self.versions.values()))} is"
            return f"leave -P out: the locked {locked} the highest that {'suit' if several else 'suits'} everyone"
        if several:
            named = ", ".join(f"{source} {version}" for source, version in self.versions.items())
            return f"the highest versions that suit everyone are {named}: {self.command}"
        [version] = self.versions.values()
        return f"the highest version that suits everyone is {version}: {self.command}"


Advised: TypeAlias = Suggestion | OtherApiVersion | ProvidedInstead | CorrectedCommand
