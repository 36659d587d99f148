"""Clusters with Crossplane and Argo CD: what takes long is made once, and every cluster starts from a copy of it."""

import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rig.builds.go_builds import build
from rig.builds.recipes import ARGOCD, CROSSPLANE, KUBERNETES
from rig.live.application import describe_packages
from rig.live.package_registry import PackageRegistry
from rig.live.revisions import known_ahead
from rig.live.team import Team
from rig.registry.docker import docker_registry
from rig.servers.argocd import ArgoCD, install_argocd
from rig.servers.client import Client, Object
from rig.servers.crossplane import install_crossplane, start_crossplane
from rig.servers.functions import Functions
from rig.servers.kinds import LOCKS, PACKAGES, REVISIONS
from rig.servers.kube import (
    Controllers,
    Keys,
    make_keys,
    start_deployment_controllers,
    start_garbage_collector,
    start_kube,
)
from rig.servers.kubelet import Kubelet
from rig.servers.processes import Servers
from rig.servers.waiting import SECONDS, minding, wait_for


@dataclass(frozen=True, slots=True)
class Programs:
    """Where the servers are, with the definitions of their kinds."""

    kubernetes: Path
    crossplane: Path
    argocd: Path


@dataclass(frozen=True, slots=True)
class Platform:
    """What all clusters of a session share: programs, keys, and the data that etcd starts with."""

    folder: Path
    programs: Programs
    keys: Keys
    data: Path

    @contextmanager
    def cluster(self, name: str, *, trusted: Path | None = None) -> Iterator["LiveCluster"]:
        """Start a cluster in which nothing was installed yet, and end all of it.

        With the root of a TUF repository, its Crossplane verifies signatures.
        """
        folder = self.folder / name
        folder.mkdir()
        data = folder / "etcd"
        with ExitStack() as stack:
            # Most of what a cluster leaves on disk, and no test reads it.
            stack.callback(shutil.rmtree, data, ignore_errors=True)
            shutil.copytree(self.data, data)
            servers = Servers(folder / "logs")
            stack.callback(servers.stop)
            stack.enter_context(minding(servers.check))
            registry_folder = folder / "registry"
            registry_folder.mkdir()
            address = stack.enter_context(docker_registry(registry_folder, "open")).host
            registry = PackageRegistry(address, registry_folder)
            kube = start_kube(servers, self.programs.kubernetes, self.keys, data, folder)
            stack.callback(kube.client.close)
            collector = start_garbage_collector(servers, self.programs.kubernetes, kube, folder)
            argocd = ArgoCD(servers, self.programs.argocd, folder, kube)
            argocd.start()
            functions = stack.enter_context(Functions(kube.client))
            programs = self.programs.crossplane
            start_crossplane(servers, programs, kube, folder, proxy=functions.proxy, trusted=trusted)
            collector.wait_until_healthy()
            kubelet = stack.enter_context(Kubelet(kube.client))
            deployments = partial(
                start_deployment_controllers, servers, self.programs.kubernetes, kube, folder
            )
            cluster = LiveCluster(folder, kube.client, registry, argocd, kubelet, deployments)
            cluster.restart_sidecar()
            yield cluster


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A running cluster, and what tests do with it."""

    folder: Path
    client: Client
    registry: PackageRegistry
    argocd: ArgoCD
    kubelet: Kubelet
    _start_deployments: Callable[[], Controllers]

    def run_deployments(self) -> None:
        """From now on, Kubernetes' own controllers report the state of Deployments; no node runs any Pod."""
        self.kubelet.rest()
        self._start_deployments().wait_until_healthy()

    def team(
        self,
        name: str = "platform",
        settings: Mapping[str, str] | None = None,
        *,
        crossplane: str = CROSSPLANE.version,
    ) -> Team:
        """Return a new team with a repository of its own, whose folder knows the registry and Crossplane's version."""
        environ = {**self.registry.environ, **(settings or {})}
        team = Team(self.folder / f"team-{name}", name, self.client, environ, crossplane)
        # Each its own: two Applications with one object would take it from each other for ever.
        team.write("registry.yaml", self.registry.image_config(team=name))
        return team

    def restart_sidecar(
        self, settings: Mapping[str, str] | None = None, *, lock_policy: str = "commit"
    ) -> None:
        """Start the plugin's server again, with these settings of an operator besides the registry's."""
        self.argocd.start_sidecar({**self.registry.environ, **(settings or {})}, lock_policy=lock_policy)

    def wait_until(self, condition: Callable[[], bool], what: str, *, seconds: float = SECONDS) -> None:
        """Wait until something is so in the cluster; else fail with all packages, revisions and the Lock."""
        wait_for(condition, lambda: f"{what}\n{describe_packages(self.client)}", seconds=seconds)

    def packages(self) -> dict[str, Object]:
        """Return all Providers, Configurations and Functions by their names."""
        found = [value for kind in PACKAGES for value in self.client.objects(kind)]
        return {value["metadata"]["name"]: value for value in found}

    def revisions(self) -> dict[str, Object]:
        """Return all revisions of packages by their names."""
        found = [value for kind in REVISIONS for value in self.client.objects(kind)]
        return {value["metadata"]["name"]: value for value in found}

    def locked(self) -> list[Object]:
        """Return what Crossplane's own Lock holds, as far as a lock knows it ahead, sorted by source."""
        packages = self.client.get(LOCKS, "lock").get("packages") or []
        return sorted(map(known_ahead, packages), key=lambda package: str(package["source"]))


def prepare_platform(folder: Path) -> Platform:
    """Install Crossplane and Argo CD into an empty cluster, and keep its data for all that follow."""
    programs = Programs(*map(build, (KUBERNETES, CROSSPLANE, ARGOCD)))
    keys, data, first = make_keys(folder / "keys"), folder / "etcd", folder / "first"
    first.mkdir()
    servers = Servers(first / "logs")
    try:
        with minding(servers.check):
            kube = start_kube(servers, programs.kubernetes, keys, data, first)
            install_crossplane(programs.crossplane, kube, first)
            install_argocd(programs.argocd, kube.client)
        kube.client.close()
        # In this order and gently: what is kept has to be whole.
        for server in reversed(servers.running):
            server.stop(signal.SIGTERM)
    finally:
        servers.stop()
    return Platform(folder, programs, keys, data)
