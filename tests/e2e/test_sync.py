"""What Argo CD does with what we render: pins first, nothing unpinned, nothing lost, nothing failed, and then peace.

Four teams go through their steps side by side. All that happens is written down, and looked at afterwards.
"""

import time
from dataclasses import dataclass, field

import pytest
from rig.builders.lock_story import is_guarded
from rig.builders.projects import at
from rig.git.repositories import git
from rig.live.application import WELL, conditions_of, package_of
from rig.live.history import History, Moment
from rig.live.manifests import package_manifest
from rig.live.operations import failures_of, operation_states, operations_of
from rig.live.platform import LiveCluster, Platform
from rig.live.revisions import names_so_far
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import (
    APPLICATIONS,
    ARGOCD_CONFIG_MAPS,
    CRDS,
    DEPLOYMENTS,
    IMAGE_CONFIGS,
    LOCKS,
    PACKAGES,
    REVISIONS,
    RUNTIME_CONFIGS,
)

MINUTE = 60
WATCHED = (*PACKAGES, *REVISIONS, IMAGE_CONFIGS, RUNTIME_CONFIGS, LOCKS, DEPLOYMENTS, APPLICATIONS)
LEFT = "lefts.lefts.example.org"
HEALTHY, PROGRESSING, DEGRADED = "Healthy", "Progressing", "Degraded"
PATIENCE, MORE_PATIENCE = "local patience = 300\n", "local patience = 86400\n"
# From what everything depends on to what nothing depends on.
GRAPH = (("Provider", "acme-provider-base"), ("Configuration", "acme-middle"), ("Configuration", "acme-top"))
RUNTIME = """\
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata:
  name: base
spec: {}
"""


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that was seen."""

    history: History
    # What happened in the minute after a commit of everybody.
    after: History
    # By team.
    commits: dict[str, list[str]] = field(default_factory=dict)
    # All packages at the end of each step.
    packages: list[dict[str, Object]] = field(default_factory=list)
    crds: list[list[str]] = field(default_factory=list)


@pytest.fixture(scope="module")
def told(platform: Platform) -> Told:
    """Let everybody take all steps, and return what was seen."""
    with platform.cluster("sync") as cluster:
        told = Told(History(cluster.client, *WATCHED), History(cluster.client, *WATCHED))
        with told.history:
            live_through(cluster, told)
    return told


def live_through(cluster: LiveCluster, told: Told) -> None:
    """A shop that is upgraded, a Provider that takes long to come up, one that nobody needs any more, and a graph."""
    shop, slow, leaving, graph = (cluster.team(name) for name in ("shop", "slow", "leaving", "graph"))
    cluster.kubelet.broken.add("slow-")
    be_patient(cluster)
    for version in ("v1.0.0", "v1.1.0", "v1.2.0"):
        publish(cluster, f"provider-slow {version}")
    publish(cluster, "provider-left v1.0.0")
    publish(cluster, "provider-store v1.1.1")
    cluster.registry.publish("shop v1.0.0", {"provider-store": "^1.0"}, xrds=["shops.shop.example.org"])
    cluster.registry.publish("function-kept v1.0.0", kind="Function")

    shop.write("shop.yaml", package_manifest("Configuration", "shop", f"{at('shop')}:v1.0.0"))
    slow.write("slow.yaml", package_manifest("Provider", "slow", f"{at('provider-slow')}:v1.0.0"))
    leaving.write("left.yaml", package_manifest("Provider", "left", f"{at('provider-left')}:v1.0.0"))
    leaving.write("kept.yaml", package_manifest("Function", "kept", f"{at('function-kept')}:v1.0.0"))
    ask_for_graph(cluster, graph)
    for team in (shop, slow, leaving, graph):
        team.lock()
    push(cluster, told, {shop: HEALTHY, slow: PROGRESSING, leaving: HEALTHY, graph: HEALTHY})

    # The old tag is the beginning of the new one.
    publish(cluster, "provider-store v1.1.10")
    shop.lock("-P", "provider-store")
    slow.write("slow.yaml", package_manifest("Provider", "slow", f"{at('provider-slow')}:v1.1.0"))
    slow.lock()
    leaving.remove("left.yaml")
    leaving.lock()
    push(cluster, told, {shop: HEALTHY, slow: PROGRESSING, leaving: HEALTHY})

    # A pull request that is locked again and again before it is merged.
    for version in ("v1.2.0", "v1.3.0", "v1.4.0"):
        publish(cluster, f"provider-store {version}")
        shop.lock("-U")
    leaving.xplock("retire", "provider-left")
    push(cluster, told, {shop: HEALTHY, leaving: HEALTHY})

    cluster.kubelet.broken.clear()
    slow.application.wait_synced(told.commits["slow"][-1])
    leaving.xplock("retire", "provider-left", "--synced")
    push(cluster, told, {leaving: HEALTHY})
    cluster.wait_until(lambda: cluster.client.find(CRDS, LEFT) is None, "its kind goes with a package")
    with told.after:
        time.sleep(MINUTE)

    # Without the health that we ship, a Provider that installs is Degraded.
    cluster.client.patch(ARGOCD_CONFIG_MAPS, "argocd-cm", {"data": None})
    cluster.kubelet.broken.add("slow-")
    slow.write("slow.yaml", package_manifest("Provider", "slow", f"{at('provider-slow')}:v1.2.0"))
    slow.lock()
    push(cluster, told, {slow: DEGRADED})
    cluster.kubelet.broken.clear()
    slow.application.wait_synced(told.commits["slow"][-1])


def be_patient(cluster: LiveCluster) -> None:
    """Let what installs be Progressing for longer than we ship: on a slow machine, the steps take longer than that."""
    shipped = cluster.client.get(ARGOCD_CONFIG_MAPS, "argocd-cm")["data"]
    assert all(text.count(PATIENCE) == 1 for text in shipped.values())
    patient = {key: text.replace(PATIENCE, MORE_PATIENCE) for key, text in shipped.items()}
    cluster.client.patch(ARGOCD_CONFIG_MAPS, "argocd-cm", {"data": patient})


def ask_for_graph(cluster: LiveCluster, team: Team) -> None:
    """Ask for packages on three levels, in as many waves."""
    publish(cluster, "provider-base v1.0.0")
    cluster.registry.publish("middle v1.0.0", {"provider-base": "*"}, xrds=["middles.graph.example.org"])
    cluster.registry.publish("top v1.0.0", {"middle": "*"}, xrds=["tops.graph.example.org"])
    settings = {
        "waves": "graph",
        "roots": [{"package": f"{at('top')}:v1.0.0"}],
        "overrides": [{"prefix": at("provider-base"), "runtimeConfig": "base"}],
    }
    team.write_settings(settings)
    team.write("runtime.yaml", RUNTIME)


def publish(cluster: LiveCluster, package: str) -> None:
    """Publish a Provider with one kind."""
    plural = package.split()[0].removeprefix("provider-") + "s"
    cluster.registry.publish(package, kind="Provider", crds=[f"{plural}.{plural}.example.org"])


def push(cluster: LiveCluster, told: Told, expected: dict[Team, str]) -> None:
    """Let teams push, wait until each has the health that is expected of it, and look around."""
    for team in expected:
        told.commits.setdefault(team.application.name, []).append(team.commit_and_push())
        team.application.refresh()
    for team, health in expected.items():
        team.application.wait_synced(told.commits[team.application.name][-1], health=health)
    told.packages.append(cluster.packages())
    told.crds.append([crd["metadata"]["name"] for crd in cluster.client.objects(CRDS)])


def test_a_package_is_never_there_before_its_pin(told: Told) -> None:
    seen = {package for moment in told.history.moments() for package in packages_of(moment)}
    unpinned = {
        package
        for moment in told.history.moments()
        for package in packages_of(moment)
        if package not in pins_of(moment)
    }

    assert f"{at('provider-store')}:v1.4.0" in seen and f"{at('shop')}:v1.0.0" in seen
    assert unpinned == set()


def test_pins_and_runtime_configs_come_before_all_packages(told: Told) -> None:
    added = [key_of(value) for event, value in told.history.events if event == "ADDED"]
    names = tuple(f"xplock-{name}-" for _, name in GRAPH)
    pins = [(kind, name) for kind, name in added if kind == "ImageConfig" and name.startswith(names)]

    assert len(pins) == len(GRAPH)
    assert max(map(added.index, [*pins, ("DeploymentRuntimeConfig", "base")])) < min(map(added.index, GRAPH))


def test_in_waves_of_the_graph_a_package_is_added_when_what_it_depends_on_is_healthy(told: Told) -> None:
    steps = [
        (key_of(value), step)
        for event, value in told.history.events
        for step, is_so in (("added", event == "ADDED"), ("healthy", conditions_of(value) == WELL))
        if is_so
    ]

    assert list(dict.fromkeys(step for step in steps if step[0] in GRAPH)) == [
        (key, step) for key in GRAPH for step in ("added", "healthy")
    ]


def test_what_runs_is_pinned_at_every_moment(told: Told) -> None:
    seen = {image for moment in told.history.moments() for image, _, _ in active_of(moment)}
    wrong = {
        (image, revision)
        for moment in told.history.moments()
        for image, revision, package in active_of(moment)
        if revision not in names_so_far(package, pins_of(moment).get(image, "none"))
    }

    assert {f"{at('provider-store')}:{version}" for version in ("v1.1.1", "v1.1.10", "v1.4.0")} <= seen
    assert wrong == set()


def test_the_pin_of_a_version_of_long_ago_goes(told: Told) -> None:
    *_, last = told.history.moments()

    assert {image for image in pins_of(last) if "provider-store" in image} == {
        f"{at('provider-store')}:{version}" for version in ("v1.1.10", "v1.2.0", "v1.3.0", "v1.4.0")
    }


def test_what_nobody_asks_for_stays_until_it_is_retired_in_two_commits(told: Told) -> None:
    asked, dropped, released, gone = told.packages[:4]
    lives = {step["left"]["metadata"]["uid"] for step in (asked, dropped, released)}

    assert len(lives) == 1
    for step in (asked, dropped, released):
        assert conditions_of(step["left"]) == WELL
    assert [is_guarded(step["left"]) for step in (asked, dropped, released)] == [True, True, False]
    assert "left" not in gone and "kept" in gone
    assert all(LEFT in crds for crds in told.crds[:3])


def test_no_operation_fails_while_a_provider_installs(told: Told) -> None:
    phases = [
        state["phase"] for name in told.commits for state in operation_states(name, told.history.events)
    ]

    assert phases.count("Running") >= len(told.commits)
    assert [text for name in told.commits for text in failures_of(name, told.history.events)] == []


def test_each_commit_that_changes_a_manifest_takes_one_operation(told: Told) -> None:
    # What nobody asks for any more is rendered as before.
    asked, _, released, gone = told.commits["leaving"]
    changes = {**told.commits, "leaving": [asked, released, gone]}

    assert {name: operations_of(name, told.history.events) for name in told.commits} == changes


def test_there_is_peace_in_the_minute_after(told: Told) -> None:
    started = {
        name: {state["startedAt"] for state in operation_states(name, told.after.events)}
        for name in told.commits
    }
    changed = {
        (event, value["kind"], value["metadata"]["name"])
        for event, value in told.after.events
        if value["kind"] != "Application"
    }

    # Each Application went on to tell of its last operation, and of no other one.
    assert {name: len(times) for name, times in started.items()} == dict.fromkeys(told.commits, 1)
    assert changed == set()


def test_a_guarded_package_that_a_commit_does_not_have_is_not_pruned(cluster: LiveCluster) -> None:
    team = cluster.team()
    for name in ("kept", "left"):
        publish(cluster, f"provider-{name} v1.0.0")
        team.write(f"{name}.yaml", package_manifest("Provider", name, f"{at(f'provider-{name}')}:v1.0.0"))
        team.lock()
        team.sync(f"ask for {name}")
    installed = look_at_left(cluster)

    git(team.root, "revert", "--no-commit", "HEAD")
    dropped = team.commit_and_push("Revert: ask for left")
    results = wait_results(team, dropped)
    cluster.wait_until(lambda: "left" not in pinned(cluster), "the pin goes, which has no guard")
    skipped = look_at_left(cluster)
    git(team.root, "revert", "--no-commit", "HEAD")
    team.sync("Revert: Revert: ask for left")

    assert results["Provider", "left"] == ("PruneSkipped", "ignored (no prune)")
    assert "left" in pinned(cluster)
    assert installed == skipped == look_at_left(cluster)


def wait_results(team: Team, commit: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Wait until Argo CD has applied a commit; return what became of each object, and why."""

    def is_done(value: Object) -> bool:
        last = value["status"].get("operationState", {})
        return (last.get("phase"), last.get("syncResult", {}).get("revision")) == ("Succeeded", commit)

    value = team.application.wait_until(is_done, f"{commit} is applied")
    resources = value["status"]["operationState"]["syncResult"]["resources"]
    return {(one["kind"], one["name"]): (one["status"], one["message"]) for one in resources}


def pinned(cluster: LiveCluster) -> set[str]:
    """Return the packages that have a pin."""
    names = [value["metadata"]["name"] for value in cluster.client.objects(IMAGE_CONFIGS)]
    return {name.split("-")[1] for name in names if name.startswith("xplock-")}


def look_at_left(cluster: LiveCluster) -> tuple[str, str]:
    """Return who a Provider and its kind are, of which the one is guarded and well, and neither about to go."""
    package, kind = cluster.packages()["left"], cluster.client.get(CRDS, LEFT)
    assert conditions_of(package) == WELL and is_guarded(package)
    assert not any("deletionTimestamp" in value["metadata"] for value in (package, kind))
    return package["metadata"]["uid"], kind["metadata"]["uid"]


def key_of(value: Object) -> tuple[str, str]:
    return value["kind"], value["metadata"]["name"]


def packages_of(moment: Moment) -> list[str]:
    """Return what packages ask for."""
    kinds = ("Provider", "Configuration", "Function")
    return [value["spec"]["package"] for (kind, _), value in moment.items() if kind in kinds]


def active_of(moment: Moment) -> list[tuple[str, str, Object]]:
    """Return what runs: what the package asked for, the revision, whose name follows from the digest, and the package.

    What is being deleted runs no more: a package that was let go of takes its revision and its pin along, in any order.
    """
    staying = {key: value for key, value in moment.items() if "deletionTimestamp" not in value["metadata"]}
    return [
        (value["spec"]["image"], name, package)
        for (kind, name), value in staying.items()
        if kind.endswith("Revision") and value["spec"]["desiredState"] == "Active"
        if (package := staying.get((kind.removesuffix("Revision"), package_of(value))))
    ]


def pins_of(moment: Moment) -> dict[str, str]:
    """Return the digest that each pinned reference is led to."""
    specs = [value["spec"] for (kind, _), value in moment.items() if kind == "ImageConfig"]
    return {
        spec["matchImages"][0]["prefix"]: spec["rewriteImage"]["prefix"].partition("@sha256:")[2]
        for spec in specs
        if "@sha256:" in spec["rewriteImage"]["prefix"]
    }
