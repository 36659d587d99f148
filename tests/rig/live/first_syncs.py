"""First syncs of small, deep closures, in which Argo CD and Crossplane create the same packages at once."""

import json
from collections.abc import Sequence
from functools import partial

from rig.builders.projects import at
from rig.live.history import History
from rig.live.operations import failures_of
from rig.live.package_registry import PackageRegistry
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import APPLICATIONS
from rig.servers.slow_admission import slow_admission

# Each package depends on all that follow. Argo CD applies packages by their names, and waits where the kind changes.
_LETTERS = "abcdefgh"
_KINDS = ("Configuration", "Provider")
# In this time Crossplane installs a package and creates the next one: with client-side apply, 3 of 8 first syncs failed
# (measured, on a busy machine). Without it, the two have milliseconds to meet.
_SECONDS = 3.0


def first_syncs(cluster: LiveCluster, names: Sequence[str]) -> dict[str, list[str]]:
    """Let teams push their first commits at the same time; return why operations of each of them failed."""
    teams = [_team(cluster, name) for name in names]
    slow = slow_admission(cluster.client, cluster.folder / f"admission-{names[0]}", _SECONDS)
    with slow, History(cluster.client, APPLICATIONS) as seen:
        commits = [team.commit_and_push() for team in teams]
        for team, commit in zip(teams, commits, strict=True):
            team.application.wait_until(partial(_has_applied, commit), f"{commit} is applied")
    # An operation is told of several times.
    return {name: sorted(set(failures_of(name, seen.events))) for name in names}


def _has_applied(commit: str, value: Object) -> bool:
    # Whether it is healthy is no question here, and takes minutes for so many packages.
    last = value["status"].get("operationState", {})
    return (last.get("phase"), last.get("syncResult", {}).get("revision")) == ("Succeeded", commit)


def _team(cluster: LiveCluster, name: str) -> Team:
    _publish_closure(cluster.registry, name)
    team = cluster.team(name)
    roots = [{"package": f"{at(f'{name}-{_LETTERS[0]}')}:v1.0.0"}]
    team.write("xplock.yaml", json.dumps({"roots": roots}))
    team.lock()
    return team


def _publish_closure(registry: PackageRegistry, name: str) -> None:
    """Publish packages that depend on each other, with kinds in an API group of their own."""
    packages = [f"{name}-{letter}" for letter in _LETTERS]
    for number in reversed(range(len(packages))):
        package, kind = packages[number], _KINDS[number % len(_KINDS)]
        definitions = [f"{_LETTERS[number]}things.{name}.example.org"]
        registry.publish(
            f"{package} v1.0.0",
            dict.fromkeys(packages[number + 1 :], "*"),
            kind=kind,
            crds=definitions if kind == "Provider" else (),
            xrds=definitions if kind == "Configuration" else (),
        )
