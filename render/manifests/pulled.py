"""A lock → every image that its rendered manifests can make Crossplane pull."""

from collections.abc import Iterable, Iterator

from render.lean import dataclass
from render.lock.model import LockedPackage, pin_places
from render.references import Digest, Source


@dataclass(frozen=True, slots=True)
class PulledImage:
    """One image, by the source that it is pulled from where there is no rewrite."""

    source: Source
    digest: Digest
    # The version that it has or had.
    tag: str | None
    # Whether it is installed now; the pin of an earlier version may have lost its tag.
    current: bool


def find_pulled(packages: Iterable[LockedPackage], *, pinned: bool) -> Iterator[PulledImage]:
    """Yield the images of active and leaving packages; `pinned`, if pins are rendered."""
    for package in packages:
        yield _installed(package, pinned=pinned)
        # Without pins the tags of earlier versions are not rendered.
        for pin in package.kept_pins if pinned else ():
            yield PulledImage(pin_places(package, pin)[1], pin.digest, pin.tag, current=False)


def _installed(package: LockedPackage, *, pinned: bool) -> PulledImage:
    if package.by_digest:
        return PulledImage(package.cluster_source, package.digest, package.tag, current=False)
    # A pin leads to the source of the bytes, which differs from the one in the manifest after a move by alias.
    source = package.source if pinned else package.cluster_source
    return PulledImage(source, package.digest, package.version, current=True)
