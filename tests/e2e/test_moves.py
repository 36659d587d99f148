"""Moves in a real cluster: whatever makes room for another package, no object is lost, and nothing else falls ill."""

from collections import Counter

import pytest
from rig.builders.lock_story import is_guarded
from rig.live.application import WELL, conditions_of
from rig.live.history import find_doubles
from rig.live.move_stories import CHAPTERS, ENDED, FUNCTION, GONE, INSTALLED, MOVED, STORIES, UPGRADED
from rig.live.platform import Platform
from rig.live.revisions import BY_REVISION, KNOWN_AHEAD
from rig.live.snapshots import Snapshot, image_source
from rig.live.story_runner import Story, Telling, Told
from rig.servers.client import Object

MINUTE = 60
MOVED_LATER, GONE_LATER = "a minute after the move", "a minute after the end"
ALL = (INSTALLED, MOVED, MOVED_LATER, UPGRADED, ENDED, GONE, GONE_LATER)
PACKAGE_KINDS = ("Provider", "Configuration", "Function")
EACH_CHAPTER = pytest.mark.parametrize("chapter", ALL)
EACH_WINDOW = pytest.mark.parametrize("chapter", [MOVED_LATER, GONE_LATER])
EACH_STORY = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)

# Packages that are switched off, and when.
OFF = {
    "replaces-provider-store": (MOVED, MOVED_LATER, UPGRADED, ENDED),
    "kept-provider-sql": (MOVED, MOVED_LATER, UPGRADED, ENDED),
    "family-provider-cloud": (MOVED, MOVED_LATER, UPGRADED, ENDED),
    "alias-provider-mq": (UPGRADED, ENDED),
    "back-provider-vm": (MOVED, MOVED_LATER),
    "back-labs-provider-vm": (UPGRADED, ENDED),
}
FAMILY_KINDS = {
    "dbs": "family-provider-cloud-db",
    "mails": "family-provider-cloud-mail",
    "providerconfigs": "family-provider-family-cloud",
}
EACH_RETIRED = pytest.mark.parametrize(
    "package",
    [
        "replaces-provider-store",
        "kept-provider-sql",
        "alias-provider-mq",
        "family-provider-cloud",
        "back-labs-provider-vm",
        "function-labs-function-shape",
    ],
)


@pytest.fixture(scope="module")
def told(platform: Platform) -> Told:
    """All stories, told side by side in one cluster."""
    with platform.cluster("moves") as cluster, Telling(cluster, STORIES) as telling:
        for chapter in CHAPTERS:
            telling.tell(chapter)
            if chapter == MOVED:
                telling.watch(MOVED_LATER, MINUTE)
        telling.watch(GONE_LATER, MINUTE)
    return telling.told


def seen(told: Told, chapter: str) -> Snapshot:
    return told.chapters[chapter].seen


def holders(told: Told, chapter: str, team: str) -> dict[str, str]:
    """Return who controls the kinds of a team, and from which source the program comes that each of them runs."""
    crds = [crd for story in STORIES if story.name == team for crd in story.crds]
    now = seen(told, chapter)
    return {package: now.running()[package] for package in map(now.controller, crds)}


def switched_off(chapter: str) -> set[str]:
    return {name for name, chapters in OFF.items() if chapter in chapters}


# In all stories.


@EACH_STORY
def test_every_object_is_the_one_that_was_created(told: Told, story: Story) -> None:
    crds = [*story.crds, story.composite] if story.composite else story.crds

    identities = [{crd: identity(seen(told, chapter).objects[crd]) for crd in crds} for chapter in ALL]

    assert crds
    assert identities == identities[:1] * len(ALL)


def identity(value: Object) -> tuple[str, str]:
    """Return what an object is known by, and the part of it that nobody changes."""
    return value["metadata"]["uid"], value["spec"]["keep"]


@EACH_CHAPTER
def test_nothing_but_what_is_switched_off_is_unhealthy(told: Told, chapter: str) -> None:
    assert seen(told, chapter).unhealthy() == switched_off(chapter)


@EACH_CHAPTER
def test_one_revision_of_each_package_is_active_and_none_of_what_is_switched_off(
    told: Told, chapter: str
) -> None:
    now = seen(told, chapter)

    assert Counter(now.active()) == Counter(now.packages.keys() - switched_off(chapter))


@EACH_CHAPTER
def test_the_programs_of_what_is_switched_off_are_gone_and_all_others_run(told: Told, chapter: str) -> None:
    now = seen(told, chapter)

    programs = {name for name, value in now.packages.items() if value["kind"] != "Configuration"}
    assert now.running().keys() == programs - switched_off(chapter)
    assert len(now.deployments) == len(now.running())


@EACH_CHAPTER
def test_a_revision_is_applied_where_it_is_switched_off_and_from_v2_4_on_none_is(
    told: Told, chapter: str
) -> None:
    applied = seen(told, chapter).applied_revisions()

    assert applied == (switched_off(chapter) if BY_REVISION else set())


@EACH_CHAPTER
def test_the_lock_of_the_cluster_holds_what_ours_says_and_the_stale_entries_that_it_knows_of(
    told: Told, chapter: str
) -> None:
    now = told.chapters[chapter]

    assert [entry for entry in now.seen.entries if entry["source"] not in now.stale] == now.attached
    assert {entry["source"] for entry in now.seen.entries} >= now.stale


@EACH_STORY
def test_a_commit_takes_one_operation_and_then_all_is_synced_and_healthy(told: Told, story: Story) -> None:
    assert told.operations[story.name] == told.commits[story.name]
    for chapter in ALL:
        status = seen(told, chapter).applications[story.name]["status"]
        assert (status["sync"]["status"], status["health"]["status"]) == ("Synced", "Healthy")


def test_no_source_is_there_twice_for_a_moment(told: Told) -> None:
    assert find_doubles(told.history.moments()) == set()


# In the minute after a move, and after the end.


@EACH_WINDOW
def test_nothing_comes_and_nothing_goes(told: Told, chapter: str) -> None:
    events = told.windows[chapter].events

    assert [(event, value["metadata"]["name"]) for event, value in events if event != "MODIFIED"] == []


@EACH_WINDOW
def test_argo_cd_starts_nothing(told: Told, chapter: str) -> None:
    started = {
        (name, value["status"]["operationState"]["startedAt"])
        for moment in told.windows[chapter].moments()
        for (kind, name), value in moment.items()
        if kind == "Application"
    }

    assert sorted(name for name, _ in started) == sorted(told.commits)


@EACH_WINDOW
def test_no_package_falls_ill_for_a_moment(told: Told, chapter: str) -> None:
    for moment in told.windows[chapter].moments():
        packages = {name: value for (kind, name), value in moment.items() if kind in PACKAGE_KINDS}
        assert {n for n, value in packages.items() if conditions_of(value) != WELL} == switched_off(chapter)


# Who controls the kinds, and whose program runs.


def test_a_package_hands_over_to_the_one_that_says_that_it_replaces_it(told: Told) -> None:
    before, after = (holders(told, chapter, "replaces") for chapter in (INSTALLED, MOVED))

    assert before == {"replaces-provider-store": "xpkg.example.org/replaces/provider-store"}
    assert after == {"replaces-provider-storage": "xpkg.example.org/replaces/provider-storage"}


def test_it_does_so_too_where_somebody_still_depends_on_it(told: Told) -> None:
    before, after = (holders(told, chapter, "kept") for chapter in (INSTALLED, MOVED))

    assert before == {"kept-provider-sql": "xpkg.example.org/kept/provider-sql"}
    assert after == {"kept-provider-database": "xpkg.example.org/kept/provider-database"}


def test_an_alias_is_the_old_object_with_the_new_bytes_until_it_ends(told: Told) -> None:
    before, moved, ended = (holders(told, chapter, "alias") for chapter in (INSTALLED, MOVED, UPGRADED))

    assert before == {"alias-provider-mq": "xpkg.example.org/alias/provider-mq"}
    assert moved == {"alias-provider-mq": "xpkg.example.org/alias/provider-queue"}
    assert ended == {"alias-provider-queue": "xpkg.example.org/alias/provider-queue"}


def test_the_clusters_lock_knows_an_alias_by_the_old_source_and_the_new_tag(told: Told) -> None:
    entries = {entry["source"]: entry["version"] for entry in seen(told, MOVED).entries}

    assert entries["xpkg.example.org/alias/provider-mq"] == "v1.5.0"
    assert "xpkg.example.org/alias/provider-queue" not in entries


def test_an_alias_of_the_same_bytes_in_another_registry_ends_as_the_same_object_with_these_bytes(
    told: Told,
) -> None:
    name = "mirror-provider-dns"
    revisions = [seen(told, chapter).packages[name]["status"]["currentRevision"] for chapter in ALL]

    assert len({seen(told, chapter).digest(name) for chapter in ALL}) == 1
    # From v2.4 on, Crossplane makes another revision of the same bytes when the object names another source.
    assert [revision == revisions[0] for revision in revisions] == [
        KNOWN_AHEAD or chapter in (INSTALLED, MOVED, MOVED_LATER, UPGRADED) for chapter in ALL
    ]
    assert [
        seen(told, chapter).packages[name]["spec"]["package"] for chapter in (MOVED, UPGRADED, ENDED)
    ] == [
        "old.example.org/mirror/provider-dns:v1.0.0",
        "old.example.org/mirror/provider-dns:v1.0.0",
        "xpkg.example.org/mirror/provider-dns:v1.0.0",
    ]
    for chapter in (MOVED, UPGRADED, ENDED):
        assert holders(told, chapter, "mirror") == {name: "xpkg.example.org/mirror/provider-dns"}


def test_an_object_that_is_given_another_source_goes_on_with_the_bytes_of_that(told: Told) -> None:
    before, after = (holders(told, chapter, "repoint") for chapter in (INSTALLED, MOVED))

    assert before == {"repoint-provider-net": "old.example.org/repoint/provider-net"}
    assert after == {"repoint-provider-net": "xpkg.example.org/repoint/provider-net"}


def test_each_member_of_a_family_takes_over_the_kinds_that_it_brings(told: Told) -> None:
    before, after = (
        {crd: seen(told, chapter).controller(f"{crd}.family.example.org") for crd in FAMILY_KINDS}
        for chapter in (INSTALLED, MOVED)
    )

    assert before == dict.fromkeys(FAMILY_KINDS, "family-provider-cloud")
    assert after == FAMILY_KINDS


def test_the_opposite_move_gives_everything_back(told: Told) -> None:
    before, moved, back = (holders(told, chapter, "back") for chapter in (INSTALLED, MOVED, UPGRADED))

    assert moved == {"back-labs-provider-vm": "xpkg.example.org/back-labs/provider-vm"}
    assert before == back == {"back-provider-vm": "xpkg.example.org/back/provider-vm"}


# Dependants of the old source that are not upgraded with it.


@pytest.mark.parametrize(
    ("dependant", "attached"),
    [
        ("alias-archive", True),
        ("mirror-app", True),
        ("kept-report", False),
        ("repoint-app", False),
        ("family-shop", False),
        ("back-app", False),
        ("function-flow", False),
    ],
)
def test_a_dependant_stays_as_it_is_and_is_attached_only_where_the_cluster_still_knows_what_it_names(
    told: Told, dependant: str, attached: bool
) -> None:
    before, after = (seen(told, chapter).packages[dependant] for chapter in (INSTALLED, MOVED_LATER))

    assert seen(told, INSTALLED).digest(dependant) == seen(told, MOVED_LATER).digest(dependant)
    # From v2.4 on, Crossplane makes another revision of the same bytes when a package is detached.
    same = before["status"]["currentRevision"] == after["status"]["currentRevision"]
    assert same is (KNOWN_AHEAD or attached)
    assert conditions_of(after) == WELL
    assert before["spec"]["skipDependencyResolution"] is False
    assert after["spec"]["skipDependencyResolution"] is not attached


@pytest.mark.parametrize(
    ("dependant", "chapter"),
    [
        ("alias-archive", UPGRADED),
        ("alias-report", UPGRADED),
        ("mirror-app", ENDED),
        ("repoint-app", UPGRADED),
        ("family-shop", UPGRADED),
        ("back-app", UPGRADED),
        ("function-flow", UPGRADED),
    ],
)
def test_it_is_attached_again_when_the_cluster_knows_all_that_it_names(
    told: Told, dependant: str, chapter: str
) -> None:
    assert seen(told, chapter).packages[dependant]["spec"]["skipDependencyResolution"] is False


# Functions.


@pytest.mark.parametrize(
    ("chapter", "shape", "ready"),
    [
        (
            INSTALLED,
            "xpkg.example.org/function-labs/function-shape",
            "old.example.org/function/function-ready",
        ),
        (MOVED, "xpkg.example.org/function-labs/function-shape", "xpkg.example.org/function/function-ready"),
        (UPGRADED, "xpkg.example.org/function/function-shape", "xpkg.example.org/function/function-ready"),
        (GONE, "xpkg.example.org/function/function-shape", "xpkg.example.org/function/function-ready"),
    ],
)
def test_a_composite_goes_on_reconciling_with_the_functions_that_its_composition_names(
    told: Told, chapter: str, shape: str, ready: str
) -> None:
    composite = seen(told, chapter).objects[FUNCTION.composite]

    answers = {one["type"]: one.get("message", "") for one in composite["status"]["conditions"]}
    named = "function-function-shape" if chapter in (UPGRADED, GONE) else "function-labs-function-shape"
    assert conditions_of(composite)["Synced"] == "True"
    assert image_source(answers[named]) == shape
    assert image_source(answers["function-function-ready"]) == ready


def test_both_functions_stay_active_where_the_new_one_has_another_name(told: Told) -> None:
    running = seen(told, MOVED).running()

    assert running["function-labs-function-shape"] == "xpkg.example.org/function-labs/function-shape"
    assert running["function-function-shape"] == "xpkg.example.org/function/function-shape"


# Letting go.


@pytest.mark.parametrize(
    ("team", "dependant"), [("kept", "kept/report v1.0.0"), ("family", "family/shop v1.0.0")]
)
def test_what_a_stale_entry_names_is_not_let_go_of_and_from_v2_4_on_there_are_none(
    told: Told, team: str, dependant: str
) -> None:
    code, text = told.early[team, UPGRADED]

    refused = f"for xpkg.example.org/{dependant}, and Crossplane would install it again" in text
    assert (code, refused) == ((4, True) if KNOWN_AHEAD else (0, False))
    assert bool(told.chapters[MOVED].stale) is KNOWN_AHEAD


@EACH_RETIRED
def test_the_first_step_takes_the_guard_off_and_leaves_the_package(told: Told, package: str) -> None:
    before, after = (seen(told, chapter).packages[package] for chapter in (UPGRADED, ENDED))

    assert (is_guarded(before), is_guarded(after)) == (True, False)
    assert before["metadata"]["uid"] == after["metadata"]["uid"]


@EACH_RETIRED
def test_the_second_step_takes_the_package_away_with_its_revisions_and_pins(told: Told, package: str) -> None:
    now = seen(told, GONE)

    assert package not in now.packages
    assert [name for name, value in now.revisions.items() if package == now.package_of(name)] == []
    assert [name for name in now.image_configs if name.startswith(f"xplock-{package}-v")] == []


@EACH_RETIRED
def test_it_has_not_come_back_a_minute_later(told: Told, package: str) -> None:
    assert package not in seen(told, GONE_LATER).packages


@EACH_STORY
def test_all_kinds_are_still_there_in_the_end_and_have_one_controller(told: Told, story: Story) -> None:
    before, after = (seen(told, chapter) for chapter in (INSTALLED, GONE_LATER))

    for crd in story.crds:
        assert after.definitions[crd]["metadata"]["uid"] == before.definitions[crd]["metadata"]["uid"]
        assert after.controller(crd) in after.packages
