"""A large closure of real packages goes all the way: locked, pushed, applied by Argo CD, installed by Crossplane."""

from collections.abc import Callable
from pathlib import Path

from rig.git.repositories import git
from rig.live.application import conditions_of, package_of
from rig.live.history import History
from rig.live.kinds import APPLICATIONS, REVISIONS
from rig.live.large_closure import (
    format_comparison,
    lock_closure,
    locked_sources,
    real_closure,
    settle_alone,
    settle_locked,
)
from rig.live.lock_files import attached_entries, locked_digests
from rig.live.operations import failures_of
from rig.live.platform import LiveCluster, Platform
from rig.live.snapshots import WELL
from rig.live.team import Team


def test_one_sync_installs_what_is_locked_and_nothing_else(
    platform: Platform, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with real_closure(tmp_path) as closure:
        with platform.cluster("locked") as cluster:
            team = lock_closure(cluster, closure)
            seconds, seen = settle_and_watch(cluster, team)

            see_that_one_sync_did_it(team, seen)
            see_that_it_is_what_was_locked(cluster, team, seen)
        sources = locked_sources(team.folder)
        with platform.cluster("alone") as cluster:
            seconds_alone = settle_alone(cluster, closure, sources)

    assert len(sources) >= 25
    # How much sooner depends on the machine; it is told, and not judged.
    record_property("measured", format_comparison(len(sources), seconds, seconds_alone))


def settle_and_watch(cluster: LiveCluster, team: Team) -> tuple[float, History]:
    """Push; return how long it took until everything ran, and all that happened."""
    with History(cluster.client, APPLICATIONS, *REVISIONS) as seen:
        seconds = settle_locked(cluster, team)
        team.application.wait_synced(pushed(team))
    return seconds, seen


def see_that_one_sync_did_it(team: Team, seen: History) -> None:
    status = team.application.get()["status"]
    assert failures_of(team.application.name, seen.events) == []
    assert status["operationState"]["phase"] == "Succeeded"
    assert (status["sync"]["status"], status["health"]["status"]) == ("Synced", "Healthy")
    assert [sync["revision"] for sync in status["history"]] == [pushed(team)]


def see_that_it_is_what_was_locked(cluster: LiveCluster, team: Team, seen: History) -> None:
    ever = [value for event, value in seen.events if event == "ADDED" and value["kind"].endswith("Revision")]
    digests, packages, revisions = locked_digests(team.folder), cluster.packages(), cluster.revisions()
    assert packages.keys() == digests.keys()
    for name, package in packages.items():
        assert conditions_of(package) == WELL
        assert package["status"]["resolvedPackage"].endswith(f"@{digests[name]}")
    assert sorted(revisions) == sorted(value["metadata"]["name"] for value in ever)
    assert sorted(package_of(value) for value in revisions.values()) == sorted(digests)
    for revision in revisions.values():
        digest = digests[package_of(revision)]
        assert revision["status"]["resolvedImage"].endswith(f"@{digest}")
    assert cluster.locked() == attached_entries(team.folder)


def pushed(team: Team) -> str:
    """Return the commit that the team pushed last."""
    return git(team.root, "rev-parse", "HEAD")
