"""Real Flux applies a rendered folder with the files of docs/flux.md: pins first, upgrades, guards, and retiring."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from rig.builders.projects import at
from rig.builds.recipes import CROSSPLANE
from rig.flux.controllers import Flux, start_flux
from rig.flux.repository import Repository, read_objects, serving_repository
from rig.live.manifests import package_manifest
from rig.live.platform import LiveCluster
from rig.registry.http_server import Certificate
from rig.servers.client import Watch
from rig.servers.kinds import CONFIGURATIONS, IMAGE_CONFIGS, PROVIDERS, RUNTIME_CONFIGS, Resource

from render.settings import SETTINGS_FILE

PINS, PACKAGES, CONFIGS = "crossplane-pins", "crossplane-packages", "crossplane-configs"
FOLDER = "clusters/production"
PROVIDER_CONFIGS = Resource("nop.example.org/v1", "providerconfigs")
RUNTIME_CONFIG = """\
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata:
  name: small
spec: {}
"""
PROVIDER_CONFIG = """\
apiVersion: nop.example.org/v1
kind: ProviderConfig
metadata:
  name: default
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster that Flux fills from a repository."""

    cluster: LiveCluster
    flux: Flux
    repository: Repository

    def ask_for(self, kind: str, package: str) -> None:
        """Ask for a version of a package: "app v1.0.0"."""
        name, version = package.split()
        text = package_manifest(kind, name, f"{at(name)}:{version}")
        self.repository.write(f"{FOLDER}/{name}.yaml", text)

    def sync(self) -> str:
        """Lock, render and push the folder, and wait until Flux has applied it and finds all packages healthy."""
        self.repository.xplock("lock", FOLDER)
        return self.apply()

    def apply(self) -> str:
        """Render and push the folder as it is, and wait until Flux has applied it."""
        commit = self.repository.render_and_push()
        self.flux.wait_applied(commit, PINS, PACKAGES)
        return commit


@pytest.fixture
def site(cluster: LiveCluster, certificate: Certificate) -> Iterator[Site]:
    """A cluster with Flux, told by the page what to apply; `app` needs a provider, `provider-left` is needed by none."""
    registry = cluster.registry
    registry.publish("provider-nop v1.0.0", kind="Provider", crds=["providerconfigs.nop.example.org"])
    registry.publish("app v1.0.0", {"provider-nop": "^1.0"}, xrds=["apps.app.example.org"])
    registry.publish("provider-left v1.0.0", kind="Provider")
    place = cluster.folder / "flux"
    with ExitStack() as stack:
        repository = stack.enter_context(serving_repository(place, certificate, registry.environ))
        flux = start_flux(cluster.argocd.servers, cluster.client, cluster.argocd.kube.kubeconfig, place)
        flux.log_in("platform-git", repository.login)
        site = Site(cluster, flux, repository)
        repository.write(f"{FOLDER}/registry.yaml", registry.image_config())
        repository.write(f"{FOLDER}/{SETTINGS_FILE}", f"crossplaneVersion: {CROSSPLANE.version}\n")
        site.ask_for("Configuration", "app v1.0.0")
        flux.apply(told_by_the_page(repository))
        yield site


def told_by_the_page(repository: Repository) -> list[dict[str, Any]]:
    """Return the objects that the page tells to apply; only the repository is at another address."""
    objects = read_objects("Apply the folder")
    assert [value["kind"] for value in objects] == ["GitRepository", "Kustomization", "Kustomization"]
    assert objects[0]["spec"]["url"] == "https://git.example.org/acme/platform.git"
    objects[0]["spec"]["url"] = repository.url
    return objects


def moments(watch: Watch, event: str, *, package: str = "") -> list[int]:
    """Return when objects were ADDED or MODIFIED: one counter of the API server counts all changes of all kinds."""
    return [
        int(value["metadata"]["resourceVersion"])
        for kind, value in watch.events
        if kind == event and (not package or value["spec"]["package"] == package)
    ]


def test_on_a_first_install_every_pin_is_there_before_a_package_and_a_moved_tag_is_not_installed(
    site: Site,
) -> None:
    client, registry = site.cluster.client, site.cluster.registry
    site.repository.write(f"{FOLDER}/runtime.yaml", RUNTIME_CONFIG)
    site.repository.xplock("lock", FOLDER)
    locked = site.repository.xplock("render", FOLDER)
    registry.publish("app v1.0.0", {"provider-nop": "^1.0"}, annotations={"moved": "yes"})

    with (
        client.watch(IMAGE_CONFIGS) as pins,
        client.watch(RUNTIME_CONFIGS) as runtimes,
        client.watch(PROVIDERS) as providers,
        client.watch(CONFIGURATIONS) as configurations,
    ):
        site.apply()

    first = [*moments(pins, "ADDED"), *moments(runtimes, "ADDED")]
    second = [*moments(providers, "ADDED"), *moments(configurations, "ADDED")]
    assert max(first) < min(second)
    applied = {f"{value['kind']}/{value['metadata']['name']}" for value in yaml.safe_load_all(locked)}
    assert site.flux.inventory(PINS) | site.flux.inventory(PACKAGES) == applied
    assert site.flux.inventory(PINS) & site.flux.inventory(PACKAGES) == set()
    assert site.flux.inventory(PACKAGES) == {"Configuration/app", "Provider/acme-provider-nop"}
    # One revision of each package: the moved tag never was one.
    assert len(site.cluster.revisions()) == 2
    digests = {value["rewriteImage"]["prefix"] for value in pin_specs(locked)}
    assert {value["status"]["resolvedPackage"] for value in site.cluster.packages().values()} <= digests


def pin_specs(rendered: str) -> list[dict[str, Any]]:
    """Return what each ImageConfig that rewrites says."""
    return [value["spec"] for value in yaml.safe_load_all(rendered) if value["kind"] == "ImageConfig"]


def test_what_a_package_defines_is_applied_once_the_package_is_healthy(site: Site) -> None:
    site.repository.write("configs/production/default.yaml", PROVIDER_CONFIG)
    site.cluster.kubelet.broken.add("acme-provider-nop")
    site.flux.apply(read_objects("Kinds that come with a package"))
    site.repository.xplock("lock", FOLDER)
    commit = site.repository.render_and_push()

    site.flux.wait_applied(commit, PINS)
    site.cluster.wait_until(lambda: "acme-provider-nop" in site.cluster.packages(), "the provider is applied")
    assert site.flux.inventory(CONFIGS) == set()
    site.cluster.kubelet.broken.clear()
    site.flux.wait_applied(commit, PACKAGES, CONFIGS)

    assert site.cluster.client.get(PROVIDER_CONFIGS, "default")


def test_an_upgrade_pins_the_new_version_before_the_package_changes(site: Site) -> None:
    site.sync()
    client, registry = site.cluster.client, site.cluster.registry
    registry.publish("app v1.1.0", {"provider-nop": "^1.0"}, xrds=["apps.app.example.org"])
    site.ask_for("Configuration", "app v1.1.0")

    with client.watch(IMAGE_CONFIGS) as pins, client.watch(CONFIGURATIONS) as configurations:
        site.sync()

    changed = moments(configurations, "MODIFIED", package=f"{at('app')}:v1.1.0")
    [added] = moments(pins, "ADDED")
    assert added < min(changed)
    # The pin of the version before stays while Crossplane may still pull it.
    assert pins.names("DELETED") == []
    active = [
        value for value in site.cluster.revisions().values() if value["spec"]["desiredState"] == "Active"
    ]
    assert sorted(value["spec"]["image"] for value in active) == [
        f"{at('app')}:v1.1.0",
        f"{at('provider-nop')}:v1.0.0",
    ]


def test_a_guarded_package_outlives_its_file_and_a_retired_one_goes_in_two_commits(site: Site) -> None:
    site.ask_for("Provider", "provider-left v1.0.0")
    site.sync()

    # A mistake: the file of a package is gone, and nobody retired it.
    forget(site.repository, "provider-left")
    commit = site.repository.push()
    site.flux.wait_applied(commit, PINS, PACKAGES)
    assert "Provider/provider-left" not in site.flux.inventory(PACKAGES)
    assert "provider-left" in site.cluster.packages()

    site.apply()
    assert "Provider/provider-left" in site.flux.inventory(PACKAGES)

    (site.repository.root / FOLDER / "provider-left.yaml").unlink()
    site.sync()
    assert guard(site) == "disabled"
    site.repository.xplock("retire", "-C", FOLDER, "provider-left")
    site.apply()
    assert guard(site) is None
    site.repository.xplock("retire", "-C", FOLDER, "provider-left", "--synced")
    site.apply()
    site.cluster.wait_until(
        lambda: "provider-left" not in site.cluster.packages(), "the retired package is gone"
    )
    assert set(site.cluster.packages()) == {"app", "acme-provider-nop"}


def forget(repository: Repository, name: str) -> None:
    """Delete the rendered file of a package, and its line in the list of files."""
    folder, file = repository.root / "rendered/production", f"provider-{name}.yaml"
    (folder / file).unlink()
    listed = folder / "kustomization.yaml"
    listed.write_text("".join(line for line in listed.read_text().splitlines(True) if file not in line))


def guard(site: Site) -> str | None:
    """Return the guard of the live package."""
    provider = site.cluster.client.get(PROVIDERS, "provider-left")
    annotations: dict[str, str] = provider["metadata"].get("annotations", {})
    return annotations.get("kustomize.toolkit.fluxcd.io/prune")
