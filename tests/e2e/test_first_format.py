"""Packages of the first format, converted and pushed, are installed by the real Crossplane; install objects ask for them."""

from pathlib import Path
from typing import Any

import yaml
from rig.builders.first_format import APP, INSTALL, crd, write_package
from rig.builders.schemas import NOT_STRUCTURAL, STRUCTURAL
from rig.live.application import WELL, conditions_of
from rig.live.package_registry import HOST
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.servers.client import Object, Refused
from rig.servers.kinds import CRDS, CROSSPLANE_SYSTEM, DEPLOYMENTS, MANAGED_DEFINITIONS, Resource

ROLES = Resource("rbac.authorization.k8s.io/v1", "clusterroles")
PODS = Resource("v1", "pods", CROSSPLANE_SYSTEM)
SCHEMA = "{openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}"
IMAGE = "registry.example.org/samples/controller:v1"


def converted(cluster: LiveCluster, name: str, files: dict[str, str | bytes], *options: str) -> Team:
    """Convert a package, push it, and return a team that asks for it by an install object."""
    team = cluster.team(name)
    source = write_package(cluster.folder / f"old-{name}", files)
    package = str(cluster.folder / f"{name}.xpkg")
    team.xplock("package", "build", str(source), "--name", name, "-o", package, *options)
    team.xplock("package", "push", package, f"{cluster.registry.address}/{HOST}/samples/{name}:v1.0.0")
    manifests = Path(package).with_suffix(".manifests")
    team.write("runtime.yaml", (manifests / "runtime.yaml").read_text())
    team.write_settings({"overrides": [{"prefix": f"{HOST}/samples/{name}", "runtimeConfig": name}]})
    spec = {"source": HOST, "package": f"samples/{name}:v1.0.0"}
    team.write("install.yaml", yaml.safe_dump(install(name, spec)))
    return team


def install(name: str, spec: dict[str, Any]) -> Object:
    return {
        "apiVersion": "packages.crossplane.io/v1alpha1",
        "kind": "ClusterPackageInstall",
        "metadata": {"name": name},
        "spec": spec,
    }


def deployment(cluster: LiveCluster, name: str) -> Object:
    [found] = [
        value
        for value in cluster.client.objects(DEPLOYMENTS)
        if value["metadata"]["name"].startswith(f"{name}-")
    ]
    return found


def established(cluster: LiveCluster, name: str) -> Object:
    """Return a CRD, which has to be in use."""
    found = cluster.client.get(CRDS, name)
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert conditions["Established"] == "True"
    return found


def test_a_converted_package_installs_its_crds_and_runs_its_controller(cluster: LiveCluster) -> None:
    files: dict[str, str | bytes] = {
        "app.yaml": APP,
        "install.yaml": INSTALL.replace("xpkg.example.org/samples/controller:v1", IMAGE),
        "icon.svg": "<svg/>",
        "a/crd.yaml": crd(version="v1alpha1"),
        "b/crd.yaml": crd(version="v1beta1", validation=SCHEMA),
    }
    team = converted(cluster, "sample-stack", files)
    team.lock()
    team.sync()

    found = established(cluster, "mytypes.samples.example.org")
    versions = {one["name"]: (one["served"], one["storage"]) for one in found["spec"]["versions"]}
    assert versions == {"v1beta1": (True, True), "v1alpha1": (True, False)}
    # Crossplane installs the CRDs of a Provider by way of MRDs, which keep what describes them.
    annotations = cluster.client.get(MANAGED_DEFINITIONS, found["metadata"]["name"])["metadata"][
        "annotations"
    ]
    assert annotations["packages.crossplane.io/package-title"] == "Sample Crossplane Stack"
    assert annotations["packages.crossplane.io/icon-data-uri"].startswith("data:image/svg+xml;base64,")
    running = deployment(cluster, "sample-stack")
    pod = running["spec"]["template"]["spec"]
    assert running["spec"]["replicas"] == 2
    assert (pod["containers"][0]["name"], pod["containers"][0]["image"]) == ("package-runtime", IMAGE)
    assert pod["containers"][0]["args"] == ["--debug"]
    assert pod["serviceAccountName"] == "sample-stack"
    assert conditions_of(cluster.packages()["sample-stack"]) == WELL
    # The permissions of that time are for a person to apply.
    assert cluster.client.find(ROLES, "sample-stack-packages-v1") is None


def test_a_package_without_a_controller_runs_nothing_and_is_healthy(cluster: LiveCluster) -> None:
    # The stand-in for nodes would call any Deployment available.
    cluster.run_deployments()
    team = converted(cluster, "types", {"app.yaml": APP, "crd.yaml": crd()})
    team.lock()
    team.sync()

    established(cluster, "mytypes.samples.example.org")
    running = deployment(cluster, "types")
    [available] = [one for one in running["status"]["conditions"] if one["type"] == "Available"]
    assert running["spec"]["replicas"] == 0
    assert (available["status"], available["reason"]) == ("True", "MinimumReplicasAvailable")
    assert list(cluster.client.objects(PODS)) == []
    assert conditions_of(cluster.packages()["types"]) == WELL


def test_the_api_server_accepts_and_refuses_the_same_schemas(cluster: LiveCluster) -> None:
    schemas = [*STRUCTURAL, *(schema for schema, _ in NOT_STRUCTURAL)]

    refused = [
        schema for i, schema in enumerate(schemas) if is_refused(cluster, crd_with(f"Kind{i}", schema))
    ]

    assert refused == [schema for schema, _ in NOT_STRUCTURAL]


def is_refused(cluster: LiveCluster, value: Object) -> bool:
    try:
        cluster.client.create(CRDS, value)
    except Refused as error:
        assert error.status == 422
        return True
    return False


def crd_with(kind: str, schema: Any) -> Object:
    """Return a CRD of v1 with this schema."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.example.org"},
        "spec": {"group": "example.org", "names": names, "scope": "Cluster", "versions": [version]},
    }
