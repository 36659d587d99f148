"""Upgrades that break definitions: `diff` says so before, and then Crossplane or the API server refuses each as predicted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from rig.builders.definitions import XRD_API_V2, a_composition, a_crd, a_schema, a_version, an_xrd
from rig.builders.projects import at
from rig.git.repositories import save
from rig.live.application import WELL, conditions_of, package_of
from rig.live.kubectl import kubectl
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster, Platform
from rig.live.team import Team
from rig.servers.client import Object, Refused
from rig.servers.kinds import CRDS, DEPLOYMENTS, EVENTS, MANAGED_DEFINITIONS, Resource

TEXT = {"type": "string"}
OLD, NEW = a_version("v1alpha1"), a_version("v1beta1")
CLAIM = {"kind": "Claim", "plural": "claims"}
IMMUTABLE = "Value is immutable"
STORED = "spec.versions"


@dataclass(frozen=True, slots=True)
class Case:
    """A package whose next version breaks a rule, and where that shows."""

    rule: str
    kind: str
    old: tuple[Mapping[str, Any], ...]
    new: tuple[Mapping[str, Any], ...]
    message: str
    # Whether the new revision is refused; otherwise the package says that it is healthy, and events say why it is not.
    is_refused: bool = True

    @property
    def name(self) -> str:
        """The name of the definition that changes, or of the Composition."""
        return str(self.new[-1]["metadata"]["name"])


def provider(rule: str, old: Mapping[str, Any], new: Mapping[str, Any], message: str, **more: bool) -> Case:
    return Case(rule, "Provider", (old,), (new,), message, **more)


def configuration(
    rule: str, old: Mapping[str, Any], new: Mapping[str, Any], message: str, **more: bool
) -> Case:
    return Case(rule, "Configuration", (old,), (new,), message, **more)


def named(group: str, kind: str = "Thing", **more: Any) -> dict[str, Any]:
    """Return what makes a definition the only one of its group."""
    plural = f"{kind.lower()}s"
    return {"name": f"{plural}.{group}.example.org", "names": {"kind": kind, "plural": plural, **more}}


def configs(
    group: str, *versions: Mapping[str, Any], kind: str = "ProviderConfig", **more: Any
) -> dict[str, Any]:
    """Return a CRD that Crossplane makes no ManagedResourceDefinition of."""
    found = named(group, "ProviderConfig")
    return a_crd(*versions, name=found["name"], names={**found["names"], "kind": kind}, **more)


def renamed(group: str, **names: str) -> dict[str, Any]:
    """Return names of which some differ from those of the definition's name."""
    found = named(group)
    return {**found, "names": {**found["names"], **names}}


def composition(kind: str) -> dict[str, Any]:
    """Return a Composition that Crossplane accepts."""
    found = a_composition("composed.example.org/v1", kind)
    steps = [{"step": "nop", "functionRef": {"name": "nop"}}]
    return {**found, "spec": {**found["spec"], "pipeline": steps}}


COMPOSED = an_xrd(**named("composed"))
CASES = {
    "managed-version": provider(
        "stored-version-gone", a_crd(OLD, **named("m1")), a_crd(NEW, **named("m1")), STORED, is_refused=False
    ),
    "config-version": provider("stored-version-gone", configs("c1", OLD), configs("c1", NEW), STORED),
    "composite-version": configuration(
        "stored-version-gone", an_xrd(OLD, **named("x1")), an_xrd(NEW, **named("x1")), STORED, is_refused=False
    ),
    "managed-scope": provider(
        "scope", a_crd(**named("m2")), a_crd(**named("m2"), scope="Namespaced"), IMMUTABLE
    ),
    "config-scope": provider("scope", configs("c2"), configs("c2", scope="Namespaced"), "field is immutable"),
    # Another apiVersion has another default.
    "composite-scope": configuration(
        "scope", an_xrd(**named("x2")), an_xrd(**named("x2"), api_version=XRD_API_V2), IMMUTABLE
    ),
    "managed-names": provider(
        "names", a_crd(**named("m3")), a_crd(**renamed("m3", kind="Item")), IMMUTABLE
    ),
    "managed-short-names": provider(
        "names", a_crd(**named("m4")), a_crd(**named("m4", shortNames=["t"])), IMMUTABLE
    ),
    "config-names": provider(
        "names", configs("c3"), configs("c3", kind="ClusterProviderConfig"), "field is immutable"
    ),
    # A kind that becomes a managed one: what is refused is the CRD of a new ManagedResourceDefinition.
    "former-config-names": provider(
        "names", configs("c4"), configs("c4", kind="Item"), "field is immutable", is_refused=False
    ),
    "composite-names": configuration(
        "names", an_xrd(**named("x3")), an_xrd(**renamed("x3", kind="Item")), IMMUTABLE
    ),
    "claim": configuration(
        "claim-names",
        an_xrd(**named("x4"), claimNames=CLAIM),
        an_xrd(**named("x4"), claimNames={"kind": "Other", "plural": "others"}),
        IMMUTABLE,
    ),
    "enforced": configuration(
        "enforced-composition",
        an_xrd(**named("x5"), enforcedCompositionRef={"name": "one"}),
        an_xrd(**named("x5"), enforcedCompositionRef={"name": "other"}),
        IMMUTABLE,
    ),
    "legacy": configuration(
        "legacy-fields",
        an_xrd(**named("x6"), claimNames=CLAIM),
        an_xrd(**named("x6"), claimNames=CLAIM, api_version=XRD_API_V2, scope="LegacyCluster"),
        "Claims aren't supported",
    ),
    "composition": Case(
        "composition-type",
        "Configuration",
        (COMPOSED, composition("Thing")),
        (COMPOSED, composition("Other")),
        IMMUTABLE,
    ),
}  # fmt: skip
# What is accepted and loses data.
LOSING = "losing"
# What two locks cannot know: a version that objects were stored in some releases ago.
HISTORY = "history"
FIRST, SECOND = a_version("v1"), a_version("v2")
RELEASES = {
    "v0.9.0": a_crd(FIRST, **named("history")),
    "v1.0.0": a_crd({**FIRST, "storage": False}, SECOND, **named("history")),
    "v1.1.0": a_crd(SECOND, **named("history")),
}
EGRESS = Resource("losing.example.org/v1", "things")


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A cluster in which every package was upgraded, and what `diff` had said before."""

    cluster: LiveCluster
    findings: list[Any]
    # With what the cluster knows.
    live_findings: list[Any]


@pytest.fixture(scope="module")
def upgraded(platform: Platform) -> Iterator[Upgraded]:
    with platform.cluster("upgrades") as cluster:
        publish(cluster)
        team = cluster.team()
        ask_for(team, "v1.0.0")
        ask_for_history(team, "v0.9.0")
        team.lock()
        apply(cluster, team)
        cluster.wait_until(lambda: all_are_well(cluster), "everything is installed")
        store(cluster)
        ask_for_history(team, "v1.0.0")
        team.lock()
        save(team.root, "install")
        apply(cluster, team)
        cluster.wait_until(lambda: stored_versions(cluster) == ["v1", "v2"], "the storage version moves")
        ask_for(team, "v1.1.0")
        team.lock()
        live = cluster.folder / "crds.json"
        live.write_text(kubectl(cluster, "get", "customresourcedefinitions", "-o", "json"))
        said, said_live = find(team), find(team, "--live", str(live))
        apply(cluster, team)
        yield Upgraded(cluster, said, said_live)


def find(team: Team, *options: str) -> list[Any]:
    """Return what `diff` says of definitions since the last commit."""
    done = team.xplock("diff", "--fail-on", "blocked", "-o", "json", *options, code=3)
    found: list[Any] = json.loads(done.stdout)["definitions"]
    return found


def publish(cluster: LiveCluster) -> None:
    losing = [
        a_crd(a_version(schema=a_schema({"size": TEXT, **more})), **named("losing"))
        for more in ({"egress": TEXT}, {})
    ]
    versions = {name: (one.kind, (one.old, one.new)) for name, one in CASES.items()}
    for version, crd in RELEASES.items():
        cluster.registry.publish(f"{HISTORY} {version}", kind="Provider", objects=[crd])
    for name, (kind, found) in {**versions, LOSING: ("Provider", [[one] for one in losing])}.items():
        for version, objects in zip(("v1.0.0", "v1.1.0"), found, strict=True):
            cluster.registry.publish(f"{name} {version}", kind=kind, objects=objects)


def ask_for(team: Team, version: str) -> None:
    kinds = {**{name: one.kind for name, one in CASES.items()}, LOSING: "Provider"}
    for name, kind in kinds.items():
        team.write(f"{name}.yaml", package_manifest(kind, name, f"{at(name)}:{version}"))
    ask_for_history(team, version)


def ask_for_history(team: Team, version: str) -> None:
    team.write("history.yaml", package_manifest("Provider", HISTORY, f"{at(HISTORY)}:{version}"))


def stored_versions(cluster: LiveCluster) -> list[str]:
    found: list[str] = cluster.client.get(CRDS, "things.history.example.org")["status"]["storedVersions"]
    return found


def apply(cluster: LiveCluster, team: Team) -> None:
    kubectl(cluster, "apply", "-f", "-", stdin=team.xplock("render").stdout)


def all_are_well(cluster: LiveCluster) -> bool:
    packages = cluster.packages()
    crds = {one["metadata"]["name"] for one in cluster.client.objects(CRDS)}
    wanted = {*(one.name for one in CASES.values()), "things.history.example.org"} - {"thing"}
    return len(packages) > len(CASES) + 1 and all(map(is_well, packages.values())) and wanted <= crds


def is_well(package: Object) -> bool:
    return conditions_of(package) == WELL


def store(cluster: LiveCluster) -> None:
    """Store an object with a field that the next version does not have."""
    cluster.client.create(EGRESS, losing_object(egress="10.0.0.0/8"))
    assert "egress" in cluster.client.get(EGRESS, "one")["spec"]


def losing_object(**spec: str) -> Object:
    return {
        "apiVersion": EGRESS.api,
        "kind": "Thing",
        "metadata": {"name": "one"},
        "spec": {"size": "s", **spec},
    }


@pytest.mark.parametrize("name", CASES)
def test_what_diff_calls_blocked_is_refused(upgraded: Upgraded, name: str) -> None:
    case, cluster = CASES[name], upgraded.cluster

    said = [one for one in upgraded.findings if (one["rule"], one["package"]) == (case.rule, at(name))]

    assert [(one["class"], one["definition"]) for one in said] == [("blocked", case.name)]
    if case.is_refused:
        assert "stays unhealthy" in said[0]["detail"]
        cluster.wait_until(lambda: case.message in refusal(cluster, name), f"{name} is refused")
        assert not is_well(cluster.packages()[name])
        # By then the old controller is gone.
        assert not [one for one in cluster.client.objects(DEPLOYMENTS) if is_of(one, name)]
    else:
        assert "says that it is healthy" in said[0]["detail"]
        cluster.wait_until(
            lambda: case.message in events(cluster, case.name), f"{name} is refused in an event"
        )
        assert is_well(cluster.packages()[name])
        assert upgraded_revision(cluster, name)["spec"]["desiredState"] == "Active"
    # The cluster keeps what it had.
    if case.name != "thing":
        kept = cluster.client.get(CRDS, case.name)["spec"]
        assert kept["names"]["kind"] == case.old[-1]["spec"]["names"]["kind"]
        assert [one["name"] for one in kept["versions"]] == [
            one["name"] for one in case.old[-1]["spec"]["versions"]
        ]


def test_a_managed_definition_says_that_its_crd_is_refused(upgraded: Upgraded) -> None:
    name = CASES["managed-version"].name

    def established() -> Any:
        found = upgraded.cluster.client.get(MANAGED_DEFINITIONS, name)["status"]["conditions"]
        return next(one["reason"] for one in found if one["type"] == "Established")

    upgraded.cluster.wait_until(lambda: established() == "PendingManagedResource", "the MRD is pending")


def test_a_version_that_was_stored_once_is_blocked_by_what_the_cluster_knows(upgraded: Upgraded) -> None:
    cluster, name = upgraded.cluster, "things.history.example.org"

    said, live = (
        [(one["rule"], one["class"], one["version"]) for one in some if one["package"] == at(HISTORY)]
        for some in (upgraded.findings, upgraded.live_findings)
    )

    assert said == [("version-gone", "writers", "v1")]
    assert live == [("stored-version-gone", "blocked", "v1")]
    cluster.wait_until(lambda: STORED in events(cluster, name), "the API server refuses it")
    assert is_well(cluster.packages()[HISTORY])


def test_what_diff_calls_lost_is_lost(upgraded: Upgraded) -> None:
    cluster = upgraded.cluster
    [said] = [one for one in upgraded.findings if one["package"] == at(LOSING)]
    assert (said["rule"], said["class"], said["path"]) == ("field-gone", "lost", ".spec.egress")

    cluster.wait_until(
        lambda: "egress" not in cluster.client.get(EGRESS, "one")["spec"], "the field is no longer read"
    )

    assert cluster.client.get(EGRESS, "one")["spec"] == {"size": "s"}
    with pytest.raises(Refused, match="field not declared in schema"):
        cluster.client.apply(EGRESS, losing_object(egress="10.0.0.0/8"))


def refusal(cluster: LiveCluster, name: str) -> str:
    """Return what the conditions of the new revision say."""
    conditions = upgraded_revision(cluster, name).get("status", {}).get("conditions", [])
    return "\n".join(one.get("message", "") for one in conditions if one["status"] == "False")


def upgraded_revision(cluster: LiveCluster, name: str) -> Object:
    found = [
        one
        for one in cluster.revisions().values()
        if package_of(one) == name and one["spec"]["desiredState"] == "Active"
    ]
    return found[0] if found else {}


def events(cluster: LiveCluster, name: str) -> str:
    """Return what the events of an object say."""
    found = [one for one in cluster.client.objects(EVENTS) if one["involvedObject"]["name"] == name]
    return "\n".join(one.get("message", "") for one in found)


def is_of(deployment: Object, package: str) -> bool:
    return bool(deployment["metadata"]["name"].startswith(f"{package}-"))
