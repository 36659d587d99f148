"""Real packages are built, pushed and read again, and say what they said."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from rig.builders.ecosystem import (
    Built,
    Ecosystem,
    PackageVersion,
    build_all,
    fill_layout,
    fill_registry,
    on_one_registry,
    read_ecosystem,
)
from rig.commands.world import open_quiet_world
from rig.properties import in_ci
from rig.registry.docker import RunningRegistry

from render.limits import Limits
from render.packages import Metadata, Package
from render.references import PartialSource, Reference, parse_dependency_source
from render.registry.layout import Layout
from render.xpkg.catalog import Catalog
from render.xpkg.metadata import parse_project

LIMITS = Limits()


class NoFacts:
    """Remembers nothing, so that everything is read."""

    def get_facts(self, *_: object) -> None:
        """Know nothing."""

    def put_facts(self, *_: object) -> None:
        """Keep nothing."""


@pytest.fixture(scope="module")
def ecosystem() -> Ecosystem:
    """All of it."""
    return read_ecosystem()


@pytest.fixture(scope="module")
def built(ecosystem: Ecosystem, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """All of it, built once."""
    return build_all(ecosystem.versions, tmp_path_factory.mktemp("scratch"))


def check_metadata(found: Metadata, version: PackageVersion) -> None:
    """Compare what was read with the data."""
    assert (found.kind, found.name) == (version.kind, version.name)
    assert (found.crossplane.text if found.crossplane else None) == version.crossplane
    written = [_as_written(entry) for entry in version.depends_on]
    assert [(d.kind, d.api_version, d.package, d.constraint.text) for d in found.dependencies] == written
    assert [str(d.source) for d in found.dependencies] == [package for _, _, package, _ in written]


def _as_written(entry: Mapping[str, str]) -> tuple[str, str | None, str, str]:
    if "package" in entry:
        return entry["kind"], entry["apiVersion"], entry["package"], entry["version"]
    [key] = entry.keys() - {"version"}
    return key.capitalize(), None, entry[key], entry["version"]


def check_package(found: Package, version: PackageVersion) -> None:
    check_metadata(found.metadata, version)
    assert found.metadata.api_version == version.api_version
    assert found.metadata.family == version.family
    capabilities = version.capabilities or (["composition"] if version.kind == "Function" else [])
    assert list(found.metadata.capabilities) == list(capabilities)
    assert [item.name for item in found.objects] == ([version.object_name] if version.object_name else [])


def test_the_data_is_complete(ecosystem: Ecosystem) -> None:
    sources = ecosystem.by_source()

    assert (len(ecosystem.versions), len(sources), len(ecosystem.roots)) == (4249, 184, 46)
    assert len({version.reference for version in ecosystem.versions}) == 4249
    assert set(ecosystem.roots) <= sources.keys()
    assert not ecosystem.missing & sources.keys()
    assert {source for source, _ in ecosystem.no_known_version} <= sources.keys()


def test_every_dependency_is_there_or_known_to_be_missing(ecosystem: Ecosystem) -> None:
    known = ecosystem.by_source().keys() | ecosystem.missing

    asked = {_as_written(entry)[2] for version in ecosystem.versions for entry in version.depends_on}

    assert asked <= known


def test_two_sources_of_one_provider_hold_the_same_object(ecosystem: Ecosystem) -> None:
    names = {source: versions[0].object_name for source, versions in ecosystem.by_source().items()}

    assert names["xpkg.upbound.io/crossplane-contrib/provider-aws"] == names["crossplane/provider-aws"]
    assert (
        names["xpkg.upbound.io/crossplane-contrib/provider-aws"]
        != names["xpkg.upbound.io/crossplane-contrib/provider-gcp"]
    )


def test_partial_dependencies_are_completed_to_sources_that_are_there(ecosystem: Ecosystem) -> None:
    partial = {
        (version.reference.source, source)
        for version in ecosystem.versions
        for entry in version.depends_on
        if isinstance(source := parse_dependency_source(_as_written(entry)[2]), PartialSource)
    }

    completed = {str(source.complete(dependant)) for dependant, source in partial}

    assert len(partial) == 5
    assert "registry.upbound.io/crossplane/provider-aws" in completed & ecosystem.by_source().keys()


def test_every_project_file_says_what_its_package_says(ecosystem: Ecosystem) -> None:
    projects = [version for version in ecosystem.versions if version.project]

    for version in projects:
        found = parse_project(version.project_file.encode(), LIMITS)

        check_metadata(found, version)
        assert found.api_version == version.project
    assert len(projects) == 213


def test_every_version_comes_back_from_a_layout(ecosystem: Ecosystem, built: Built, tmp_path: Path) -> None:
    fill_layout(tmp_path / "layout", built)
    layout = Layout(tmp_path / "layout", LIMITS)
    catalog = Catalog(layout, NoFacts(), LIMITS)
    digests = {reference: entry.digest for reference, entry in layout.images()}

    assert digests.keys() == {version.reference for version in ecosystem.versions}
    for version in ecosystem.versions:
        found = catalog.package(replace(version.reference, digest=digests[version.reference]))

        check_package(found, version)
        assert found.digest == built[version.reference].digest


def versions_to_push(ecosystem: Ecosystem) -> dict[str, list[PackageVersion]]:
    """Return versions of every source: all in CI; at the desk two, and all of the source that has most."""
    sources = ecosystem.by_source()
    largest = max(sources, key=lambda source: len(sources[source]))
    few = {source: versions if source == largest else versions[:2] for source, versions in sources.items()}
    return sources if in_ci() else few


def test_what_is_pushed_to_a_real_registry_comes_back(
    ecosystem: Ecosystem, built: Built, open_registry: RunningRegistry, tmp_path: Path
) -> None:
    sources = versions_to_push(ecosystem)
    pushed = [version for versions in sources.values() for version in versions]
    host = open_registry.host
    environ = {"XPLOCK_PLAIN_HTTP": host, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    outside = open_quiet_world(environ)
    fill_registry(host, outside.pusher, {version.reference: built[version.reference] for version in pushed})
    images = outside.images()
    catalog = Catalog(images, NoFacts(), LIMITS)

    def read(version: PackageVersion) -> Package:
        source = on_one_registry(host, version.reference.source)
        return catalog.package(Reference(source, version.tag))

    with ThreadPoolExecutor(4) as pool:
        packages = list(pool.map(read, pushed))

    for version, found in zip(pushed, packages, strict=True):
        check_package(found, version)
        assert found.digest == built[version.reference].digest
    for versions in sources.values():
        tags = images.tags(on_one_registry(host, versions[0].reference.source))
        assert set(tags) == {version.tag for version in versions}
