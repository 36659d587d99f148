"""Roots and requests: what the user and the packages ask for."""

from collections.abc import Iterable, Mapping, Sequence

from render.crd_dependencies import CrdRequest
from render.lean import dataclass, field, replace
from render.packages import Kind
from render.references import Digest, Source
from render.versions.constraints import ANY, Constraint
from render.versions.version import parse_candidate


@dataclass(frozen=True, slots=True)
class Request:
    """The versions that are accepted: one tag, one digest, both, or a constraint."""

    constraint: Constraint | None = None
    tag: str | None = None
    digest: Digest | None = None

    @classmethod
    def of(cls, constraint: Constraint) -> "Request":
        """Return the request that a dependency's constraint makes."""
        return cls(digest=constraint.digest) if constraint.digest else cls(constraint)

    def __str__(self) -> str:
        exact = "@".join(part for part in (self.tag, self.digest) if part)
        return exact or (self.constraint.text if self.constraint else "any version")

    @property
    def exact(self) -> bool:
        """Whether only one tag or digest can answer it."""
        return self.tag is not None or self.digest is not None

    @property
    def only_tag(self) -> str | None:
        """The only tag that can answer it, if it is known without the list of tags."""
        if self.exact:
            return self.tag if self.digest is None else None
        version = parse_candidate(self.constraint.text) if self.constraint else None
        return version.text if version else None


@dataclass(frozen=True, slots=True)
class Root:
    """A package that the user asks for."""

    source: Source
    request: Request
    # The file and the field that ask for it.
    place: str
    # The name and the kind of the object, if the user gave them.
    name: str | None = None
    kind: Kind | None = None
    # Everything else in the user's manifest, kept as it is.
    fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_manifest(self) -> bool:
        """Whether the user wrote the manifest of the object, and did not only ask for the package."""
        # An install object names no kind: that is the one of the package.
        return self.name is not None and (self.kind is not None or bool(self.fields))


@dataclass(frozen=True, slots=True)
class CrdRoot:
    """CRDs that the user asks for; the package that defines them is found when the folder is locked."""

    crd: CrdRequest
    # The file and the field that ask for them.
    place: str
    # The accepted versions of the package, whichever it is.
    constraint: Constraint = ANY
    # As of a root: the name of the object, and everything else in the user's manifest.
    name: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


def answer_roots(
    roots: Iterable[Root],
    crd_roots: Iterable[CrdRoot],
    answers: Mapping[CrdRequest, Sequence[Source]],
    kinds: Mapping[Source, Kind],
) -> tuple[Root, ...]:
    """Return the roots with the packages that answer CRD roots; a package that is asked for by name stays as it is."""
    found = {root.source: root for root in roots}
    named = set(found)
    for one in sorted(crd_roots, key=lambda one: (one.name is None, one.name or "", one.crd)):
        for source in answers.get(one.crd, ()):
            if source not in named:
                root = _answered(one, source, kinds.get(source))
                found[source] = _joined(found[source], root) if source in found else root
    return tuple(sorted(found.values(), key=lambda root: (root.source, root.name or "")))


def _answered(one: CrdRoot, source: Source, kind: Kind | None) -> Root:
    request = Request.of(one.constraint) if one.constraint != ANY else Request()
    return Root(source, request, one.place, one.name, kind if one.name else None, one.fields)


def _joined(first: Root, second: Root) -> Root:
    # The constraint of each is an edge of its own; the lock needs one text for the package.
    narrower = first.request if first.request != Request() else second.request
    return replace(first, request=narrower, place=f"{first.place} and {second.place}")
