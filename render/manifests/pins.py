"""Pins: ImageConfigs that make Crossplane pull every locked tag by its locked digest."""

from collections.abc import Iterator, Mapping, Sequence

from render.digests import sha256_hex
from render.errors import InvalidInput
from render.lean import Any, dataclass
from render.lock.model import LockedPackage, pin_places
from render.manifests.sync_annotations import EARLY, SYNC_WAVE
from render.mirrors import Mirror
from render.names import dns_label
from render.references import Digest, InvalidReference, Source, parse_reference
from render.rewrites import InvalidRewrite, Rewrite, Rewrites
from render.texts import first_lines


class Locations:
    """The repositories that tags are pulled from, after rewrites; each is checked once."""

    def __init__(self, rewrites: Sequence[Rewrite], mirror: Mirror | None = None) -> None:
        self._rewrites = Rewrites(rewrites)
        self._mirror = mirror
        self._checked: set[str] = set()

    def exact(self, text: str) -> Rewrite | None:
        """Return the rewrite whose prefix is the whole reference."""
        return self._rewrites.exact(text)

    def find(self, source: Source, tag: str) -> tuple[str, str]:
        """Return the reference that is pulled for a tag of a source, and its repository."""
        if self._mirror:
            place = str(self._mirror.place(source))
            return f"{place}:{tag}", place
        text = f"{source}:{tag}"
        rewrite = self._rewrites.find(text)
        if rewrite is None:
            return text, str(source)
        pulled = rewrite.apply(text)
        location = pulled.removesuffix(f":{tag}")
        return pulled, location if location in self._checked else self._check(rewrite, text, pulled)

    def _check(self, rewrite: Rewrite, text: str, pulled: str) -> str:
        try:
            reference = parse_reference(pulled)
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, text, error) from None
        # In the spelling of the rewrite, since other ImageConfigs are compared with that text.
        location = pulled.partition("@")[0].removesuffix(f":{reference.tag}")
        self._checked.add(location)
        return location


IMAGE_CONFIG = ("pkg.crossplane.io/v1beta1", "ImageConfig")

_HASH_PART = 8
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Pin:
    """A source and tag that are rewritten to a digest."""

    name: str
    # Source and tag, as in spec.package.
    prefix: str
    # The reference that would be pulled without the pin, and its repository.
    pulled: str
    location: str
    digest: Digest

    @property
    def target(self) -> str:
        """The reference that is pulled because of the pin."""
        return f"{self.location}@{self.digest}"


class ContestedPins(InvalidInput):
    """The user's rewrites for the same prefix as a pin."""

    def __init__(self, contests: Sequence[tuple[Rewrite, Pin]]) -> None:
        lines = [
            f"{rewrite.place} rewrites {rewrite.prefix} to {rewrite.replacement}, its pin rewrites it to {pin.target}"
            for rewrite, pin in contests
        ]
        super().__init__(
            "a rewrite and a pin have the same prefix, and Crossplane uses either one",
            why=first_lines(lines, _SHOWN),
            next=[
                "shorten the prefix of the rewrite so that it ends before the tag, or remove the rewrite;",
                "or request the package by its digest, which needs no pin",
            ],
        )


def find_pins(
    packages: Sequence[LockedPackage], rewrites: Sequence[Rewrite], mirror: Mirror | None = None
) -> list[Pin]:
    """Return the pins of all locked versions, then the kept pins; with a mirror, all of them lead there."""
    locations = Locations(rewrites, mirror)
    current = [_current_pin(package, locations) for package in packages if not package.by_digest]
    contests = [(rewrite, pin) for pin in current if (rewrite := _contest(pin, locations))]
    if contests:
        raise ContestedPins(contests)
    found = {pin.prefix: pin for pin in current}
    for pin in (pin for package in packages for pin in _kept_pins(package, locations)):
        # A user's rewrite wins over a kept pin: it may be there because a user followed the advice above.
        if not _contest(pin, locations):
            found.setdefault(pin.prefix, pin)
    return list(found.values())


def render_pin(pin: Pin) -> dict[str, Any]:
    """Return the ImageConfig of a pin."""
    return image_config(pin.name, pin.prefix, {"rewriteImage": {"prefix": pin.target}})


def image_config(name: str, prefix: str, purposes: Mapping[str, Any]) -> dict[str, Any]:
    """Return an ImageConfig for one prefix."""
    return {
        "apiVersion": IMAGE_CONFIG[0],
        "kind": IMAGE_CONFIG[1],
        "metadata": {"name": name, "annotations": {SYNC_WAVE: EARLY}},
        "spec": {"matchImages": [{"type": "Prefix", "prefix": prefix}], **purposes},
    }


def _current_pin(package: LockedPackage, locations: Locations) -> Pin:
    installed, source = package.cluster_source, package.source
    return _pin(package.object_name, installed, source, package.version, package.digest, locations)


def _kept_pins(package: LockedPackage, locations: Locations) -> Iterator[Pin]:
    for kept in package.kept_pins:
        installed, source = pin_places(package, kept)
        yield _pin(package.object_name, installed, source, kept.tag, kept.digest, locations)


def _pin(name: str, installed: Source, source: Source, tag: str, digest: Digest, locations: Locations) -> Pin:
    """Return the pin of `installed:tag` to the digest in `source`; the two differ for a package moved by alias."""
    prefix = f"{installed}:{tag}"
    marked = sha256_hex(prefix)[:_HASH_PART]
    full = f"xplock-{name}-{dns_label(tag)}-{marked}"
    return Pin(full, prefix, *locations.find(source, tag), digest)


def _contest(pin: Pin, locations: Locations) -> Rewrite | None:
    """Return a rewrite that Crossplane could use instead of the pin, unless both have the same result."""
    own = locations.exact(pin.prefix)
    return own if own and own.replacement != pin.target else None
