"""Packages are applied by the server, and Git still decides about every field that it has or had."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from rig.builders.lock_story import is_guarded
from rig.builders.projects import at
from rig.builds.recipes import CROSSPLANE
from rig.live.application import package_of
from rig.live.platform import LiveCluster, Platform
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import CONFIGURATIONS, CROSSPLANE_SECRETS, CROSSPLANE_SYSTEM, IMAGE_CONFIGS, PROVIDERS

OPTIONS = "argocd.argoproj.io/sync-options"
# As manifests were before packages were applied by the server.
BY_CLIENT = {OPTIONS: "ServerSideApply=false"}
RUNTIME = """\
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata:
  name: {name}
spec: {{}}
"""
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "login", "namespace": CROSSPLANE_SYSTEM},
    "type": "kubernetes.io/dockerconfigjson",
    "stringData": {".dockerconfigjson": '{"auths": {}}'},
}


@pytest.fixture(scope="module")
def cluster(platform: Platform) -> Iterator[LiveCluster]:
    """One cluster for all teams, each with packages of its own."""
    with platform.cluster("ownership") as cluster:
        cluster.client.apply(CROSSPLANE_SECRETS, SECRET)
        cluster.client.apply(IMAGE_CONFIGS, yaml.safe_load(cluster.registry.image_config()))
        yield cluster


def new_team(cluster: LiveCluster, name: str, versions: tuple[str, ...] = ("v1.0.0",)) -> Team:
    """Return a team, and publish versions of the Provider that has its name."""
    for version in versions:
        crds = [f"{name}s.{name}.example.org"]
        cluster.registry.publish(f"provider-{name} {version}", kind="Provider", crds=crds)
    team = cluster.team(name)
    # The registry's ImageConfig is the cluster's own: packages are there before a team has any.
    team.remove("registry.yaml")
    team.write("xplock.yaml", settings(cluster))
    return team


def settings(cluster: LiveCluster, *moves: object) -> str:
    spec = yaml.safe_load(cluster.registry.image_config())["spec"]
    rewrite = {"from": spec["matchImages"][0]["prefix"], "to": spec["rewriteImage"]["prefix"]}
    crossplane = {"crossplaneVersion": CROSSPLANE.version}
    return yaml.safe_dump({"rewrites": [rewrite], "moves": list(moves), **crossplane})


def manifest(name: str, *, version: str = "v1.0.0", metadata: Any = None, **spec: object) -> Object:
    """Return the manifest of the Provider that has a team's name."""
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": object_name(name), **(metadata or {})},
        "spec": {"package": f"{at(f'provider-{name}')}:{version}", **spec},
    }


def object_name(name: str) -> str:
    """Return the name that Crossplane would give to a Provider."""
    return f"acme-provider-{name}"


def sync(team: Team, value: Object) -> None:
    """Ask for a Provider, and wait until it is applied."""
    team.write("provider.yaml", yaml.safe_dump(value))
    team.lock()
    team.sync()


def live(cluster: LiveCluster, name: str) -> Object:
    return cluster.client.get(PROVIDERS, object_name(name))


def is_there(cluster: LiveCluster, name: str) -> bool:
    return cluster.client.find(PROVIDERS, object_name(name)) is not None


def labels(cluster: LiveCluster, name: str) -> dict[str, str]:
    found: dict[str, str] = live(cluster, name)["metadata"].get("labels", {})
    return found


def managers(cluster: LiveCluster, name: str) -> set[tuple[str, str]]:
    """Return who manages fields of a Provider, and by which operation."""
    return {(one["manager"], one["operation"]) for one in live(cluster, name)["metadata"]["managedFields"]}


def test_git_wins_over_an_edit_by_hand(cluster: LiveCluster) -> None:
    team = new_team(cluster, "edited")
    sync(team, manifest("edited", metadata={"labels": {"tier": "one"}}, revisionHistoryLimit=3))
    edit = {"metadata": {"labels": {"tier": "hand"}}, "spec": {"revisionHistoryLimit": 9}}

    cluster.client.patch(PROVIDERS, object_name("edited"), edit)
    cluster.wait_until(lambda: labels(cluster, "edited") == {"tier": "one"}, "Argo CD heals a label")
    healed = live(cluster, "edited")["spec"]["revisionHistoryLimit"]
    cluster.client.patch(PROVIDERS, object_name("edited"), edit)
    sync(team, manifest("edited", metadata={"labels": {"tier": "two"}}, revisionHistoryLimit=4))

    assert healed == 3
    assert labels(cluster, "edited") == {"tier": "two"}
    assert live(cluster, "edited")["spec"]["revisionHistoryLimit"] == 4
    assert ("argocd-controller", "Apply") in managers(cluster, "edited")


def test_what_git_drops_goes(cluster: LiveCluster) -> None:
    team = new_team(cluster, "dropped")
    team.write("runtime.yaml", RUNTIME.format(name="dropped"))
    metadata = {"labels": {"tier": "one"}, "annotations": {"note": "one"}}
    spec: dict[str, Any] = {
        "packagePullSecrets": [{"name": "login"}],
        "runtimeConfigRef": {"name": "dropped"},
    }
    sync(team, manifest("dropped", metadata=metadata, **spec))
    first = live(cluster, "dropped")

    # Nothing else changes in this commit.
    sync(team, manifest("dropped", metadata=metadata | {"labels": {}}, **spec))
    second = live(cluster, "dropped")
    sync(team, manifest("dropped"))
    last = live(cluster, "dropped")

    assert (
        first["metadata"]["labels"] == {"tier": "one"} and first["metadata"]["annotations"]["note"] == "one"
    )
    assert first["spec"]["packagePullSecrets"] == [{"name": "login"}]
    assert first["spec"]["runtimeConfigRef"]["name"] == "dropped"
    assert second["metadata"].get("labels", {}) == {}
    assert second["spec"] == first["spec"]
    assert "note" not in last["metadata"]["annotations"]
    assert last["spec"].get("packagePullSecrets", []) == []
    assert last["spec"]["runtimeConfigRef"]["name"] == "default"


def test_a_package_that_was_created_by_hand_is_taken_over(cluster: LiveCluster) -> None:
    team = new_team(cluster, "byhand", ("v1.0.0", "v1.1.0"))
    own = {"labels": {"tier": "hand", "hand": "yes"}}
    cluster.client.create(PROVIDERS, manifest("byhand", metadata=own, packagePullPolicy="Always"))
    uid = live(cluster, "byhand")["metadata"]["uid"]

    see_that_git_decides(cluster, team, "byhand")

    # As ever, Argo CD leaves alone what Git never had.
    assert labels(cluster, "byhand") == {"hand": "yes"}
    assert live(cluster, "byhand")["metadata"]["uid"] == uid


def test_a_package_that_crossplane_created_is_taken_over(cluster: LiveCluster) -> None:
    team = new_team(cluster, "resolved")
    cluster.registry.publish("parent v1.0.0", {"provider-resolved": "*"}, xrds=["parents.parent.example.org"])
    parent = {
        "apiVersion": CONFIGURATIONS.api,
        "kind": "Configuration",
        "metadata": {"name": "acme-parent"},
        "spec": {"package": f"{at('parent')}:v1.0.0"},
    }
    cluster.client.create(CONFIGURATIONS, parent)
    cluster.wait_until(lambda: is_there(cluster, "resolved"), "Crossplane creates a dependency")
    uid = live(cluster, "resolved")["metadata"]["uid"]
    cluster.registry.publish(
        "provider-resolved v1.1.0", kind="Provider", crds=["resolveds.resolved.example.org"]
    )

    see_that_git_decides(cluster, team, "resolved")

    assert labels(cluster, "resolved") == {}
    assert live(cluster, "resolved")["metadata"]["uid"] == uid


def see_that_git_decides(cluster: LiveCluster, team: Team, name: str) -> None:
    """Take over a package, change what it has, and drop that again."""
    sync(team, manifest(name, metadata={"labels": {"tier": "one"}}, packagePullPolicy="IfNotPresent"))
    taken = live(cluster, name)
    sync(team, manifest(name, version="v1.1.0", metadata={"labels": {"tier": "two"}}))
    changed = live(cluster, name)
    sync(team, manifest(name, version="v1.1.0"))

    assert taken["metadata"]["labels"]["tier"] == "one"
    assert taken["spec"]["packagePullPolicy"] == "IfNotPresent"
    assert is_guarded(taken)
    assert changed["metadata"]["labels"]["tier"] == "two"
    assert changed["spec"]["package"].endswith(":v1.1.0")


def test_what_was_applied_by_the_client_is_the_servers_from_one_commit_on(cluster: LiveCluster) -> None:
    team = new_team(cluster, "before")
    metadata = {"labels": {"tier": "one"}, "annotations": {"note": "one", **BY_CLIENT}}
    sync(team, manifest("before", metadata=metadata, packagePullSecrets=[{"name": "login"}]))
    before = managers(cluster, "before")

    sync(team, manifest("before"))
    changed, after = live(cluster, "before"), managers(cluster, "before")
    retire(cluster, team, "before")

    assert ("argocd-controller", "Update") in before and ("argocd-controller", "Apply") not in before
    assert ("argocd-controller", "Apply") in after and ("argocd-controller", "Update") not in after
    assert changed["metadata"].get("labels", {}) == {}
    assert "note" not in changed["metadata"]["annotations"]
    assert changed["spec"].get("packagePullSecrets", []) == []


def retire(cluster: LiveCluster, team: Team, name: str) -> None:
    """Remove a Provider in two commits, and see that the guard goes first."""
    cluster.registry.publish(f"function-{name} v1.0.0", kind="Function")
    kept = manifest(name) | {"kind": "Function", "metadata": {"name": f"acme-function-{name}"}}
    team.write(
        "function.yaml", yaml.safe_dump(kept | {"spec": {"package": f"{at(f'function-{name}')}:v1.0.0"}})
    )
    team.remove("provider.yaml")
    team.lock()
    team.sync()
    orphaned = live(cluster, name)
    team.xplock("retire", f"provider-{name}")
    team.sync()
    released = live(cluster, name)
    team.xplock("retire", f"provider-{name}", "--synced")
    team.sync()
    cluster.wait_until(lambda: not is_there(cluster, name), "a retired package goes")

    assert is_guarded(orphaned) and not is_guarded(released)
    assert released["metadata"]["annotations"][OPTIONS] == "ServerSideApply=true"


@pytest.mark.parametrize("by_client", [False, True])
def test_a_package_is_deactivated_and_then_removed(cluster: LiveCluster, by_client: bool) -> None:
    name = "switchedbefore" if by_client else "switched"
    team = new_team(cluster, name)
    crds = [f"{name}s.{name}.example.org"]
    cluster.registry.publish(f"provider-{name}-next v1.0.0", kind="Provider", crds=crds)
    sync(team, manifest(name, metadata={"annotations": BY_CLIENT} if by_client else {}))

    move = {"from": at(f"provider-{name}"), "to": at(f"provider-{name}-next"), "strategy": "deactivate"}
    team.write("xplock.yaml", settings(cluster, move))
    sync(team, manifest(f"{name}-next"))
    cluster.wait_until(
        lambda: not any(is_active(value, name) for value in cluster.revisions().values()),
        "every revision of the old package is switched off",
    )
    off = live(cluster, name)
    team.xplock("retire", f"provider-{name}")
    team.sync()
    released = live(cluster, name)
    team.xplock("retire", f"provider-{name}", "--synced")
    team.sync()
    cluster.wait_until(lambda: not is_there(cluster, name), "a deactivated package goes")

    assert off["spec"]["revisionActivationPolicy"] == "Manual" and is_guarded(off)
    assert not is_guarded(released)


def is_active(revision: Object, name: str) -> bool:
    """Return whether a revision is active and belongs to the Provider that has a team's name."""
    return package_of(revision) == object_name(name) and revision["spec"]["desiredState"] == "Active"
