"""Pins that xplock has put into a cluster: a folder that takes it over renders them again, and has no file of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.live.adopting.found import Found
from render.live.model import Cluster, ConfigObject

_OURS, _PRINTED_FOR_MIRRORS = "xplock-", "xplock-mirror"
_DIGEST = "@sha256:"


def is_pin(config: ConfigObject) -> bool:
    """Return whether an ImageConfig is a pin of xplock, or what it adds for the pinned form of a reference."""
    is_ours = config.name.startswith(_OURS) and not config.name.startswith(_PRINTED_FOR_MIRRORS)
    return is_ours and any(_DIGEST in text for text in (_target(config), *prefixes_of(config)))


def is_all_pinned(cluster: Cluster, packages: Sequence[Found]) -> bool:
    """Return whether every package that is installed by a tag has a pin."""
    tagged = [one.object.package for one in packages if one.reference.tag]
    return bool(tagged) and {*tagged} <= _pinned(cluster)


def note_pins(cluster: Cluster, packages: Sequence[Found]) -> Iterator[str]:
    """Yield a note about pins of a cluster in which other packages have none."""
    pinned = _pinned(cluster) & {one.object.package for one in packages}
    if pinned and not is_all_pinned(cluster, packages):
        yield (
            f"{len(pinned):,} of {len(packages):,} packages are pinned by ImageConfigs of xplock, which stay as they are; "
            "pin: digest in xplock.yaml takes them over"
        )


def find_hidden(cluster: Cluster, packages: Iterable[Found]) -> set[str]:
    """Return the names of ImageConfigs that Crossplane would use for packages if they were not pinned."""
    texts = {one.object.package for one in packages} & _pinned(cluster)
    return {
        config.name
        for config in cluster.image_configs
        if not is_pin(config)
        and any(text.startswith(prefix) for prefix in prefixes_of(config) if prefix for text in texts)
    }


def prefixes_of(config: ConfigObject) -> list[str]:
    """Return the prefixes that an ImageConfig matches."""
    matches = config.spec.get("matchImages")
    listed = matches if isinstance(matches, list) else []
    return [str(one.get("prefix", "")) for one in listed if isinstance(one, Mapping)]


def _pinned(cluster: Cluster) -> set[str]:
    return {
        prefix
        for config in cluster.image_configs
        if is_pin(config) and _DIGEST in _target(config)
        for prefix in prefixes_of(config)
    }


def _target(config: ConfigObject) -> str:
    rewrite = config.spec.get("rewriteImage")
    return str(rewrite.get("prefix", "")) if isinstance(rewrite, Mapping) else ""
