"""ImageConfigs for a mirror: rewrites that lead there, and the user's rules again, which match by where images are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.digests import sha256_hex
from render.lean import TYPE_CHECKING, Any
from render.lock.model import LockedPackage
from render.manifests.pins import IMAGE_CONFIG, image_config
from render.manifests.pulled import find_pulled
from render.mirrors import Mirror
from render.names import dns_label
from render.references import Source
from render.rewrites import Rewrites

if TYPE_CHECKING:
    # Only the type is needed here; importing the reader of folders would cost time.
    from render.inputs.projects import Inputs

_PREFIX = "xplock-mirror"
_HASH_PART = 8
# What Crossplane looks up after the rewrite. A pull secret belongs to one registry, and the mirror has its own.
_PURPOSES = ("verification", "runtime")


def mirror_configs(
    mirror: Mirror,
    sources: Iterable[Source],
    passthrough: Iterable[Mapping[str, Any]],
    rewrites: Rewrites,
) -> list[dict[str, Any]]:
    """Return the ImageConfigs for packages of some sources, sorted by name.

    `rewrites` are those of the folder, by which its own rules match.
    """
    found = sorted(set(sources))
    made = [*_rewrites(mirror, found), *_rules(mirror, found, passthrough, rewrites)]
    if mirror.pull_secret:
        made.append(_pull_secret(mirror, mirror.pull_secret))
    return sorted(made, key=lambda value: str(value["metadata"]["name"]))


def folder_configs(packages: Iterable[LockedPackage], inputs: "Inputs") -> list[dict[str, Any]]:
    """Return the ImageConfigs for the mirror in the settings of a folder."""
    mirror, pinned = inputs.settings.mirror, inputs.settings.pin == "digest"
    pulled = find_pulled(packages, pinned=pinned)
    sources = [image.source for image in pulled]
    return mirror_configs(mirror, sources, inputs.passthrough, Rewrites(inputs.rewrites)) if mirror else []


def _rewrites(mirror: Mirror, sources: Sequence[Source]) -> Iterator[dict[str, Any]]:
    for registry in sorted({source.registry for source in sources}):
        prefix, replacement = mirror.rewrite(registry)
        yield image_config(_name(registry, prefix), prefix, {"rewriteImage": {"prefix": replacement}})


def _pull_secret(mirror: Mirror, secret: str) -> dict[str, Any]:
    # An ImageConfig of its own: Crossplane reads it again by its name, and fails if that has no secret any more.
    authentication = {"pullSecretRef": {"name": secret}}
    return image_config(
        f"{_PREFIX}-pull-secret", f"{mirror.to}/", {"registry": {"authentication": authentication}}
    )


def _rules(
    mirror: Mirror, sources: Sequence[Source], passthrough: Iterable[Mapping[str, Any]], rewrites: Rewrites
) -> Iterator[dict[str, Any]]:
    rules = [_Rule(value) for value in passthrough if _is_rule(value)]
    # Of two rules for one prefix Crossplane would use either one; the longer prefix is the one that counted.
    winners: dict[tuple[str, str], tuple[int, str]] = {}
    for rule in rules:
        for new, old in rule.translate(mirror, sources, rewrites).items():
            for purpose in rule.purposes:
                winners[purpose, new] = max(winners.get((purpose, new), (0, "")), (len(old), rule.name))
    for rule in rules:
        won: dict[tuple[str, ...], list[str]] = {}
        for new, old in rule.translate(mirror, sources, rewrites).items():
            key = tuple(one for one in rule.purposes if winners[one, new] == (len(old), rule.name))
            won.setdefault(key, []).append(new)
        for number, (purposes, prefixes) in enumerate(
            (item for item in sorted(won.items()) if item[0]), start=1
        ):
            suffix = "" if number == 1 else f"-{number}"
            yield rule.copy(f"{rule.name}-mirror{suffix}", purposes, prefixes)


class _Rule:
    """An ImageConfig of the user's with something that is looked up after rewrites."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._spec = _mapping(value.get("spec"))
        self.name = str(_mapping(value.get("metadata")).get("name"))
        self.purposes = [key for key in _PURPOSES if self._spec.get(key) is not None]

    def translate(self, mirror: Mirror, sources: Sequence[Source], rewrites: Rewrites) -> dict[str, str]:
        """Return the prefixes that match the copies of what its own prefixes match, each with that one."""
        found: dict[str, str] = {}
        for prefix in _prefixes(self._spec):
            if not prefix or mirror.holds(prefix.rstrip("/")):
                continue
            for source in sources:
                for new in _translated(mirror, source, prefix, rewrites):
                    found[new] = max(found.get(new, ""), prefix, key=len)
        return found

    def copy(self, name: str, purposes: Sequence[str], prefixes: Sequence[str]) -> dict[str, Any]:
        """Return it again for other prefixes."""
        made = image_config(name, prefixes[0], {purpose: self._spec[purpose] for purpose in purposes})
        made["spec"]["matchImages"] = [{"type": "Prefix", "prefix": prefix} for prefix in prefixes]
        return made


def _is_rule(value: Mapping[str, Any]) -> bool:
    return (value.get("apiVersion"), value.get("kind")) == IMAGE_CONFIG and bool(_Rule(value).purposes)


def _translated(mirror: Mirror, source: Source, prefix: str, rewrites: Rewrites) -> Iterator[str]:
    rewrite = rewrites.find(str(source))
    place = rewrite.apply(str(source)) if rewrite and not mirror.holds(rewrite.replacement) else str(source)
    matches = place.startswith(prefix)
    # A prefix may go on into the tag or the digest.
    beyond = prefix.startswith((f"{place}:", f"{place}@"))
    if not matches and not beyond:
        return
    copy = str(mirror.place(source))
    host, there = mirror.rewrite(source.registry)
    if beyond:
        yield copy + prefix[len(place) :]
    elif place != str(source):
        # The original comes from elsewhere, so the texts have nothing in common; both forms end where the path ends.
        yield from (f"{copy}:", f"{copy}@")
    else:
        yield there + prefix[len(host) :] if prefix.startswith(host) else there


def _name(registry: str, prefix: str) -> str:
    return f"{_PREFIX}-{dns_label(registry)}-{sha256_hex(prefix)[:_HASH_PART]}"


def _prefixes(spec: Mapping[str, Any]) -> Iterator[str]:
    matches = spec.get("matchImages")
    for match in matches if isinstance(matches, list) else ():
        prefix = _mapping(match).get("prefix")
        if isinstance(prefix, str):
            yield prefix


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
