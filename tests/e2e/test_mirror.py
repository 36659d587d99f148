"""Crossplane installs from mirrors: one with a password, and one that is all there is once the original is shut down."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rig.builders.projects import at
from rig.live.application import WELL, conditions_of
from rig.live.lock_files import attached_entries, locked_digests
from rig.live.manifests import package_manifest
from rig.live.package_registry import HOST, PackageRegistry
from rig.live.platform import LiveCluster
from rig.live.team import Team
from rig.registry.docker import RunningRegistry, docker_registry
from rig.servers.kinds import CROSSPLANE_SECRETS, CROSSPLANE_SYSTEM, DEPLOYMENTS, PROVIDERS

MIRROR = """\
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: mirror
spec:
  matchImages:
    - prefix: {host}
  rewriteImage:
    prefix: {mirror}/{host}
---
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: login
spec:
  matchImages:
    - prefix: {mirror}/{host}/acme/app
    # It reaches into the tag, and so misses the digest that the tag is pinned to.
    - prefix: {mirror}/{host}/acme/provider-nop:v1
  registry:
    authentication:
      pullSecretRef:
        name: login
"""

# The names that the packages get, and their sources.
CLOSURE = {"app": "app", "acme-base": "base", "acme-provider-nop": "provider-nop"}


@pytest.fixture
def mirror(cluster: LiveCluster) -> Iterator[RunningRegistry]:
    """A registry with a password, which has all packages of the open one."""
    with docker_registry(cluster.registry.folder, "htpasswd") as running:
        yield running


def test_a_mirror_with_a_password_serves_xplock_and_crossplane(
    cluster: LiveCluster, mirror: RunningRegistry, tmp_path: Path
) -> None:
    cluster.registry.publish("provider-nop v1.0.0", kind="Provider", crds=["nops.nop.example.org"])
    cluster.registry.publish("app v1.0.0", {"provider-nop": "^1.0"}, xrds=["apps.app.example.org"])
    team = cluster.team("mirrored", {"XPLOCK_PLAIN_HTTP": mirror.host, "DOCKER_CONFIG": str(tmp_path)})
    team.write("registry.yaml", MIRROR.format(host=HOST, mirror=mirror.host))
    team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))

    told = team.lock(code=1)
    assert f"error: {mirror.host} denies access to read " in told

    (tmp_path / "config.json").write_text(logins(mirror))
    team.lock()
    commit = team.commit_and_push("install from the mirror")
    cluster.wait_until(lambda: says(cluster, "acme-provider-nop", "UNAUTHORIZED"), "Crossplane is refused")

    cluster.client.create(CROSSPLANE_SECRETS, secret(mirror))
    team.application.wait_synced(commit)

    digests = locked_digests(team.folder)
    packages = cluster.packages()
    assert {name: value["status"]["resolvedPackage"] for name, value in packages.items()} == {
        "app": f"{mirror.host}/{at('app')}@{digests['app']}",
        "acme-provider-nop": f"{mirror.host}/{at('provider-nop')}@{digests['acme-provider-nop']}",
    }
    for value in packages.values():
        assert conditions_of(value) == WELL
    assert cluster.locked() == attached_entries(team.folder)
    [deployment] = cluster.client.objects(DEPLOYMENTS)
    pod = deployment["spec"]["template"]["spec"]
    assert [one["image"] for one in pod["containers"]] == [
        packages["acme-provider-nop"]["status"]["resolvedPackage"]
    ]
    assert pod["imagePullSecrets"] == [{"name": "login"}]


def test_a_closure_is_installed_from_the_mirror_with_the_original_registry_shut_down(
    cluster: LiveCluster, tmp_path: Path
) -> None:
    (tmp_path / "mirror").mkdir()
    with docker_registry(tmp_path / "mirror", "open") as mirror:
        team = fill(cluster, mirror, tmp_path / "original")
        commit = team.commit_and_push("install from the mirror")
        team.application.wait_synced(commit)

        digests, packages = locked_digests(team.folder), cluster.packages()
        assert {name: value["status"]["resolvedPackage"] for name, value in packages.items()} == {
            name: f"{mirror.host}/xp/{at(source)}@{digests[name]}" for name, source in CLOSURE.items()
        }
        for value in packages.values():
            assert conditions_of(value) == WELL
        # The cluster's Lock knows the sources that the packages depend on, and not where they are.
        assert cluster.locked() == attached_entries(team.folder)
        [deployment] = cluster.client.objects(DEPLOYMENTS)
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"] == packages["acme-provider-nop"]["status"]["resolvedPackage"]


def fill(cluster: LiveCluster, mirror: RunningRegistry, folder: Path) -> Team:
    """Lock a closure in an original registry, and copy it to the mirror; afterwards, there is only that one."""
    folder.mkdir()
    with docker_registry(folder, "open") as running:
        original = PackageRegistry(running.host, folder)
        original.publish("provider-nop v1.0.0", kind="Provider", crds=["nops.nop.example.org"])
        original.publish("base v1.0.0", {"provider-nop": "^1.0"}, xrds=["bases.base.example.org"])
        original.publish("app v1.0.0", {"base": "^1.0"}, xrds=["apps.app.example.org"])
        team = cluster.team("mirrored", {"XPLOCK_PLAIN_HTTP": f"{running.host},{mirror.host}"})
        team.remove("registry.yaml")
        team.write("app.yaml", package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))
        team.write_settings(
            {
                "rewrites": [{"from": f"{HOST}/", "to": f"{running.host}/{HOST}/"}],
                "mirror": {"to": f"{mirror.host}/xp"},
            }
        )
        team.lock()
        team.xplock("mirror")
    return team


def says(cluster: LiveCluster, name: str, text: str) -> bool:
    """Tell whether a Provider tells something as the reason why it is not installed."""
    value = cluster.client.find(PROVIDERS, name) or {}
    return any(text in one.get("message", "") for one in value.get("status", {}).get("conditions", []))


def logins(mirror: RunningRegistry) -> str:
    """Return what `docker login` writes."""
    auth = base64.b64encode(f"{mirror.username}:{mirror.password}".encode()).decode()
    return json.dumps({"auths": {mirror.host: {"auth": auth}}})


def secret(mirror: RunningRegistry) -> dict[str, object]:
    """Return the pull secret that goes to where Crossplane is."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "login", "namespace": CROSSPLANE_SYSTEM},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": logins(mirror)},
    }
