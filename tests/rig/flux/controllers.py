"""Flux in a cluster: the definitions of its kinds, its two controllers, and what they are told to apply."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rig.builds.go_builds import build
from rig.flux.builds import CONTROLLERS
from rig.live.application import describe_packages
from rig.servers.client import Client, Object, Refused
from rig.servers.kinds import CRDS, NAMESPACES, Resource
from rig.servers.processes import Servers
from rig.servers.waiting import wait_for

NAMESPACE = "flux-system"
GIT_REPOSITORIES = Resource("source.toolkit.fluxcd.io/v1", "gitrepositories", NAMESPACE)
KUSTOMIZATIONS = Resource("kustomize.toolkit.fluxcd.io/v1", "kustomizations", NAMESPACE)
_SECRETS = Resource("v1", "secrets", NAMESPACE)
_KINDS = {"GitRepository": GIT_REPOSITORIES, "Kustomization": KUSTOMIZATIONS, "Secret": _SECRETS}
_REQUEST = "reconcile.fluxcd.io/requestedAt"
# Built before a test hides the user's settings.
_PROGRAMS = [build(one) / one.name for one in CONTROLLERS]


@dataclass(frozen=True, slots=True)
class Flux:
    """Flux's controllers, which run, and the objects that they work with."""

    client: Client

    def apply(self, objects: list[Object]) -> None:
        """Create or change sources, Kustomizations and Secrets."""
        for value in objects:
            self.client.apply(_KINDS[value["kind"]], value)

    def log_in(self, name: str, files: Mapping[str, str]) -> None:
        """Make the Secret that a source gets in with."""
        data = {key: base64.b64encode(text.encode()).decode() for key, text in files.items()}
        metadata = {"name": name, "namespace": NAMESPACE}
        self.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}])

    def wait_applied(self, commit: str, *names: str) -> None:
        """Have the sources fetched now, as `flux reconcile source git` does, and wait until all is applied and ready."""
        for source in self.client.objects(GIT_REPOSITORIES):
            request = {"metadata": {"annotations": {_REQUEST: str(time.monotonic_ns())}}}
            self.client.patch(GIT_REPOSITORIES, source["metadata"]["name"], request)

        def are_applied() -> bool:
            return all(_is_applied(self.client.get(KUSTOMIZATIONS, name), commit) for name in names)

        wait_for(are_applied, lambda: f"{' and '.join(names)} applied {commit}\n{self.describe()}")

    def inventory(self, name: str) -> set[str]:
        """Return the kind and name of each object that a Kustomization has applied and still owns."""
        status = self.client.get(KUSTOMIZATIONS, name)["status"]
        parts = [entry["id"].split("_") for entry in status.get("inventory", {}).get("entries", [])]
        return {f"{kind}/{name}" for _, name, _, kind in parts}

    def describe(self) -> str:
        """Describe sources, Kustomizations and packages, for the error of a wait."""
        found = [*self.client.objects(GIT_REPOSITORIES), *self.client.objects(KUSTOMIZATIONS)]
        told = [f"{value['metadata']['name']}: {json.dumps(value.get('status', {}))}" for value in found]
        return "\n".join([*told, describe_packages(self.client)])


def start_flux(servers: Servers, client: Client, kubeconfig: Path, folder: Path) -> Flux:
    """Install Flux's kinds, and start its controllers as its own manifests do, on loopback alone."""
    for program in _PROGRAMS:
        for path in sorted((program.parent / "crds").glob("*.yaml")):
            client.apply(CRDS, yaml.safe_load(path.read_text()))
    client.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    wait_for(lambda: _are_served(client), lambda: "Flux's kinds are served")
    (folder / "artifacts").mkdir()
    artifacts = f"127.0.0.1:{servers.free_port()}"
    storage = [
        f"--storage-path={folder}/artifacts",
        f"--storage-addr={artifacts}",
        f"--storage-adv-addr={artifacts}",
    ]
    for program, options in zip(_PROGRAMS, (storage, ["--requeue-dependency=2s"]), strict=True):
        _start(servers, program, options, kubeconfig, folder)
    return Flux(client)


def _start(servers: Servers, program: Path, options: list[str], kubeconfig: Path, folder: Path) -> None:
    health = f"127.0.0.1:{servers.free_port()}"
    usual = [
        "--watch-all-namespaces",
        f"--health-addr={health}",
        f"--metrics-addr=127.0.0.1:{servers.free_port()}",
    ]
    temporary = folder / f"tmp-{program.name}"
    temporary.mkdir()
    environ = {
        "KUBECONFIG": str(kubeconfig),
        "RUNTIME_NAMESPACE": NAMESPACE,
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
    }
    server = servers.start([program, *usual, *options], environ, folder)
    server.wait_until_healthy(f"http://{health}/readyz")


def _are_served(client: Client) -> bool:
    try:
        return all(client.objects(kind) == [] for kind in (GIT_REPOSITORIES, KUSTOMIZATIONS))
    except Refused:
        return False


def _is_applied(value: Object, commit: str) -> bool:
    status: dict[str, Any] = value.get("status", {})
    ready = [one["status"] for one in status.get("conditions", []) if one["type"] == "Ready"]
    revision = str(status.get("lastAppliedRevision", ""))
    return (
        revision.endswith(f"sha1:{commit}")
        and ready == ["True"]
        and status.get("observedGeneration") == value["metadata"]["generation"]
    )
