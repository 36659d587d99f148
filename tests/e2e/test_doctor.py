"""Stuck states on a real cluster: `xplock doctor` names each, its commands are run as printed, and the cluster recovers."""

import json
from collections.abc import Callable
from typing import Any

import yaml
from rig.builders.projects import at
from rig.live.application import WELL, conditions_of
from rig.live.kubectl import run_printed
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.client import Object
from rig.servers.kinds import (
    CONFIGURATIONS,
    FUNCTIONS,
    IMAGE_CONFIGS,
    LOCKS,
    PROVIDER_REVISIONS,
    PROVIDERS,
    Resource,
)

CRD = "nets.net.example.org"
_KINDS = {"Provider": PROVIDERS, "Configuration": CONFIGURATIONS, "Function": FUNCTIONS}


class Patient:
    """A cluster in which things go wrong, and its doctor."""

    def __init__(self, cluster: LiveCluster) -> None:
        self.cluster = cluster
        self.registry = cluster.registry
        self.team: Team = cluster.team()
        self._kubeconfig = str(cluster.argocd.kube.kubeconfig)
        config = yaml.safe_load((self.team.folder / "registry.yaml").read_text())
        cluster.client.create(IMAGE_CONFIGS, config)

    def install(self, kind: str, name: str, package: str, **spec: object) -> None:
        """Create a package by hand."""
        self.cluster.client.create(_KINDS[kind], json.loads(package_manifest(kind, name, package, **spec)))

    def change(self, kind: str, name: str, **spec: object) -> None:
        """Change a package by hand."""
        self.cluster.client.patch(_KINDS[kind], name, {"spec": spec})

    def findings(self) -> list[Any]:
        """Return what is stuck, as the doctor says it."""
        done = self.team.try_xplock("doctor", ".", "--kubeconfig", self._kubeconfig, "-o", "json")
        assert done.returncode in (0, 3), done.stderr
        found = [one for one in json.loads(done.stdout)["findings"] if one["stuck"]]
        assert (done.returncode == 3) is bool(found)
        return found

    def wait_named(self, state: str, touch: str | Callable[[], str]) -> Any:
        """Wait until a state is what the doctor names first, with the object as it is called then; return the finding."""
        last: list[Any] = []

        def is_named() -> bool:
            last[:] = self.findings()
            name = touch if isinstance(touch, str) else touch()
            return bool(last) and (last[0]["state"], (last[0]["touch"] or {}).get("name")) == (state, name)

        self.cluster.wait_until(is_named, f"the doctor names {state} first")
        return last[0]

    def treat(self, finding: Any) -> None:
        """Run the commands of a finding as they are printed."""
        for command in finding["command"]:
            run_printed(self.cluster, command)

    def cure(self, state: str, touch: str) -> Any:
        """Wait for a state, run its commands, and wait until nothing is stuck any more."""
        finding = self.wait_named(state, touch)
        self.treat(finding)
        last: list[Any] = []

        def is_well() -> bool:
            last[:] = self.findings()
            return not last

        self.cluster.wait_until(is_well, f"nothing is stuck after the commands for {state}")
        return finding

    def wait_well(self, *names: str) -> None:
        """Wait until packages are healthy."""

        def are_well() -> bool:
            packages = self.cluster.packages()
            return all(name in packages and conditions_of(packages[name]) == WELL for name in names)

        self.cluster.wait_until(are_well, f"{', '.join(names)} are well")

    def sources(self) -> list[str]:
        """Return the sources in the cluster's Lock."""
        return [str(entry["source"]) for entry in self.lock()]

    def lock(self) -> list[Object]:
        """Return the entries of the cluster's Lock."""
        return self.cluster.client.get(LOCKS, "lock").get("packages") or []


def test_states_of_the_lock(cluster: LiveCluster) -> None:
    patient = Patient(cluster)
    patient.registry.publish("provider-net v1.0.0", kind="Provider", crds=[CRD])
    patient.registry.publish("provider-db v1.0.0", kind="Provider", crds=["dbs.db.example.org"])
    patient.registry.publish("app v1.0.0", {"provider-db": "*"})
    for name in ("nop", "late"):
        patient.registry.publish(f"function-{name} v1.0.0", kind="Function")
    patient.install("Function", "nop", f"{at('function-nop')}:v1.0.0")
    patient.install("Provider", "net", f"{at('provider-net')}:v1.0.0")
    patient.wait_well("nop", "net")
    assert patient.findings() == []

    # 1: a second object for one source.
    patient.install("Provider", "acme-provider-net", f"{at('provider-net')}:v1.0.0")
    patient.install("Function", "late", f"{at('function-late')}:v1.0.0")
    poisoned = patient.cure("poisoned-lock", "acme-provider-net")
    patient.wait_well("nop", "net", "late")
    assert patient.sources().count(at("provider-net")) == 1
    assert "do not delete Provider/net" in poisoned["care"]

    # 2: an entry without a revision hides that a dependency is not installed.
    ghost = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "name": "gone-0123456789ab",
        "source": at("provider-db"),
        "version": "v1.0.0",
        "dependencies": [],
    }
    patient.cluster.client.patch(LOCKS, "lock", {"packages": [*patient.lock(), ghost]})
    patient.install("Configuration", "app", f"{at('app')}:v1.0.0")
    patient.wait_well("app")
    patient.cure("stale-entry", "lock")
    patient.wait_well("app", "acme-provider-db")


def test_packages_that_cannot_be_installed(cluster: LiveCluster) -> None:
    patient = Patient(cluster)
    patient.registry.publish("provider-net v1.0.0", kind="Provider", crds=[CRD])
    patient.registry.publish("provider-net v2.0.0", kind="Provider", crds=[CRD], crossplane=">=v99.0.0")
    patient.registry.publish("labs/net v1.0.0", kind="Provider", crds=[CRD])
    patient.registry.publish("function-nop v1.0.0", kind="Function")
    patient.install("Provider", "net", f"{at('provider-net')}:v1.0.0")
    patient.install("Function", "nop", f"{at('function-nop')}:v1.0.0")
    patient.wait_well("net", "nop")

    # 6: a tag that is not there.
    patient.change("Provider", "net", package=f"{at('provider-net')}:v9.9.9")
    patient.cure("not-pulled", "net")
    patient.wait_well("net")

    # 8: a version that does not accept this Crossplane.
    patient.change("Provider", "net", package=f"{at('provider-net')}:v2.0.0")
    patient.cure("wrong-crossplane", "net")
    patient.wait_well("net")

    # 21: paused, so that an upgrade does not happen.
    annotations = {"metadata": {"annotations": {"crossplane.io/paused": "true"}}}
    patient.cluster.client.patch(FUNCTIONS, "nop", annotations)
    patient.cure("paused", "nop")
    patient.wait_well("nop")

    # 22: an installed package without an active revision.
    patient.change("Provider", "net", revisionActivationPolicy="Manual")
    for one in patient.cluster.client.objects(PROVIDER_REVISIONS):
        patient.cluster.client.patch(
            PROVIDER_REVISIONS, one["metadata"]["name"], {"spec": {"desiredState": "Inactive"}}
        )
    # From v2.4 on, a revision of the new generation may come after that.
    off = patient.wait_named("switched-off", lambda: current(patient.cluster, PROVIDERS, "net"))
    patient.treat(off)
    patient.wait_well("net")
    patient.change("Provider", "net", revisionActivationPolicy="Automatic")
    patient.wait_well("net")

    # 14: two packages with one definition.
    patient.install("Provider", "labs-net", f"{at('labs/net')}:v1.0.0")
    patient.cure("controlled-by-another", "labs-net")
    patient.wait_well("net", "nop")
    assert at("labs/net") not in patient.sources()


def current(cluster: LiveCluster, kind: Resource, name: str) -> str:
    """Return the name of the revision that a package has now."""
    return str(cluster.client.get(kind, name)["status"]["currentRevision"])


def test_dependencies_that_cannot_be_served(cluster: LiveCluster) -> None:
    patient = Patient(cluster)
    for version in ("v1.0.0", "v1.5.0", "v2.0.0"):
        patient.registry.publish(f"provider-net {version}", kind="Provider", crds=[CRD])
    patient.registry.publish("function-nop v1.0.0", kind="Function")
    patient.registry.publish("wide v1.0.0", {"provider-net": ">=v1.0.0"})
    patient.registry.publish("narrow v1.0.0", {"provider-net": "<v2.0.0 >=v1.5.0"})
    patient.registry.publish("far v1.0.0", {"provider-net": ">=v9.0.0", "function-nop": "*"})
    patient.registry.publish("labs/function-nop v1.0.0", kind="Function")
    patient.registry.publish("both v1.0.0", {"function-nop": "*"})

    # 11: nothing fits, and what is behind it waits.
    patient.install("Configuration", "far", f"{at('far')}:v1.0.0")
    patient.cure("nothing-fits", "far")
    patient.wait_well("far")

    # 12: the first dependant has chosen a version that the second one does not accept.
    patient.install("Configuration", "wide", f"{at('wide')}:v1.0.0")
    patient.wait_well("wide", "acme-provider-net")
    patient.install("Configuration", "narrow", f"{at('narrow')}:v1.0.0")
    patient.cure("wrong-version", "acme-provider-net")
    patient.wait_well("wide", "narrow", "acme-provider-net")

    # 13: installed by digest, while versions are asked for.
    digest = patient.registry.publish("provider-net v1.6.0", kind="Provider", crds=[CRD])
    patient.change("Provider", "acme-provider-net", package=f"{at('provider-net')}@{digest}")
    patient.cure("digest-under-semver", "acme-provider-net")
    patient.wait_well("wide", "narrow", "acme-provider-net")

    # 10: the derived name belongs to another source.
    patient.install("Function", "acme-function-nop", f"{at('labs/function-nop')}:v1.0.0")
    patient.wait_well("acme-function-nop")
    patient.install("Configuration", "both", f"{at('both')}:v1.0.0")
    patient.cure("name-taken", "both")
    patient.wait_well("both", "acme-function-nop")
