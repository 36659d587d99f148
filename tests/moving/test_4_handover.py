"""Moving, section 4: nothing that a package installed changes hands unless somebody agreed to it."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named
from rig.builders.lock_story import Story, move, states
from rig.builders.projects import HOME, World, text_of
from rig.commands.refusals import refusal
from rig.commands.suggestions import offered_moves

from render.cli.run import run
from render.lifecycle.ownership import HandoverWithoutConsent, UnknownObjects
from render.lifecycle.update import LockOptions
from render.packages import Kind

PACKAGES: Packages = {
    "old v1.0.0": {},
    "new v1.0.0": {},
    "new v2.0.0": {},
    "half v1.0.0": {},
    "other v1.0.0": {},
}
CRD, MRD = "CustomResourceDefinition as.acme.org", "ManagedResourceDefinition as.acme.org"
XRD, COMPOSITION = "CompositeResourceDefinition xas.acme.org", "Composition a"
SECOND = "CustomResourceDefinition bs.acme.org"


def story(
    objects: Mapping[str, list[str]],
    kind: Kind = Kind.PROVIDER,
    replaces: Mapping[str, list[str]] | None = None,
) -> Story:
    kinds = dict.fromkeys(("old", "new", "half"), kind)
    told = Story(FakeCatalog(PACKAGES, kinds=kinds, objects=objects, replaces=replaces or {}))
    told.lock("old", "other")
    return told


SHARED = {"old": [CRD], "new": [CRD]}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (CRD, CRD, Kind.PROVIDER),
        (MRD, MRD, Kind.PROVIDER),
        (MRD, CRD, Kind.PROVIDER),
        (CRD, MRD, Kind.PROVIDER),
        (XRD, XRD, Kind.CONFIGURATION),
        (COMPOSITION, COMPOSITION, Kind.CONFIGURATION),
    ],
)
def test_an_object_of_what_leaves_in_what_comes_is_refused(old: str, new: str, kind: Kind) -> None:
    told = story({"old": [old], "new": [new]}, kind)
    before = told.current

    with pytest.raises(HandoverWithoutConsent) as caught:
        told.lock("new", "other")

    assert caught.value.exit_code == 4
    assert caught.value.what == f"{named('new')} would take over what {named('old')} installed"
    assert old.split(" ")[1] in caught.value.why[0]
    assert told.current == before


def test_other_objects_are_nobodys_business() -> None:
    told = story({"old": ["Secret a"], "new": ["Secret a"]})

    told.lock("new", "other")

    assert states(told.current)["old"] == "v1.0.0 orphaned"


def test_functions_install_nothing_that_could_be_taken_over() -> None:
    told = story(SHARED, Kind.FUNCTION)

    told.lock("new", "other")

    assert states(told.current)["old"] == "v1.0.0 orphaned"


def test_orphans_of_earlier_locks_are_compared_too() -> None:
    told = story(SHARED)
    told.lock("other")

    with pytest.raises(HandoverWithoutConsent):
        told.lock("other", "new")


def test_a_package_that_comes_in_another_version_is_compared_too() -> None:
    told = story({"old": [CRD], "new v1.0.0": [SECOND], "new v2.0.0": [CRD]})
    told.lock("new v1.0.0", "other")

    with pytest.raises(HandoverWithoutConsent):
        told.lock("new v2.0.0", "other")


def test_a_claim_is_enough() -> None:
    told = story(SHARED, replaces={"new": ["old"]})

    told.lock("new", "other")

    assert states(told.current)["old"] == "v1.0.0 deactivated"


def test_a_moves_entry_is_enough() -> None:
    told = story(SHARED)

    told.lock("new", "other", moves=(move("old", "new"),))

    assert states(told.current)["old"] == "v1.0.0 deactivated"


def test_the_lines_that_are_printed_can_be_pasted() -> None:
    told = story({"old": [CRD, SECOND], "new": [CRD], "half": [SECOND]})

    with pytest.raises(HandoverWithoutConsent) as caught:
        told.lock("new", "half", "other")
    offered = offered_moves(caught.value.next)
    told.lock(
        "new", "half", "other", moves=tuple(move(str(old), *map(str, new)) for old, new in offered.items())
    )

    assert offered == {named("old"): (named("half"), named("new"))}
    assert states(told.current)["old"] == "v1.0.0 deactivated"


# Where the objects are known from.


def test_the_objects_of_what_leaves_are_had_by_its_locked_digest() -> None:
    told = story(SHARED)
    moved = FakeCatalog(
        {"old v1.0.0": {}, "old v0.9.0": {}, **PACKAGES},
        kinds=dict.fromkeys(("old", "new", "half"), Kind.PROVIDER),
        # The tag leads to other bytes by now, and those that are locked have another one.
        digests={"old v1.0.0": digest_of("others"), "old v0.9.0": digest_of("old v1.0.0")},
        objects={"old v0.9.0": [CRD], "old v1.0.0": ["Secret a"], "new": [CRD]},
    )
    told.catalog = moved

    with pytest.raises(HandoverWithoutConsent):
        told.lock("new", "other")

    assert "old v0.9.0" in moved.fetched and "old v1.0.0" not in moved.fetched


def without_old() -> FakeCatalog:
    packages = {key: needs for key, needs in PACKAGES.items() if key != "old v1.0.0"}
    return FakeCatalog(packages, kinds={"new": Kind.PROVIDER}, objects={"new": [CRD]})


def test_objects_that_can_no_longer_be_had_are_told_of() -> None:
    told = story(SHARED)
    told.catalog = without_old()

    with pytest.raises(UnknownObjects) as caught:
        told.lock("new", "other")

    assert caught.value.what == f"{named('old')} leaves, and its installed objects are not known"
    assert f"{named('old')}@{digest_of('old v1.0.0')} cannot be fetched any more" in caught.value.why
    assert "xplock lock --accept-unknown-objects" in caught.value.next[0]


def test_then_it_leaves_only_if_that_is_accepted_and_it_is_said() -> None:
    told = story(SHARED)
    told.catalog = without_old()

    told.lock("new", "other", options=LockOptions(accept_unknown_objects=True))

    assert states(told.current)["old"] == "v1.0.0 orphaned"
    assert told.notes == (
        f"{named('old')} leaves; its installed objects are not known and were not compared",
    )


def test_by_the_command_what_is_in_the_cache_is_still_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    world.publish("old v1.0.0", kind="Provider", crds=["as.acme.org"])
    project = world.project("shop", "old")
    run(["lock", str(project)])
    before = text_of(project)
    shutil.rmtree(world.layout)
    world.publish("new v1.0.0", kind="Provider", crds=["as.acme.org"])
    world.project("shop", "new")

    refused = refusal(capsys, "lock", str(project))

    assert (refused.code, text_of(project)) == (4, before)
    assert refused.what == f"{HOME}/new would take over what {HOME}/old installed"
