"""What a user's ImageConfig says of a tag, said again of the digest that the tag is pinned to.

Crossplane looks for pull secrets, verification and runtime under the rewritten reference. A prefix that reaches
into the tag does not fit that any more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.lean import Any, TypeAlias
from render.manifests.pins import IMAGE_CONFIG, Pin, image_config

_PURPOSES = ("registry", "runtime", "verification")

# How a prefix goes on behind a location, and what its ImageConfig says there.
_Entry: TypeAlias = tuple[str, Mapping[str, Any]]


def render_companions(pins: Iterable[Pin], passed: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return an ImageConfig for every pin that needs one; of pins to the same bytes the first decides."""
    told = _read(passed)
    decided: set[str] = set()
    for pin in pins:
        if pin.location not in told or pin.target in decided:
            continue
        decided.add(pin.target)
        purposes = dict(_find_purposes(pin, told[pin.location]))
        if purposes:
            yield image_config(f"{pin.name}-c", pin.target, purposes)


def _find_purposes(pin: Pin, entries: Sequence[_Entry]) -> Iterator[tuple[str, Any]]:
    for purpose in _PURPOSES:
        carrying = [entry for entry in entries if _carries(entry[1], purpose)]
        lost = _longest(carrying, pin.pulled[len(pin.location) :])
        # Who speaks of the digest, too, has decided what it gets.
        if lost and not _longest(carrying, pin.target[len(pin.location) :]):
            yield purpose, lost[1][purpose]


def _longest(entries: Sequence[_Entry], end: str) -> _Entry | None:
    fitting = [entry for entry in entries if end.startswith(entry[0])]
    return max(fitting, key=lambda entry: len(entry[0]), default=None)


def _read(passed: Iterable[Mapping[str, Any]]) -> dict[str, list[_Entry]]:
    """Return what ImageConfigs say of single tags and digests, by location."""
    told: dict[str, list[_Entry]] = {}
    for value in passed:
        if (value.get("apiVersion"), value.get("kind")) == IMAGE_CONFIG:
            spec = _mapping(value.get("spec"))
            for location, end in _ends(spec):
                told.setdefault(location, []).append((end, spec))
    return told


def _carries(spec: Mapping[str, Any], purpose: str) -> bool:
    if purpose != "registry":
        return spec.get(purpose) is not None
    authentication = _mapping(_mapping(spec.get(purpose)).get("authentication"))
    return bool(_mapping(authentication.get("pullSecretRef")).get("name"))


def _ends(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the prefixes that go on behind a location, cut there."""
    matches = spec.get("matchImages")
    for match in matches if isinstance(matches, list) else ():
        prefix = _mapping(match).get("prefix")
        if isinstance(prefix, str) and (location := _location(prefix)):
            yield location, prefix[len(location) :]


def _location(prefix: str) -> str:
    location, at, _ = prefix.partition("@")
    return location if at else prefix.rpartition(":")[0]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
