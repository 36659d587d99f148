"""`diff` against the Lock of a cluster: nothing while all is well, and after a change by hand what was changed."""

import json
from typing import Any

from rig.builders.projects import at
from rig.builds.recipes import CROSSPLANE
from rig.live.kubectl import diff_live, kubectl
from rig.live.lock_files import attached_entries, read_documents
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.revisions import KNOWN_AHEAD
from rig.live.team import Team
from rig.servers.kinds import APPLICATIONS

_CROSSPLANE = ("--crossplane-version", CROSSPLANE.version)
_EQUAL = "No differences.\n"


def test_the_cluster_is_equal_to_the_lock_until_somebody_changes_it_by_hand(cluster: LiveCluster) -> None:
    team = install(cluster)
    # One of five is detached, and the cluster's Lock does not know it.
    assert (len(attached_entries(team.folder)), len(read_documents(team.folder)[0]["packages"])) == (4, 5)
    assert diff_live(cluster, team) == _EQUAL
    assert diff_live(cluster, team, *_CROSSPLANE) == _EQUAL

    change_by_hand(cluster, team)

    assert diff_live(cluster, team, code=3) == (
        f"Updated {at('provider-nop')} v1.1.0 -> v1.0.0 (downgrade)\nRemoved {at('function-extra')} v0.2.0\n"
    )
    found = json.loads(diff_live(cluster, team, "-o", "json", *_CROSSPLANE, code=3))
    assert (found["equal"], found["added"]) == (False, [])
    assert found["changed"] == [
        {
            "source": at("provider-nop"),
            "step": "downgrade",
            "mayBreak": True,
            "version": {"old": "v1.1.0", "new": "v1.0.0"},
            **revisions(cluster, team, at("provider-nop")),
        }
    ]
    assert [package["source"] for package in found["removed"]] == [at("function-extra")]

    undo(cluster, team)

    assert diff_live(cluster, team, *_CROSSPLANE) == _EQUAL


def revisions(cluster: LiveCluster, team: Team, source: str) -> dict[str, dict[str, str]]:
    """Return the revision that a source has and should have, if a lock knows its name ahead."""
    if not KNOWN_AHEAD:
        return {}
    entries = {"old": cluster.locked(), "new": attached_entries(team.folder)}
    names = {key: one["name"] for key, found in entries.items() for one in found if one["source"] == source}
    return {"revision": names}


def install(cluster: LiveCluster) -> Team:
    """Install packages of which one depends on another under a name of the user's, for which it is detached."""
    registry = cluster.registry
    registry.publish("provider-nop v1.0.0", kind="Provider", crds=["nops.nop.example.org"])
    registry.publish("function-nop v0.1.0", kind="Function")
    registry.publish("app v1.0.0", {"provider-nop": ">=v1.0.0", "function-nop": "*"})
    registry.publish("provider-store v1.0.0", kind="Provider", crds=["buckets.store.example.org"])
    registry.publish("archive v1.0.0", {"provider-store": "*"})
    # Without a version in its settings: it is told on the command line, or unknown.
    team = cluster.team(crossplane="")
    team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))
    team.write("archive.yaml", package_manifest("Configuration", "archive", f"{at('archive')}:v1.0.0"))
    team.write("store.yaml", package_manifest("Provider", "store", f"{at('provider-store')}:v1.0.0"))
    team.lock()
    team.sync()
    return team


def change_by_hand(cluster: LiveCluster, team: Team) -> None:
    """Upgrade a package, which Argo CD must be told to leave alone, and install another one."""
    cluster.registry.publish("provider-nop v1.1.0", kind="Provider", crds=["nops.nop.example.org"])
    cluster.registry.publish("function-extra v0.2.0", kind="Function")
    patch(cluster, "applications.argoproj.io", team.application.name, {"syncPolicy": {"automated": None}})
    team.application.wait_until(lambda _: True, "Argo CD has seen that")
    package = f"{at('provider-nop')}:v1.1.0"
    patch(cluster, "providers.pkg.crossplane.io", "acme-provider-nop", {"package": package})
    extra = package_manifest("Function", "extra", f"{at('function-extra')}:v0.2.0")
    kubectl(cluster, "apply", "-f", "-", stdin=extra)
    wait_for_versions(cluster, {at("provider-nop"): "v1.1.0", at("function-extra"): "v0.2.0"})


def undo(cluster: LiveCluster, team: Team) -> None:
    kubectl(cluster, "delete", "functions.pkg.crossplane.io", "extra")
    automated = {"prune": True, "selfHeal": True}
    patch(
        cluster, "applications.argoproj.io", team.application.name, {"syncPolicy": {"automated": automated}}
    )
    wait_for_versions(cluster, {at("provider-nop"): "v1.0.0"})


def patch(cluster: LiveCluster, kind: str, name: str, spec: dict[str, Any]) -> None:
    space = ["--namespace", APPLICATIONS.namespace] if kind.startswith(APPLICATIONS.plural) else []
    kubectl(cluster, "patch", kind, name, *space, "--type", "merge", "--patch", json.dumps({"spec": spec}))


def wait_for_versions(cluster: LiveCluster, changed: dict[str, str]) -> None:
    """Wait until the Lock has these versions, and nothing else than these and what was installed first."""
    first = {at("app"): "v1.0.0", at("function-nop"): "v0.1.0", at("provider-store"): "v1.0.0"}
    cluster.wait_until(
        lambda: {entry["source"]: entry["version"] for entry in cluster.locked()} == first | changed,
        f"the Lock has {changed}",
    )
