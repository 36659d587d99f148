"""A cluster that people and Crossplane's resolver have filled is adopted, and nothing in it changes but annotations."""

import base64
import json
from typing import Any

import yaml
from rig.builders.projects import at
from rig.builds.recipes import CROSSPLANE
from rig.live.application import WELL, conditions_of
from rig.live.kubectl import run_printed
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.revisions import KNOWN_AHEAD
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import (
    CONFIGURATIONS,
    CRDS,
    CROSSPLANE_SECRETS,
    CROSSPLANE_SYSTEM,
    DEPLOYMENTS,
    IMAGE_CONFIGS,
    PACKAGES,
    PROVIDERS,
    REVISIONS,
    RUNTIME_CONFIGS,
    Resource,
)

from render.settings import SETTINGS_FILE
from render.system.files import LOCK_FILE

_DEPLOYMENTS = Resource(DEPLOYMENTS.api, DEPLOYMENTS.plural, CROSSPLANE_SYSTEM)
# What Argo CD writes to its objects.
_BY_ARGOCD = {"argocd.argoproj.io/tracking-id", "kubectl.kubernetes.io/last-applied-configuration"}
_NAMES = ["acme-function-nop", "acme-provider-store", "lone", "networks", "shop"]


def test_a_cluster_is_adopted_pinned_and_upgraded_without_an_unwanted_change(
    cluster: LiveCluster,
) -> None:
    install_by_hand(cluster)
    before = snapshot(cluster)
    publish(cluster, "v1.1.0")
    team = empty_team(cluster)

    made = adopt(cluster, team)
    team.sync("Adopt the cluster")

    after = snapshot(cluster)
    assert after.keys() == before.keys()
    assert {name: facts(one) for name, one in after.items()} == {
        name: facts(one) for name, one in before.items()
    }
    assert added_annotations(before, after) - _BY_ARGOCD == set(made["annotations"])
    assert sorted(root["name"] for root in made["roots"]) == ["lone", "networks", "shop"]
    assert not made["unproven"]
    assert "imageconfig-hand-xpkg.yaml" in made["files"]
    assert "deploymentruntimeconfig-small.yaml" in made["files"]
    settings = yaml.safe_load((team.folder / SETTINGS_FILE).read_text())
    assert settings["crossplaneVersion"] == ("v2.3.0" if KNOWN_AHEAD else "v2.4.0")

    settings |= {"pin": "digest", "crossplaneVersion": CROSSPLANE.version}
    team.write(SETTINGS_FILE, json.dumps(settings))
    team.lock()
    team.sync("Pin the bytes")
    wait_well(cluster)
    pinned = snapshot(cluster)
    assert {name for name in pinned if "revisions" in name} == {
        name for name in before if "revisions" in name
    }
    assert all("@sha256:" in one["status"]["resolvedPackage"] for one in cluster.packages().values())

    team.lock("-P", "provider-store")
    team.sync("Upgrade")
    wait_well(cluster)
    versions = {one["source"]: one["version"] for one in cluster.locked()}
    assert versions[at("provider-store")] == "v1.1.0"
    assert versions[at("provider-net")] == "v1.0.0"
    assert sorted(cluster.packages()) == _NAMES


def test_a_second_object_for_a_source_is_refused_with_commands_that_repair_the_cluster(
    cluster: LiveCluster,
) -> None:
    install_by_hand(cluster)
    again = package_manifest("Provider", "acme-provider-net", f"{at('provider-net')}:v1.0.0")
    cluster.client.create(PROVIDERS, json.loads(again))
    cluster.wait_until(
        lambda: [one["source"] for one in cluster.locked()].count(at("provider-net")) == 2,
        "the Lock is poisoned",
    )
    team = empty_team(cluster)

    refused = team.xplock(*command(cluster), code=4)
    left = sorted(path.name for path in team.folder.iterdir())
    follow(cluster, refused.stderr)
    cluster.wait_until(
        lambda: all(conditions_of(cluster.packages()[name]) == WELL for name in _NAMES),
        "all but the copy are healthy",
    )
    still = team.xplock(*command(cluster), code=4)
    follow(cluster, still.stderr)
    cluster.wait_until(lambda: sorted(cluster.packages()) == _NAMES, "the second object is gone")
    wait_well(cluster)
    made = adopt(cluster, team)

    assert f"the Lock has {at('provider-net')} 2 times" in refused.stderr
    assert left == []
    assert "delete provider.pkg.crossplane.io/acme-provider-net" in still.stderr
    assert sorted(root["name"] for root in made["roots"]) == ["lone", "networks", "shop"]
    crd = cluster.client.get(CRDS, "nets.net.example.org")
    [controller] = [one["name"] for one in crd["metadata"]["ownerReferences"] if one.get("controller")]
    assert controller.startswith("networks-")


def follow(cluster: LiveCluster, advice: str) -> None:
    """Run the commands of a refusal as they are printed."""
    commands = [line.strip() for line in advice.splitlines() if line.strip().startswith("kubectl ")]
    assert commands, advice
    for one in commands:
        run_printed(cluster, one)


def publish(cluster: LiveCluster, version: str) -> None:
    """Publish a version of every package."""
    for name in ("net", "store"):
        crds = [f"{name}s.{name}.example.org"]
        cluster.registry.publish(f"provider-{name} {version}", kind="Provider", crds=crds)
    cluster.registry.publish(f"function-nop {version}", kind="Function")


def install_by_hand(cluster: LiveCluster) -> None:
    """Install packages as people do: under names of their own, with a login and a runtime config, and one detached."""
    publish(cluster, "v1.0.0")
    needs = {"provider-net": ">=v1.0.0", "provider-store": ">=v1.0.0", "function-nop": ">=v1.0.0"}
    cluster.registry.publish("shop v1.0.0", needs)
    cluster.registry.publish("lone v1.0.0", {"provider-store": ">=v1.0.0"})
    client = cluster.client
    client.create(IMAGE_CONFIGS, yaml.safe_load(cluster.registry.image_config(team="hand")))
    client.create(CROSSPLANE_SECRETS, login())
    client.create(
        RUNTIME_CONFIGS,
        {
            "apiVersion": "pkg.crossplane.io/v1beta1",
            "kind": "DeploymentRuntimeConfig",
            "metadata": {"name": "small"},
            "spec": {"serviceAccountTemplate": {"metadata": {"labels": {"team": "small"}}}},
        },
    )
    spec: dict[str, Any] = {
        "packagePullSecrets": [{"name": "login"}],
        "runtimeConfigRef": {"name": "small"},
        "revisionHistoryLimit": 2,
    }
    client.create(PROVIDERS, manifest("Provider", "networks", "provider-net", **spec))
    wait_well(cluster, "networks")
    client.create(CONFIGURATIONS, manifest("Configuration", "shop", "shop"))
    wait_well(cluster, "acme-function-nop", "acme-provider-store", "networks", "shop")
    client.create(CONFIGURATIONS, manifest("Configuration", "lone", "lone", skipDependencyResolution=True))
    wait_well(cluster)


def manifest(kind: str, name: str, package: str, **spec: Any) -> Object:
    made: Object = json.loads(package_manifest(kind, name, f"{at(package)}:v1.0.0", **spec))
    return made


def login() -> Object:
    """Return a pull secret; the registry asks for none."""
    config = json.dumps({"auths": {"registry.example.org": {"auth": base64.b64encode(b"a:b").decode()}}})
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": CROSSPLANE_SYSTEM},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": config},
    }


def wait_well(cluster: LiveCluster, *names: str) -> None:
    wanted = sorted(names or _NAMES)
    cluster.wait_until(
        lambda: (
            sorted(found := cluster.packages()) == wanted
            and all(conditions_of(one) == WELL for one in found.values())
        ),
        f"{wanted} are healthy",
    )


def empty_team(cluster: LiveCluster) -> Team:
    """Return a team whose folder holds nothing yet."""
    team = cluster.team()
    for path in team.folder.iterdir():
        path.unlink()
    return team


def command(cluster: LiveCluster, *more: str) -> list[str]:
    return ["adopt", "--to", ".", "--kubeconfig", str(cluster.argocd.kube.kubeconfig), *more]


def adopt(cluster: LiveCluster, team: Team) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(team.xplock(*command(cluster, "-o", "json")).stdout)
    assert (team.folder / LOCK_FILE).exists()
    return made


def snapshot(cluster: LiveCluster) -> dict[str, Object]:
    """Return every object of packages, by kind and name."""
    kinds = (*PACKAGES, *REVISIONS, IMAGE_CONFIGS, RUNTIME_CONFIGS, _DEPLOYMENTS)
    return {
        f"{kind.plural} {one['metadata']['name']}": one
        for kind in kinds
        for one in cluster.client.objects(kind)
    }


def facts(one: Object) -> dict[str, Any]:
    """Return what must not change: which object it is, what it asks for, and how often that has changed."""
    metadata = one["metadata"]
    return {
        "uid": metadata["uid"],
        "generation": metadata["generation"],
        "labels": metadata.get("labels"),
        "spec": one.get("spec"),
    }


def added_annotations(before: dict[str, Object], after: dict[str, Object]) -> set[str]:
    return {
        key
        for name, one in after.items()
        for key in one["metadata"].get("annotations", {}).keys()
        - before[name]["metadata"].get("annotations", {}).keys()
    }
