"""A large closure of real packages goes all the way: locked, pushed, applied by Argo CD, installed by Crossplane."""

from collections.abc import Callable

from rig.git.repositories import git
from rig.live.application import WELL, conditions_of, package_of
from rig.live.closure.comparison import Comparison
from rig.live.closure.packages import publish_closure
from rig.live.closure.ways import clear, prepare_bare, prepare_locked, settle
from rig.live.history import History
from rig.live.lock_files import attached_entries, locked_digests
from rig.live.operations import failures_of
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.kinds import APPLICATIONS, REVISIONS


def test_one_sync_installs_what_is_locked_and_nothing_else(
    cluster: LiveCluster, record_property: Callable[[str, object], None]
) -> None:
    closure = publish_closure(cluster.registry, "locked")
    team = prepare_locked(cluster, closure)
    with History(cluster.client, APPLICATIONS, *REVISIONS) as seen:
        locked = settle(cluster, closure, team)

    see_that_one_sync_did_it(team, seen)
    see_that_it_is_what_was_locked(cluster, team, seen)
    assert len(closure.sources) >= 25
    clear(cluster, team)
    other = publish_closure(cluster.registry, "bare")
    bare = settle(cluster, other, prepare_bare(cluster, other))
    # How much sooner depends on the machine; it is told, and not judged.
    record_property("measured", Comparison(len(closure.sources), [locked], [bare]).summary)


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
