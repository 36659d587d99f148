"""Moving, section 4: a deactivated package is there in full until it is retired; and how a move is undone."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rig.builders.catalogs import FakeCatalog, Packages, digest_of, named
from rig.builders.lock_story import Story, detached, is_guarded, move, objects_of, states, wish
from rig.builders.projects import HOME, World, moves, text_of
from rig.cluster.cluster import Cluster
from rig.commands.refusals import edit_lock, refusal

from render.cli.run import run
from render.lean import replace
from render.lifecycle.claims import ImpossibleMove
from render.lifecycle.conditions import UnknownCrossplane
from render.lifecycle.other_folders import LosesProvided
from render.lifecycle.retiring.checks import StillNeeded
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.lock.text.format import format_lock
from render.packages import Kind
from render.settings import Detach
from render.system.files import LOCK_FILE
from render.versions.requests import Root
from render.versions.version import parse_version

CRD = ["CustomResourceDefinition olds.acme.org"]
PACKAGES: Packages = {
    "old v1.0.0": {},
    "old v1.1.0": {},
    "new v1.5.0": {},
    "newest v1.7.0": {},
    "user v1.0.0": {"old": "*"},
    "user v1.1.0": {"old": "*"},
    "user v2.0.0": {},
}
CATALOG = FakeCatalog(
    PACKAGES,
    kinds=dict.fromkeys(("old", "new", "newest"), Kind.PROVIDER),
    objects={"old": CRD, "new": CRD, "newest": CRD},
)
ENTRY = move("old", "new", strategy="deactivate")
OPPOSITE = move("new", "old")
BOTH = pytest.mark.parametrize("crossplane", ["v2.3.4", "v2.4.0"])
REVISION = f"acme-old-{digest_of('old v1.0.0').removeprefix('sha256:')[:12]}"
FIELDS: Mapping[str, Any] = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
    "spec": {"packagePullPolicy": "Always", "runtimeConfigRef": {"name": "large"}, "revisionHistoryLimit": 3},
}


def story(crossplane: str = "v2.3.4") -> Story:
    told = Story(CATALOG)
    told.settings = replace(told.settings, crossplane_version=parse_version(crossplane))
    return told


def switched_off(crossplane: str = "v2.3.4", *more: str) -> Story:
    """Old is installed, and then switched off for new."""
    told = story(crossplane)
    told.lock("old v1.0.0", *more)
    told.lock("new", *more, moves=(ENTRY,))
    return told


def manifest(text: str, name: str) -> Root:
    return replace(wish(text, name=name), fields=FIELDS)


def revisions(told: Story) -> list[Any]:
    values: list[Any] = told.rendered()
    return [value for value in values if value["kind"].endswith("Revision")]


def test_the_new_package_has_a_name_of_its_own() -> None:
    assert objects_of(switched_off().current) == {"new": "acme-new", "old": "acme-old"}


@BOTH
def test_the_old_one_is_rendered_in_full_with_all_that_its_manifest_said(crossplane: str) -> None:
    told = story(crossplane)
    told.lock(manifest("old v1.0.0", "my-old"))
    before = told.packages()["my-old"]

    told.lock("new", moves=(ENTRY,))

    after = told.packages()["my-old"]
    assert before["spec"].items() <= after["spec"].items()
    assert before["metadata"]["labels"] == after["metadata"]["labels"]
    assert before["metadata"]["annotations"].items() <= after["metadata"]["annotations"].items()
    assert after["spec"].keys() >= {"packagePullPolicy", "runtimeConfigRef", "revisionHistoryLimit"}


def test_it_is_never_smaller_than_before_also_where_it_was_detached() -> None:
    told = story()
    told.lock("old v1.0.0", detach=Detach.ALL)
    before = told.packages()["acme-old"]["spec"]

    told.lock("new", moves=(ENTRY,), detach=Detach.NEEDED)

    assert before.keys() <= told.packages()["acme-old"]["spec"].keys()


@BOTH
def test_its_pin_stays(crossplane: str) -> None:
    told = switched_off(crossplane)

    assert told.pins()[f"{named('old')}:v1.0.0"] == f"{named('old')}@{digest_of('old v1.0.0')}"


@BOTH
def test_it_is_manual_skips_dependencies_and_its_health_is_ignored(crossplane: str) -> None:
    value = switched_off(crossplane).packages()["acme-old"]

    assert value["spec"] == {
        "package": f"{named('old')}:v1.0.0",
        "revisionActivationPolicy": "Manual",
        "skipDependencyResolution": True,
    }
    assert value["metadata"]["annotations"]["argocd.argoproj.io/ignore-healthcheck"] == "true"
    assert is_guarded(value)


def test_below_v2_4_its_revision_is_switched_off_by_name_in_a_part_of_a_manifest() -> None:
    (revision,) = revisions(switched_off("v2.3.4"))

    assert (revision["apiVersion"], revision["kind"]) == ("pkg.crossplane.io/v1", "ProviderRevision")
    assert (revision["metadata"]["name"], revision["spec"]) == (REVISION, {"desiredState": "Inactive"})
    options = revision["metadata"]["annotations"]["argocd.argoproj.io/sync-options"].split(",")
    assert "ServerSideApply=true" in options


def test_from_v2_4_on_the_change_of_the_spec_is_enough() -> None:
    assert revisions(switched_off("v2.4.0")) == []


def test_nothing_is_switched_off_without_knowing_the_version_of_crossplane() -> None:
    told = story()
    told.lock("old v1.0.0", crossplane_version=None)
    before = told.current

    with pytest.raises(UnknownCrossplane) as caught:
        told.lock("new", moves=(ENTRY,))

    assert caught.value.exit_code == 2
    assert caught.value.why == (f"{named('old')} is replaced",)
    assert "crossplaneVersion: v2.3.4" in caught.value.next[0]
    assert told.current == before


def test_the_version_has_to_stay_while_something_is_off() -> None:
    told = switched_off()

    with pytest.raises(UnknownCrossplane):
        told.lock("new", crossplane_version=None)


# With a dependant of the old source that was attached and stays.


@BOTH
def test_a_dependant_that_stays_is_detached_where_the_old_object_has_its_derived_name(
    crossplane: str,
) -> None:
    told = switched_off(crossplane, "user v1.0.0")

    assert states(told.current) == {"new": "v1.5.0", "old": "v1.0.0 deactivated", "user": "v1.0.0"}
    assert detached(told.current) == {"user"}


def test_below_v2_4_the_old_package_is_not_retired_while_a_stale_entry_names_it_and_that_one_is_told() -> (
    None
):
    told = switched_off("v2.3.4", "user v1.0.0")

    with pytest.raises(StillNeeded) as caught:
        told.retire("old")

    assert caught.value.exit_code == 4
    assert caught.value.why == (
        f"the cluster's Lock still names {named('old')} v1.0.0 for {named('user')} v1.0.0, and Crossplane would install "
        "it again",
    )


def test_another_version_of_the_dependant_sets_it_free() -> None:
    told = switched_off("v2.3.4", "user v1.0.0")
    told.lock("new", "user v1.1.0")

    told.retire("old")
    told.retire("old")

    assert states(told.current) == {"new": "v1.5.0", "user": "v1.1.0"}


def test_from_v2_4_on_it_is_retired_whoever_depended_on_it() -> None:
    told = switched_off("v2.4.0", "user v1.0.0")

    told.retire("old")
    told.retire("old")

    assert states(told.current) == {"new": "v1.5.0", "user": "v1.0.0"}


def test_with_another_object_name_the_dependant_has_to_be_upgraded_or_dropped_first() -> None:
    told = story()
    # As in a cluster that was adopted: user was attached to old under the name my-old.
    told.lock(replace(wish("old v1.0.0"), name="my-old"), "user v1.0.0")
    packages = told.current.packages
    entry = replace(packages[named("user")], stale_entry=(str(named("old")),))
    told.current = replace(told.current, packages={**packages, named("user"): entry})

    with pytest.raises(ImpossibleMove) as caught:
        told.lock("new", "user v1.0.0", moves=(move("old", "new"),))

    assert caught.value.exit_code == 4
    assert f"still names it for {named('user')}, and its object is named my-old" in caught.value.why[0]
    assert caught.value.next == (f"upgrade or drop what depends on {named('old')} first",)


def test_what_is_off_follows_its_successor_to_the_next_one() -> None:
    told = switched_off()

    told.lock("newest", moves=(ENTRY, move("new", "newest")))

    assert states(told.current) == {
        "new": "v1.5.0 deactivated",
        "newest": "v1.7.0",
        "old": "v1.0.0 deactivated",
    }
    for name in ("old", "new"):
        assert told.current.deactivated[named(name)].replaced_by == (named("newest"),)


# Undoing a move.


@BOTH
def test_the_opposite_entry_makes_the_old_package_automatic_again(crossplane: str) -> None:
    told = switched_off(crossplane)

    told.lock("old", moves=(OPPOSITE,))

    spec = told.packages()["acme-old"]["spec"]
    # Said once, a field stays said: what left it out could leave it as it was.
    assert (spec["revisionActivationPolicy"], spec["skipDependencyResolution"]) == ("Automatic", False)
    assert states(told.current)["old"] == "v1.0.0"


def test_who_depends_on_it_is_attached_again() -> None:
    told = switched_off("v2.3.4", "user v1.0.0")
    before = detached(told.current)

    told.lock("old", "user v1.0.0", moves=(OPPOSITE,))

    assert (before, detached(told.current)) == ({"user"}, set())


def test_its_revision_is_named_no_longer_and_that_of_the_other_one_is() -> None:
    told = switched_off()

    told.lock("old", moves=(OPPOSITE,))

    digest = digest_of("new v1.5.0").removeprefix("sha256:")
    assert [value["metadata"]["name"] for value in revisions(told)] == [f"acme-new-{digest[:12]}"]


def test_the_other_one_is_the_deactivated_one() -> None:
    told = switched_off()

    told.lock("old", moves=(OPPOSITE,))

    assert states(told.current) == {"new": "v1.5.0 deactivated", "old": "v1.0.0"}
    assert told.current.deactivated[named("new")].replaced_by == (named("old"),)
    assert told.packages()["acme-new"]["spec"]["revisionActivationPolicy"] == "Manual"


def commits(crossplane: str) -> tuple[list[Any], list[Any], list[Any]]:
    """What is rendered before a move, after it, and after it was undone."""
    told = story(crossplane)
    rendered = []
    for roots, entries in (("old v1.0.0", ()), ("new", (ENTRY,)), ("old v1.0.0", (OPPOSITE,))):
        told.lock(roots, moves=entries)
        rendered.append(told.rendered())
    return rendered[0], rendered[1], rendered[2]


def controller(cluster: Cluster) -> str | None:
    return cluster.controller(("CustomResourceDefinition", "olds.acme.org"))


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_in_a_cluster_the_opposite_entry_hands_everything_back(crossplane: str, seed: int) -> None:
    cluster = Cluster(CATALOG, crossplane=crossplane, seed=seed)

    for objects in commits(crossplane):
        cluster.sync(objects)

    assert str(controller(cluster)).startswith("acme-old-")
    assert cluster.inactive() == {("Provider", "acme-new")}


@BOTH
@pytest.mark.parametrize("seed", range(3))
def test_a_git_revert_leaves_the_new_package_in_control(crossplane: str, seed: int) -> None:
    first, second, _ = commits(crossplane)
    cluster = Cluster(CATALOG, crossplane=crossplane, seed=seed)

    for objects in (first, second, first):
        cluster.sync(objects)

    assert cluster.left_behind() == {("Provider", "acme-new")}
    assert str(controller(cluster)).startswith("acme-new-")


# What somebody wrote into a lock.


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder in which old is deactivated, since new has replaced it."""
    world = World(tmp_path)
    for name in ("old", "new"):
        world.publish(f"{name} v1.0.0", kind="Provider", crds=["olds.acme.org"])
    world.publish("other v1.0.0")
    project = world.project("shop", "old", more=KNOWN)
    assert run(["-q", "lock", str(project)]) == 0
    world.project("shop", "new", more=KNOWN + moves("old", "new"))
    assert run(["-q", "lock", str(project)]) == 0
    return project


KNOWN = "crossplaneVersion: v2.3.4\n"
REPLACED_BY = f"  replacedBy:\n  - {HOME}/new\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (REPLACED_BY, "", "replacedBy is missing"),
        (REPLACED_BY, "  replacedBy:\n  - new\n", "replacedBy[0]"),
        (REPLACED_BY, f"{REPLACED_BY}  state: orphaned\n", "LockDetails.deactivated[0].state: unknown field"),
        (REPLACED_BY, f"{REPLACED_BY}  unclaimed:\n    Secret: none\n", "expected a number of objects"),
        ("  object: acme-old\n", "  object: acme-new\n", f"the Provider acme-new also belongs to {HOME}/new"),
    ],
)
def test_a_package_that_is_off_and_cannot_be_read_is_refused(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "lock", str(shop))

    assert (refused.code, text_of(shop)) == (2, edited)
    assert refused.what == f"{shop / LOCK_FILE} is not a valid lock"
    assert problem in " ".join(refused.why)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            REPLACED_BY,
            f"  replacedBy:\n  - {HOME}/gone\n",
            f"{HOME}/old is replacedBy {HOME}/gone, which does not replace it",
        ),
        (
            f"  replaces:\n  - source: {HOME}/old\n    strategy: deactivate\n    consent: moves\n",
            "",
            f"{HOME}/old is replacedBy {HOME}/new, which does not replace it",
        ),
    ],
)
def test_a_package_that_is_off_for_one_that_says_nothing_of_it_is_out_of_date_and_put_right_by_locking(
    old: str, new: str, problem: str, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(shop)
    edited = edit_lock(shop, old, new)

    refused = refusal(capsys, "render", str(shop))

    assert (refused.code, text_of(shop)) == (3, edited)
    assert problem in refused.why
    assert run(["-q", "lock", str(shop)]) == 0
    assert text_of(shop) == before


# With objects that nobody else brings.


@pytest.fixture
def outgrown(tmp_path: Path) -> Path:
    """A folder with a replaced package that alone brings some objects."""
    world = World(tmp_path)
    world.publish("old v1.0.0", kind="Provider", crds=["olds.acme.org", "rest.acme.org"])
    world.publish("new v1.0.0", kind="Provider", crds=["olds.acme.org"])
    project = world.project("shop", "old", more=KNOWN)
    run(["lock", str(project)])
    world.project("shop", "new", more=KNOWN + moves("old", "new"))
    run(["lock", str(project)])
    return project


def test_what_only_the_old_package_brings_is_named_before_it_is_let_go_of(
    outgrown: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text_of(outgrown)

    refused = refusal(capsys, "retire", "old", "-C", str(outgrown))
    kept = text_of(outgrown)
    agreed = run(["-q", "retire", "old", "-C", str(outgrown), "--delete-objects"])

    assert (refused.code, kept, agreed) == (4, before, 0)
    assert refused.why == [
        f"with {HOME}/old go 1 CustomResourceDefinition, and every resource of such a kind"
    ]


def printed_retire(text: str) -> list[str]:
    """The arguments of the command that a text ends with."""
    return shlex.split(text.partition("xplock ")[2].splitlines()[0].rstrip(")"))


@pytest.fixture
def released(outgrown: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, str]:
    """A folder without the guard of a package that alone brings some objects; and what `retire` printed."""
    capsys.readouterr()
    run(["retire", "old", "-C", str(outgrown), "--delete-objects"])
    return outgrown, capsys.readouterr().out


@pytest.mark.parametrize("place", ["retire", "retire again", "why"])
def test_the_printed_second_step_repeats_that_objects_may_be_deleted(
    place: str, released: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    project, first = released
    commands = {
        "retire": ["--version"],
        "retire again": ["retire", "old", "-C", str(project), "--delete-objects"],
        "why": ["why", f"{HOME}/old", str(project)],
    }
    run(commands[place])
    printed = capsys.readouterr()

    done = run(["-q", *printed_retire(first if place == "retire" else printed.out + printed.err)])

    assert done == 0
    assert not (read_lock(project, Limits()) or Lock()).deactivated


# Whose replacement is gone.


def test_a_replacement_that_nobody_asks_for_any_more_stays_for_what_is_off() -> None:
    told = switched_off()

    told.lock("user v2.0.0")

    assert states(told.current) == {
        "new": "v1.5.0 orphaned",
        "old": "v1.0.0 deactivated",
        "user": "v2.0.0",
    }
    # It goes on to have all that the other one installed.
    assert (told.notes, told.current.deactivated[named("old")].unclaimed) == ((), {})


def test_without_guards_a_replacement_is_not_dropped_while_something_is_off_for_it() -> None:
    told = switched_off()
    told.lock("new", guard=False)
    before = told.current

    with pytest.raises(LosesProvided) as caught:
        told.lock("user v2.0.0")

    assert caught.value.exit_code == 4
    assert caught.value.why == (
        f"{named('old')} is deactivated for {named('new')}, which is neither here nor provided",
    )
    assert told.current == before


def test_a_replacement_that_somebody_took_out_of_the_lock_is_missed(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = read_lock(shop, Limits()) or Lock()
    (shop / LOCK_FILE).write_text(format_lock(replace(lock, packages={})))
    World(shop.parent).project("shop", "other", more=KNOWN)
    edited = text_of(shop)

    codes = [refusal(capsys, command, str(shop)) for command in ("render", "lock")]

    assert ([refused.code for refused in codes], text_of(shop)) == ([3, 4], edited)
    assert f"{HOME}/old is replacedBy {HOME}/new, which does not replace it" in codes[0].why
    assert codes[1].why == [f"{HOME}/old is deactivated for {HOME}/new, which is neither here nor provided"]
