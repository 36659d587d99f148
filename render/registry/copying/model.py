"""What is copied, and the two ends that it is copied between."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias, TypeVar

from render.references import Digest, Reference, Source
from render.registry.oci import Content, Descriptor

Item = TypeVar("Item")
Result = TypeVar("Result")

# Opens a blob for one attempt to copy it.
Reader: TypeAlias = Callable[[], AbstractContextManager[Iterator[bytes]]]


class Role(StrEnum):
    """Why a manifest is copied."""

    IMAGE = "image"
    CHILD = "child"
    # Found by a tag that names the digest of its image: sha256-<hex>.sig
    ATTACHED = "attached"
    # Found by its own field `subject`.
    REFERRER = "referrer"


@dataclass(frozen=True, slots=True)
class Part:
    """One manifest or index of an image, or of what is attached to it."""

    content: Content
    role: Role
    # Its configuration and its layers.
    blobs: tuple[Descriptor, ...] = ()
    # The tag of something attached, and the digest that a referrer refers to.
    tag: str | None = None
    subject: Digest | None = None
    # The kind of thing that is attached, as its manifest says it.
    artifact_type: str = ""

    @property
    def digest(self) -> Digest:
        """The digest of the manifest."""
        return self.content.digest


@dataclass(frozen=True, slots=True)
class Tree:
    """An image with all its parts, in the order in which they are pushed: its own manifest after everything in it."""

    image: Part
    attached: tuple[Part, ...] = ()
    children: tuple[Part, ...] = ()
    referrers: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """All parts in that order."""
        return (*self.attached, *self.children, self.image, *self.referrers)


@dataclass(frozen=True, slots=True)
class Job:
    """One image to copy."""

    # Its source as manifests name it, and the one that it is fetched from.
    source: Source
    place: Source
    digest: Digest
    # The repository at the destination.
    target: Source
    # The version tag that it gets; if that names something else, an error, or for a lax one the tag of its digest.
    tag: str | None = None
    lax: bool = False

    @property
    def own_tag(self) -> str:
        """The tag of an image without a version: no version parser takes it for one, and no signature has it."""
        return f"xplock-{self.digest.removeprefix('sha256:')[:12]}"


class Way(StrEnum):
    """How a blob got to its destination."""

    COPIED = "copied"
    MOUNTED = "mounted"
    THERE = "there"


@dataclass(slots=True)
class Report:
    """What happened to one image, or what would."""

    job: Job
    # Its tag at the destination, and whether that named it before.
    tag: str = ""
    named: bool = False
    tree: Tree | None = None
    # Manifests and blobs that the destination lacks; the bytes of those that were copied, or would be.
    missing: list[str] = field(default_factory=list)
    bytes: int = 0
    # The sizes of the manifests that it lacks.
    put: Mapping[Digest, int] = field(default_factory=dict)
    # The blobs that would be copied.
    lacking: Sequence[Descriptor] = ()
    blobs: dict[Way, int] = field(default_factory=lambda: dict.fromkeys(Way, 0))
    manifests: int = 0
    notes: list[str] = field(default_factory=list)


def count_bytes(reports: Iterable[Report], *, in_one_place: bool) -> None:
    """Add the bytes of manifests, and of blobs that would be copied, each once.

    The next repository gets a blob from the first one; it needs manifests of its own, unless all are `in_one_place`.
    """
    counted: set[tuple[Source | None, Digest]] = set()
    for report in reports:
        place = None if in_one_place else report.job.target
        sizes = [(None, blob.digest, blob.size) for blob in report.lacking]
        for where, digest, size in (*sizes, *((place, *one) for one in report.put.items())):
            report.bytes += 0 if (where, digest) in counted else size
            counted.add((where, digest))


class Origin(Protocol):
    """Where images come from."""

    def tags(self, source: Source) -> Sequence[str]: ...
    def content(self, reference: Reference) -> Content: ...
    def referrers(self, source: Source, digest: Digest, tags: Sequence[str]) -> Sequence[Digest]: ...
    def stream(self, source: Source, descriptor: Descriptor) -> AbstractContextManager[Iterator[bytes]]: ...


class Destination(Protocol):
    """Where images go. `name` is a tag or a digest."""

    def find(self, source: Source, name: str) -> Digest | None: ...
    def content(self, source: Source, name: str) -> Content | None: ...
    def referrers(self, source: Source, digest: Digest) -> Sequence[Digest]: ...
    def has_blob(self, source: Source, descriptor: Descriptor, *, deep: bool) -> bool: ...
    def put_blob(self, source: Source, descriptor: Descriptor, read: Reader) -> Way: ...
    def put_manifest(self, source: Source, content: Content, tag: str | None) -> bool: ...


class Mapped(Protocol):
    """The builtin `map`, or one that works in parallel and keeps the order."""

    def __call__(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterable[Result]: ...
