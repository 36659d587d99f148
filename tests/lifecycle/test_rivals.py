"""Packages in two folders of one cluster that bring the same object."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from rig.builders.catalogs import FakeCatalog, named
from rig.builders.lock_story import Story, move, states

from render.errors import RenderError
from render.folders.neighbours import gather_neighbours
from render.lifecycle.ownership import RivalPackages
from render.packages import Kind

TABLE = "CustomResourceDefinition tables.acme.example"
CHAIR = "CustomResourceDefinition chairs.acme.example"
COMPOSITION = "Composition table"


def catalog(objects: Mapping[str, Sequence[str]], kind: Kind = Kind.PROVIDER) -> FakeCatalog:
    """One version of each package that brings objects."""
    names = {*objects, "other"}
    return FakeCatalog(
        {f"{name} v1.0.0": {} for name in names}, kinds=dict.fromkeys(names, kind), objects=objects
    )


def platform(packages: FakeCatalog, *roots: str) -> Story:
    story = Story(packages)
    story.lock(*roots)
    return story


def using(there: Story) -> Story:
    return Story(there.catalog, around=gather_neighbours([("../platform", there.current)]))


@pytest.mark.parametrize("shared", [TABLE, COMPOSITION])
def test_two_packages_that_bring_one_object_cannot_be_in_two_folders(shared: str) -> None:
    app = using(platform(catalog({"base": [CHAIR, shared], "fork": [shared]}), "base"))

    with pytest.raises(RivalPackages) as caught:
        app.lock("fork")

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('fork')} would install what {named('base')} in ../platform installs"
    assert caught.value.why == (f"both install {shared}, and a cluster has each of them once",)
    assert caught.value.next[1:4] == (
        "  moves:",
        f"    - from: {named('fork')}",
        f"      to: {named('base')}",
    )


def test_a_managed_resource_definition_is_the_definition_of_its_name() -> None:
    managed = "ManagedResourceDefinition tables.acme.example"
    app = using(platform(catalog({"base": [TABLE], "fork": [managed]}), "base"))

    with pytest.raises(RivalPackages):
        app.lock("fork")


@pytest.mark.parametrize(
    ("ours", "fetched"),
    [(CHAIR, True), ("CustomResourceDefinition tables.other.example", False), (COMPOSITION, False)],
)
def test_packages_that_bring_other_objects_go_together_and_only_near_ones_are_looked_at(
    ours: str, fetched: bool
) -> None:
    packages = catalog({"base": [TABLE], "fork": [ours]})
    app = using(platform(packages, "base"))
    packages.fetched.clear()

    lock = app.lock("fork")

    assert states(lock) == {"fork": "v1.0.0"}
    assert ("base v1.0.0" in packages.fetched) is fetched


def test_functions_install_nothing() -> None:
    app = using(platform(catalog({"base": [TABLE], "fork": [TABLE]}, Kind.FUNCTION), "base"))

    assert states(app.lock("fork")) == {"fork": "v1.0.0"}


def test_what_is_not_at_hand_is_told() -> None:
    packages = catalog({"base": [TABLE], "fork": [CHAIR]})
    app = using(platform(packages, "base"))
    app.catalog = replace(packages, before=_refuse_base)

    app.lock("fork")

    assert app.notes == (
        f"the installed objects of {named('base')} in ../platform cannot be fetched and were not compared",
    )


def test_a_package_of_a_using_folder_is_a_rival_unless_it_makes_room() -> None:
    packages = catalog({"base": [TABLE], "fork": [TABLE]})
    user = platform(packages, "fork")
    there = Story(packages, around=gather_neighbours([], [("app", user.current)]))

    with pytest.raises(RivalPackages, match="in app installs"):
        there.lock("base")
    lock = there.lock("base", moves=(move("fork", "base"),))

    assert states(lock) == {"base": "v1.0.0"}


def _refuse_base(what: str) -> None:
    if what.startswith("base"):
        raise RenderError("the registry is down")
