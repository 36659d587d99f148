"""Two objects for one source stop every package of a cluster; `xplock check` refuses them before they are applied."""

import json

import yaml
from rig.builders.projects import at
from rig.live.application import WELL, conditions_of
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import FUNCTIONS, IMAGE_CONFIGS, PROVIDERS

POISON = f"cannot initialize dependency graph from the packages in the lock: node {at('provider-net')} already exists"


def test_a_source_under_two_names_stops_the_cluster_and_is_refused_before_that(cluster: LiveCluster) -> None:
    publish(cluster)
    team = cluster.team()
    team.write("nop.yaml", function("nop"))
    team.write("net.yaml", net("net"))
    team.lock()
    team.write("again.yaml", net("acme-provider-net"))

    findings = check(team, str(team.folder), code=2)
    cluster.client.create(IMAGE_CONFIGS, yaml.safe_load((team.folder / "registry.yaml").read_text()))
    cluster.client.create(FUNCTIONS, json.loads(function("nop")))
    cluster.client.create(PROVIDERS, json.loads(net("net")))
    cluster.wait_until(lambda: are_healthy(cluster, "nop", "net"), "one name for each source is well")
    cluster.client.create(PROVIDERS, json.loads(net("acme-provider-net")))
    wait_poisoned(cluster, "nop", "net", "acme-provider-net")
    cluster.client.create(FUNCTIONS, json.loads(function("late")))
    wait_poisoned(cluster, "nop", "net", "acme-provider-net", "late")

    assert findings.keys() == {"inputs-invalid"}
    assert f"{at('provider-net')} is asked for with the name" in findings["inputs-invalid"]


def test_two_folders_with_one_source_stop_the_cluster_and_are_refused_before_that(
    cluster: LiveCluster,
) -> None:
    publish(cluster)
    others, east, west = cluster.team("others"), cluster.team("east"), cluster.team("west")
    others.write("nop.yaml", function("nop"))
    east.write("net.yaml", net("net"))
    west.write("net.yaml", net("acme-provider-net"))
    for team in (others, east, west):
        team.lock()

    apart = [check(team, str(team.folder), str(others.folder)) for team in (east, west)]
    findings = check(east, str(east.folder), str(west.folder), code=4)
    for team in (others, east):
        team.sync()
    west.commit_and_push()
    wait_poisoned(cluster, "nop", "net", "acme-provider-net")

    assert apart == [{}, {}]
    assert findings.keys() == {"rendered-twice"}
    assert at("provider-net") in findings["rendered-twice"]


def publish(cluster: LiveCluster) -> None:
    """Publish what these stories are about, and packages that have nothing to do with it."""
    cluster.registry.publish("provider-net v1.0.0", kind="Provider", crds=["nets.net.example.org"])
    for name in ("nop", "late"):
        cluster.registry.publish(f"function-{name} v1.0.0", kind="Function")


def net(name: str) -> str:
    """Return a manifest for the one source, under any name."""
    return package_manifest("Provider", name, f"{at('provider-net')}:v1.0.0")


def function(name: str) -> str:
    """Return the manifest of a Function that needs nothing."""
    return package_manifest("Function", name, f"{at(f'function-{name}')}:v1.0.0")


def check(team: Team, *folders: str, code: int = 0) -> dict[str, str]:
    """Return what `xplock check` says of folders of one cluster: the reasons, by rule."""
    done = team.xplock("check", "--same-cluster", "-o", "json", *folders, code=code)
    return {one["rule"]: "\n".join(one["why"]) for one in json.loads(done.stdout)}


def are_healthy(cluster: LiveCluster, *names: str) -> bool:
    """Tell whether these packages are all that there are, and healthy."""
    packages = cluster.packages()
    return sorted(packages) == sorted(names) and all(conditions_of(one) == WELL for one in packages.values())


def wait_poisoned(cluster: LiveCluster, *names: str) -> None:
    """Wait until every package, and these are all, says that the Lock is broken."""

    def are_stopped() -> bool:
        packages = cluster.packages()
        return sorted(packages) == sorted(names) and all(map(is_stopped, packages.values()))

    cluster.wait_until(are_stopped, f"{', '.join(names)} are stopped by two objects for one source")


def is_stopped(value: Object) -> bool:
    """Tell whether a package is not healthy, because a source is there twice."""
    conditions = value.get("status", {}).get("conditions", [])
    return any(one["status"] == "False" and POISON in one.get("message", "") for one in conditions)
