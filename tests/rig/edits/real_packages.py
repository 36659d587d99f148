"""Real packages that a folder may ask for, and what they hold.

What packages say is real. What they hold is made up from the last part of their sources, so that two sources of one
package bring the same kinds, as they do in reality, and one takes them over when the package moves there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from render.packages import Dependency, Kind
from render.versions.constraints import parse_constraint
from render.versions.semantic import order_candidates
from render.versions.version import parse_candidate
from rig.builders.catalogs import FakeCatalog, written
from rig.builders.ecosystem import PackageVersion, read_ecosystem, serving_source

_HOPS = "ghcr.io/hops-ops"
_THINGS = "ghcr.io/stuttgart-things/crossplane-configurations"
_UPBOUND = "xpkg.upbound.io/upbound"
_CONTRIB = "xpkg.upbound.io/crossplane-contrib"
# What the owner of the folder asks for; what all of these need together is a few dozen packages.
ASKED = (
    *(
        f"{_HOPS}/{name}"
        for name in ("aws-irsa", "helm-loki", "helm-tempo", "knative-stack", "stack-observe")
    ),
    *(f"{_THINGS}/{name}" for name in ("ansible-run", "argocd-cluster", "cilium", "cluster-backup")),
    *(f"{_UPBOUND}/configuration-{name}" for name in ("aws-network", "azure-network", "gcp-network")),
    *(f"{_UPBOUND}/configuration-{name}" for name in ("aws-database", "gitops-argocd", "gitops-flux")),
    *(f"{_UPBOUND}/{name}" for name in ("provider-aws", "provider-aws-s3", "provider-helm")),
    *(f"{_CONTRIB}/{name}" for name in ("provider-helm", "provider-kubernetes", "provider-sql")),
    f"{_CONTRIB}/function-auto-ready",
    "registry.upbound.io/upbound/platform-ref-cloud-native",
    "xpkg.upbound.io/devops-toolkit/dot-application",
)
# What was one package brings what its parts bring, too.
_PARTS: Mapping[str, tuple[str, ...]] = {
    "provider-aws": ("provider-aws-ec2", "provider-aws-iam", "provider-aws-s3"),
}
_PLURALS = {Kind.PROVIDER: ("things", "pieces"), Kind.CONFIGURATION: ("things",), Kind.FUNCTION: ()}
# How a dependency says what it is on.
_KEYS = ("package", "provider", "configuration", "function")
# The newest versions of most packages go together. The older ones are needed by others, or to go back to.
_RECENT, _KEPT = 6, 10


@dataclass(frozen=True, slots=True)
class Offer:
    """All that may be asked for, what that needs, and all other places where one of these packages is."""

    # Of each source, the newest one first.
    versions: Mapping[str, Sequence[PackageVersion]]

    def recent(self, source: str) -> list[str]:
        """Return the newest tags of a source, the newest one first."""
        return [version.tag for version in self.versions[source][:_RECENT]]

    def elsewhere(self, source: str) -> list[str]:
        """Return the other sources of the same package."""
        return [other for other in self.versions if _last(other) == _last(source) and other != source]

    def parts(self, source: str) -> list[str]:
        """Return the sources beside it that together bring most of what it brings."""
        return [
            part for name in _PARTS.get(_last(source), ()) if (part := beside(source, name)) in self.versions
        ]

    def family(self, source: str) -> str | None:
        """Return the family that a source belongs to."""
        return self.versions[source][0].family

    def released(self) -> list[PackageVersion]:
        """Return all versions of all sources."""
        return [version for source in sorted(self.versions) for version in self.versions[source]]


@cache
def read_offer() -> Offer:
    """Read the newest versions of each source, and those older ones that a package requires."""
    known = read_ecosystem().by_source()
    asked = _with_needed(ASKED, known)
    names = {_last(source) for source in asked} | {part for parts in _PARTS.values() for part in parts}
    others = {source for source in known if _last(source) in names and str(serving_source(source)) == source}
    return Offer(_with_needed([*asked, *others], known))


def definitions(version: PackageVersion) -> list[str]:
    """Return the names of the definitions that a package brings: CRDs of a provider, or XRDs of a configuration."""
    last = _last(version.written_source)
    groups = (last, *_PARTS.get(last, ()))
    return [f"{plural}.{group}.example.org" for group in groups for plural in _PLURALS[version.kind]]


def offer_catalog(offer: Offer) -> FakeCatalog:
    """Return the same packages in memory."""
    released = {f"{version.written_source} {version.tag}": version for version in offer.released()}
    kinds = {source: versions[0].kind for source, versions in offer.versions.items()}
    defined = {Kind.PROVIDER: "CustomResourceDefinition", Kind.CONFIGURATION: "CompositeResourceDefinition"}
    return FakeCatalog(
        {key: dict(map(_dependency, version.depends_on)) for key, version in released.items()},
        kinds=kinds,
        families={source: family for source in offer.versions if (family := offer.family(source))},
        crossplane={key: version.crossplane for key, version in released.items() if version.crossplane},
        objects={
            source: [f"{defined[kinds[source]]} {name}" for name in definitions(versions[0])]
            for source, versions in offer.versions.items()
        },
    )


def beside(source: str, name: str) -> str:
    """Return the source of this name in the same place."""
    return f"{source.rpartition('/')[0]}/{name}"


def _with_needed(
    sources: Iterable[str], known: Mapping[str, Sequence[PackageVersion]]
) -> dict[str, list[PackageVersion]]:
    found: dict[str, list[PackageVersion]] = {}
    waiting = [version for source in sources for version in _newest(known[source])[:_KEPT]]
    while waiting:
        version = waiting.pop()
        kept = found.setdefault(version.written_source, [])
        if version in kept:
            continue
        kept.append(version)
        for entry in version.depends_on:
            accepted = [one for one in _newest(known.get(_needed(entry), ())) if _accepts(entry, one)]
            recent = _newest(known.get(_needed(entry), ()))[:_KEPT]
            waiting += [one for one in accepted if one in recent] or accepted[:1]
    return {source: _newest(found[source]) for source in sorted(found)}


def _newest(versions: Iterable[PackageVersion]) -> list[PackageVersion]:
    by_tag = {version.tag: version for version in versions}
    return [by_tag[candidate.text] for candidate in reversed(order_candidates(by_tag))]


def _accepts(entry: Mapping[str, str], version: PackageVersion) -> bool:
    candidate = parse_candidate(version.tag)
    return candidate is not None and parse_constraint(entry["version"]).accepts(candidate)


def _dependency(entry: Mapping[str, str]) -> tuple[str, Dependency]:
    needed = _needed(entry)
    kind = entry.get("kind") or next(key for key in _KEYS if key in entry).capitalize()
    return needed, written(needed, entry["version"], kind=kind)


def _needed(entry: Mapping[str, str]) -> str:
    return next(entry[key] for key in _KEYS if key in entry)


def _last(source: str) -> str:
    return source.rpartition("/")[2]
