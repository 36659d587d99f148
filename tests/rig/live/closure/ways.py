"""Two ways through Argo CD to one closure: rendered from its lock, and its root alone, which Crossplane completes."""

import time

from rig.live.closure.packages import Closure
from rig.live.closure.sync_times import SyncTimes, SyncWatch
from rig.live.lock_files import read_documents
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.kinds import APPLICATIONS, CONFIGURATIONS, FUNCTIONS, IMAGE_CONFIGS, PROVIDERS

# Dependants first: of a package that is still depended on, Crossplane would make another one.
_REMOVED = (CONFIGURATIONS, PROVIDERS, FUNCTIONS, IMAGE_CONFIGS)


def prepare_locked(cluster: LiveCluster, closure: Closure) -> Team:
    """Return a team that has locked the root, and not pushed it yet."""
    team = _ask_for_root(cluster, closure)
    team.lock()
    lock, _ = read_documents(team.folder)
    assert {entry["source"] for entry in lock["packages"]} == closure.sources
    return team


def prepare_bare(cluster: LiveCluster, closure: Closure) -> Team:
    """Return a team with the same files and no lock, whose Application applies them as they are."""
    team = _ask_for_root(cluster, closure)
    source = team.manifest["spec"]["source"]
    del source["plugin"]
    source["directory"] = {"recurse": False}
    return team


def settle(cluster: LiveCluster, closure: Closure, team: Team) -> SyncTimes:
    """Push, which makes the Application, and wait until all packages run; return how long each step took."""
    seen: list[SyncTimes] = []
    with SyncWatch(cluster.client, team.application.name, closure.sources) as watch:
        pushed = time.monotonic()
        commit = team.commit_and_push()

        def all_run() -> bool:
            times = watch.times(pushed)
            seen.extend([times] if times else [])
            return bool(seen)

        cluster.wait_until(all_run, f"all {len(closure.sources)} packages run")
    team.application.wait_synced(commit)
    return seen[0]


def clear(cluster: LiveCluster, team: Team) -> None:
    """Delete the Application and everything that it led to, and wait until Crossplane has forgotten it."""
    # It has no finalizer, so what it applied stays.
    cluster.client.delete(APPLICATIONS, team.application.name)
    cluster.wait_until(lambda: _is_empty(cluster), "everything is gone")


def _ask_for_root(cluster: LiveCluster, closure: Closure) -> Team:
    team = cluster.team(closure.name)
    team.write("registry.yaml", closure.image_config)
    team.write("caas.yaml", closure.manifest)
    return team


def _is_empty(cluster: LiveCluster) -> bool:
    """Delete what is there; return whether nothing was."""
    left = [(kind, value) for kind in _REMOVED for value in cluster.client.objects(kind)]
    for kind, value in left:
        if "deletionTimestamp" not in value["metadata"]:
            cluster.client.delete(kind, value["metadata"]["name"])
    return not left and not cluster.revisions() and not cluster.locked()
