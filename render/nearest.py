"""Which version or source was probably meant, where the one that was written does not exist."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches

from render.references import Source
from render.versions.semantic import order_candidates
from render.versions.version import InvalidVersion, Version, parse_version

_SHOWN = 3
_NEAR = 0.6


def nearest_tags(wanted: str, tags: Sequence[str]) -> list[str]:
    """Return the versions among tags, those nearest to a tag first; for another text, tags that look like it."""
    versions = list(reversed(order_candidates(tags)))
    # A missing, doubled or capital v is the most common slip of all.
    plain = wanted.lstrip("vV")
    try:
        meant = parse_version(plain)
    except InvalidVersion:
        alike = get_close_matches(wanted, tags, n=_SHOWN, cutoff=_NEAR)
        return list(dict.fromkeys([*alike, *(version.text for version in versions)]))
    # Of v1.2 and v1 only the parts that are there count.
    parts = plain.partition("+")[0].partition("-")[0].count(".") + 1
    return [version.text for version in sorted(versions, key=lambda one: _distance(one, meant, parts))]


def nearest_sources(source: Source, known: Iterable[Source]) -> list[Source]:
    """Return the known sources that are spelled nearly like this one, the nearest first."""
    near = [(_likeness(source, other), other) for other in known if other != source]
    scored = sorted(near, key=lambda item: (-item[0], item[1]))
    return [other for likeness, other in scored if likeness][:_SHOWN]


def on_nearest_hosts(source: Source, known: Iterable[Source]) -> list[Source]:
    """Return the same repository on known hosts that are spelled nearly like its own."""
    hosts = sorted({other.registry for other in known} - {source.registry})
    near = get_close_matches(source.registry, hosts, n=_SHOWN, cutoff=_NEAR)
    return [Source(host, source.repository) for host in near]


def _distance(version: Version, meant: Version, parts: int) -> tuple[int, bool, int]:
    numbers = list(zip(version.precedence[:3], meant.precedence[:3], strict=True))
    for position, (one, other) in enumerate(numbers[:parts]):
        if one != other:
            # Behind a number that differs, the others say nothing; the highest comes first then.
            return parts - position, version.is_prerelease > meant.is_prerelease, abs(one - other)
    return 0, version.is_prerelease != meant.is_prerelease, 0


def _likeness(one: Source, other: Source) -> float:
    """Return how alike two sources are; 0 if a part of them is altogether different."""
    pairs = [(one.registry, other.registry), (one.parent, other.parent), (one.name, other.name)]
    ratios = [SequenceMatcher(None, *pair).ratio() if pair[0] != pair[1] else 1.0 for pair in pairs]
    return sum(ratios) if min(ratios) >= _NEAR else 0.0
