"""Errors about versions and packages that do not exist: who asks for them, and which ones were probably meant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from render.commands import LockCall
from render.errors import RenderError
from render.nearest import nearest_sources, nearest_tags, on_nearest_hosts
from render.references import GONE_REGISTRY, Digest, Source
from render.resolve.model import COMMAND_LINE, Candidate
from render.texts import first_names
from render.versions.semantic import order_candidates

_SHOWN_VERSIONS = 6


class MissingVersion(RenderError):
    """A tag or digest that a repository does not have."""


class LostBytes(RenderError):
    """Locked bytes that a registry no longer has."""


@dataclass(frozen=True, slots=True)
class Askers:
    """Who asks for a source: the places of the user's requests, and packages."""

    places: tuple[str, ...] = ()
    packages: tuple[Source, ...] = ()

    @property
    def lines(self) -> list[str]:
        """Who asks, one line each."""
        asked = [f"{place} asks for it" for place in self.places]
        return asked + [f"{dependant} requires it" for dependant in self.packages]

    @property
    def editable(self) -> str:
        """Where the user can write something else, behind a sentence; empty, if only packages ask."""
        return f" ({' and '.join(self.places)})" if self.places else ""


def missing_tag(
    source: Source, tag: str, tags: Sequence[str], askers: Askers, call: LockCall, error: RenderError
) -> MissingVersion:
    """Return the error for a tag that does not exist."""
    near = nearest_tags(tag, tags)
    what = f"{source} has no version {tag}"
    # A registry has said the same, and a layout names itself.
    said = [] if error.what == what else [error.what]
    return MissingVersion(
        what,
        why=[*askers.lines, *said, _existing(near, "the nearest that it has: ")],
        next=[*_meant(source, near[:1], askers, call)] or error.next,
    )


def missing_digest(
    source: Source,
    candidate: Candidate,
    tags: Sequence[str],
    carried: Digest | None,
    askers: Askers,
    error: RenderError,
) -> MissingVersion:
    """Return the error for a digest that does not exist; `carried` is the digest that its tag has."""
    versions = [version.text for version in reversed(order_candidates(tags))]
    other = [f"{candidate.tag} has the digest {carried}"] if carried else []
    write = f"write {source}:{candidate.tag}@{carried}, if you trust these bytes" if carried else ""
    return MissingVersion(
        f"{source} has no package with the digest {candidate.digest}",
        why=[*askers.lines, error.what, *other, _existing(versions)],
        next=f"{write or 'correct the digest, or write a version'}{askers.editable}",
    )


def lost_bytes(
    source: Source, candidate: Candidate, digest: Digest, askers: Askers, call: LockCall, error: RenderError
) -> LostBytes:
    """Return the error for a locked digest that does not exist any more."""
    return LostBytes(
        f"{source} {candidate} cannot be fetched as it was locked",
        why=[f"it is locked to {digest}", error.what, *askers.lines],
        next=f"find out why; to take what is there now: {call.upgrading(str(source))}",
    )


def spelled_nearly(source: Source, known: Iterable[Source], askers: Askers) -> list[str]:
    """Return advice on a source that does not exist, if the user asks for it."""
    near = nearest_sources(source, known) if askers.places else []
    return [f"did you mean {other}?{askers.editable}" for other in near]


def hosted_nearly(source: Source, known: Iterable[Source], askers: Askers) -> list[str]:
    """Return advice on a source whose host does not answer, if the user asks for it."""
    near = on_nearest_hosts(source, known) if askers.places else []
    return [f"did you mean {other}?{askers.editable}" for other in near]


def on_gone_host(source: Source, askers: Askers) -> list[str]:
    """Return advice on a source of the registry of Packages v1, which is gone."""
    if source.registry != GONE_REGISTRY:
        return []
    return [
        f"{GONE_REGISTRY} is gone: write the registry that has the package today{askers.editable}",
        "if an ImageConfig of the cluster rewrites it, say so in xplock.yaml:",
        "rewrites:",
        f"- {{from: {GONE_REGISTRY}, to: registry/organisation}}",
    ]


def _existing(versions: Sequence[str], start: str = "it has ") -> str:
    if not versions:
        return "it has no version that can be installed"
    return f"{start}{first_names(versions, _SHOWN_VERSIONS)}"


def _meant(source: Source, near: Sequence[str], askers: Askers, call: LockCall) -> list[str]:
    written = Askers(tuple(place for place in askers.places if place != COMMAND_LINE))
    lines = [f"did you mean {tag}?{written.editable}" for tag in near if written.places]
    if COMMAND_LINE in askers.places:
        lines += [f"did you mean {tag}? {call.upgrading(str(source), tag)}" for tag in near]
    return lines
