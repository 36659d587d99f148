"""Our search beside resolvelib's, on the same real packages and asked in the same order."""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import resolvelib

from bench.registry import PackageVersion, read_ecosystem
from render.limits import Limits
from render.packages import Dependency, Kind, Metadata, Package
from render.references import Digest, Reference, Source, parse_dependency_source, parse_reference
from render.registry.oci import NotFound
from render.resolve.conflict import NoSolution
from render.resolve.model import Wanted
from render.resolve.resolve import resolve
from render.versions.constraints import parse_constraint
from render.versions.requests import Request, Root
from render.versions.semantic import order_candidates
from render.versions.version import parse_candidate
from render.xpkg.definitions import Definitions

_NAMES = ("package", "provider", "configuration", "function")
_ROOTS = (
    "xpkg.upbound.io/upbound/configuration-caas:v0.3.0",
    "xpkg.upbound.io/upbound/configuration-aws-eks:v0.2.0",
    "xpkg.upbound.io/upbound/configuration-caas-ml:v0.1.0",
)


# Twelve packages of ten versions each, whose ranges cannot all be met.
_HOME = "xpkg.example.org/bench"
_HOPELESS = f"{_HOME}/root:v1.0.0"
_HOPELESS_PACKAGES = 12
_ROUNDS = 20_000


class CountingCatalog:
    """The real packages, and how many of them were looked at."""

    def __init__(self, versions: Iterable[PackageVersion] | None = None) -> None:
        self.fetched: set[Reference] = set()
        self._versions: dict[Source, dict[str, PackageVersion]] = {}
        for version in read_ecosystem().versions if versions is None else versions:
            self._versions.setdefault(version.reference.source, {})[version.tag] = version

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        if source not in self._versions:
            raise NotFound(f"{source} does not exist")
        return list(self._versions[source])

    def package(self, reference: Reference) -> Package:
        """Return a package, and count it."""
        version = self._versions[reference.source].get(reference.tag or "")
        if version is None:
            raise NotFound(f"{reference} does not exist")
        self.fetched.add(reference)
        dependencies = tuple(_dependency(entry) for entry in version.depends_on)
        metadata = Metadata(Kind(version.kind), "", version.name, dependencies)
        return Package(reference.source, Digest("sha256:" + "0" * 64), metadata, ())

    def definitions(self, reference: Reference) -> Definitions:  # noqa: ARG002 - none of them differs
        """Return nothing: none of these packages depends on a CRD."""
        return Definitions()


def main() -> None:
    """Print how many packages each search had to look at, and whether it came to an end."""
    catalogs: list[tuple[str, Callable[[], CountingCatalog]]] = [(root, CountingCatalog) for root in _ROOTS]
    for root, make in [*catalogs, (_HOPELESS, _hopeless_catalog)]:
        reference = parse_reference(root)
        print(f"{reference.source.name} {reference.tag}")
        for name, search in (("ours", _ours), ("resolvelib", _theirs)):
            started = time.perf_counter()
            found = search(reference, make())
            print(f"  {name:<11} {(time.perf_counter() - started) * 1000:8.0f} ms  {found}")


def _hopeless_catalog() -> CountingCatalog:
    chance = random.Random(0)
    needed = [
        _made_up(number, version, chance) for number in range(_HOPELESS_PACKAGES) for version in range(10)
    ]
    everything = [{"configuration": f"{_HOME}/p{n}", "version": "*"} for n in range(_HOPELESS_PACKAGES)]
    root = PackageVersion(f"{_HOME}/root", Kind.CONFIGURATION, "v1.0.0", "root", depends_on=everything)
    return CountingCatalog([root, *needed])


def _made_up(number: int, version: int, chance: random.Random) -> PackageVersion:
    others = range(number + 1, _HOPELESS_PACKAGES)
    depends = []
    for other in chance.sample(others, min(3, len(others))):
        low = chance.randrange(8)
        depends.append({"configuration": f"{_HOME}/p{other}", "version": f">=v1.{low}.0, <v1.{low + 3}.0"})
    return PackageVersion(
        f"{_HOME}/p{number}", Kind.CONFIGURATION, f"v1.{version}.0", f"p{number}", depends_on=depends
    )


def _ours(reference: Reference, catalog: CountingCatalog) -> str:
    roots = (Root(reference.source, Request(tag=reference.tag), "bench"),)
    try:
        found = len(resolve(Wanted(roots, follow_families=False), catalog, Limits()).packages)
    except NoSolution:
        return f"no solution, {len(catalog.fetched)} fetched"
    return f"{found} packages, {len(catalog.fetched)} fetched"


def _theirs(reference: Reference, catalog: CountingCatalog) -> str:
    resolver: Any = resolvelib.Resolver(_Provider(catalog), resolvelib.BaseReporter())
    try:
        found = len(resolver.resolve([(reference.source, reference.tag)], max_rounds=_ROUNDS).mapping)
    except resolvelib.ResolutionTooDeep:
        return f"given up after {_ROUNDS:,} rounds"
    except resolvelib.ResolutionImpossible:
        return f"no solution, {len(catalog.fetched)} fetched"
    return f"{found} packages, {len(catalog.fetched)} fetched"


class _Provider(resolvelib.AbstractProvider):  # type: ignore[type-arg]
    """The same question in resolvelib's words: first come, first served, the highest version first."""

    def __init__(self, catalog: CountingCatalog) -> None:
        self._catalog = catalog
        self._met: dict[Source, int] = {}

    def identify(self, requirement_or_candidate: tuple[Source, str]) -> Source:
        return requirement_or_candidate[0]

    def get_preference(self, identifier: Source, *_: Any, **__: Any) -> int:
        return self._met.setdefault(identifier, len(self._met))

    def find_matches(
        self, identifier: Source, requirements: Mapping[Source, Iterator[Any]], incompatibilities: Any
    ) -> Iterable[tuple[Source, str]]:
        wanted = [constraint for _, constraint in requirements[identifier]]
        excluded = {tag for _, tag in incompatibilities[identifier]}
        try:
            tags = self._catalog.tags(identifier)
        except NotFound:
            return []
        versions = reversed(order_candidates(tags))
        return [
            (identifier, version.text)
            for version in versions
            if version.text not in excluded and all(parse_constraint(c).accepts(version) for c in wanted)
        ]

    def is_satisfied_by(self, requirement: tuple[Source, str], candidate: tuple[Source, str]) -> bool:
        version = parse_candidate(candidate[1])
        return version is not None and parse_constraint(requirement[1]).accepts(version)

    def get_dependencies(self, candidate: tuple[Source, str]) -> list[tuple[Source, str]]:
        package = self._catalog.package(Reference(*candidate))
        found = []
        for dependency in package.metadata.dependencies:
            if isinstance(dependency.source, Source):
                self._met.setdefault(dependency.source, len(self._met))
                found.append((dependency.source, dependency.constraint.text))
        return found


def _dependency(entry: Mapping[str, str]) -> Dependency:
    name = next(entry[key] for key in _NAMES if entry.get(key))
    return Dependency(parse_dependency_source(name), parse_constraint(entry["version"]), name)


if __name__ == "__main__":
    main()
