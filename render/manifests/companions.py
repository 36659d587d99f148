"""Companions: ImageConfigs that repeat a user's settings for a tag under the digest that the tag is pinned to.

Crossplane looks up pull secrets, verification and runtime configs by the rewritten reference. A pin rewrites a tag to
a digest, so a user's ImageConfig whose prefix includes the tag would no longer match.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.lean import Any, TypeAlias
from render.manifests.pins import IMAGE_CONFIG, Pin, image_config

_PURPOSES = ("registry", "runtime", "verification")

# The part of a prefix after the repository (":v1", "@sha256:..."), and the spec of its ImageConfig.
_TagSetting: TypeAlias = tuple[str, Mapping[str, Any]]


def render_companions(
    pins: Iterable[Pin], passthrough: Iterable[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Return an ImageConfig for every pin that needs one; of several pins to the same digest the first counts."""
    settings = _read_tag_settings(passthrough)
    done: set[str] = set()
    for pin in pins:
        if pin.location not in settings or pin.target in done:
            continue
        done.add(pin.target)
        purposes = dict(_find_purposes(pin, settings[pin.location]))
        if purposes:
            yield image_config(f"{pin.name}-c", pin.target, purposes)


def _find_purposes(pin: Pin, settings: Sequence[_TagSetting]) -> Iterator[tuple[str, Any]]:
    """Yield each purpose that matches the tag and would not match the digest, with its value."""
    for purpose in _PURPOSES:
        having = [setting for setting in settings if _has_purpose(setting[1], purpose)]
        lost = _longest_match(having, pin.pulled[len(pin.location) :])
        # A user's own ImageConfig for the digest takes precedence.
        if lost and not _longest_match(having, pin.target[len(pin.location) :]):
            yield purpose, lost[1][purpose]


def _longest_match(settings: Sequence[_TagSetting], suffix: str) -> _TagSetting | None:
    matching = [setting for setting in settings if suffix.startswith(setting[0])]
    return max(matching, key=lambda setting: len(setting[0]), default=None)


def _read_tag_settings(passthrough: Iterable[Mapping[str, Any]]) -> dict[str, list[_TagSetting]]:
    """Return the settings of all ImageConfigs whose prefix includes a tag or digest, by repository."""
    found: dict[str, list[_TagSetting]] = {}
    for value in passthrough:
        if (value.get("apiVersion"), value.get("kind")) == IMAGE_CONFIG:
            spec = _mapping(value.get("spec"))
            for location, suffix in _split_prefixes(spec):
                found.setdefault(location, []).append((suffix, spec))
    return found


def _has_purpose(spec: Mapping[str, Any], purpose: str) -> bool:
    if purpose != "registry":
        return spec.get(purpose) is not None
    authentication = _mapping(_mapping(spec.get(purpose)).get("authentication"))
    return bool(_mapping(authentication.get("pullSecretRef")).get("name"))


def _split_prefixes(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield repository and suffix of every prefix that includes a tag or digest."""
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
