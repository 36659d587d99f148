"""Argo CD: its repo-server with our plugin in a sidecar, its application controller, and what they are configured by."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rig.builds.recipes import PLAIN_REPO_SERVER
from rig.deploy.kustomize import DEPLOY, read_one
from rig.servers.client import Client, Refused
from rig.servers.kinds import ARGOCD, ARGOCD_CONFIG_MAPS, ARGOCD_SECRETS, CRDS, NAMESPACES, PROJECTS
from rig.servers.kube import Kube
from rig.servers.processes import Server, Servers, program
from rig.servers.waiting import wait_for

_PLUGIN = Path(__file__).parents[3] / "plugin.yaml"
_GIT = "[user]\n\tname = xplock\n\temail = xplock@example.org\n"
# Argo CD finds its configuration by this.
_LABELS = {"app.kubernetes.io/part-of": "argocd"}
_RESYNC = 10


def install_argocd(programs: Path, client: Client) -> None:
    """Make Argo CD's kinds and its configuration, with the health of packages that we ship."""
    for path in sorted((programs / "crds").glob("*-crd.yaml")):
        client.apply(CRDS, yaml.safe_load(path.read_text()))
    client.apply(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ARGOCD}})
    health = read_one(DEPLOY / "health/argocd-cm.yaml")["data"]
    for name, data in (("argocd-cm", health), ("argocd-rbac-cm", {})):
        client.apply(ARGOCD_CONFIG_MAPS, _configuration("ConfigMap", name) | {"data": data})
    secret = {"stringData": {"server.secretkey": "made-up-key-of-the-tests"}}
    client.apply(ARGOCD_SECRETS, _configuration("Secret", "argocd-secret") | secret)
    wait_for(lambda: _is_served(client), lambda: "Argo CD's kinds are served")
    client.apply(PROJECTS, _project())


@dataclass(slots=True)
class ArgoCD:
    """Argo CD's servers; the sidecar can be started again with other settings."""

    servers: Servers
    programs: Path
    folder: Path
    kube: Kube
    _sidecar: Server | None = None

    def start(self) -> None:
        """Start everything but the sidecar, and wait until it answers."""
        redis = self._start_redis()
        repositories, files_health = f"127.0.0.1:{self.servers.free_port()}", self.servers.free_port()
        files = self._start("argocd-repo-server", *_repo_server(redis, repositories, files_health))
        health = self.servers.free_port()
        controller = self._start("argocd-application-controller", *_controller(redis, repositories, health))
        files.wait_until_healthy(f"http://127.0.0.1:{files_health}/healthz")
        controller.wait_until_healthy(f"http://127.0.0.1:{health}/healthz")

    def start_sidecar(self, settings: Mapping[str, str], *, lock_policy: str = "commit") -> None:
        """Start the plugin's server with an operator's settings, in the place of the one before."""
        if self._sidecar:
            self.servers.end(self._sidecar)
        socket = self.folder / "plugins/xplock.sock"
        socket.unlink(missing_ok=True)
        config = self.folder / "plugin-config"
        config.mkdir(exist_ok=True)
        plugin = _PLUGIN.read_text()
        assert "      - commit\n" in plugin
        (config / "plugin.yaml").write_text(plugin.replace("      - commit\n", f"      - {lock_policy}\n"))
        self._sidecar = self._start("argocd-cmp-server", "--config-dir-path", str(config), settings=settings)
        self._sidecar.wait_until(socket.exists)

    def _start_redis(self) -> str:
        port = self.servers.free_port()
        command = [program("redis-server"), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
        self.servers.start(command, {}, self.folder)
        return f"127.0.0.1:{port}"

    def _start(self, name: str, *arguments: str, settings: Mapping[str, str] | None = None) -> Server:
        environ = {**self._environment(), **(settings or {})}
        return self.servers.start([self.programs / name, *arguments], environ, self.folder)

    def _environment(self) -> dict[str, str]:
        for name in ("tmp", "plugins"):
            (self.folder / name).mkdir(exist_ok=True)
        (self.folder / "gitconfig").write_text(_GIT)
        # The command is in the same environment as the tests.
        places = (str(Path(sys.executable).parent), str(self.programs), os.environ["PATH"])
        return {
            "PATH": os.pathsep.join(places),
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "KUBECONFIG": str(self.kube.kubeconfig),
            "GIT_CONFIG_GLOBAL": str(self.folder / "gitconfig"),
            "ARGOCD_GPG_ENABLED": "false",
            # The cluster that Argo CD runs in is the one in KUBECONFIG.
            "ARGOCD_FAKE_IN_CLUSTER": "true",
            "ARGOCD_PLUGINSOCKFILEPATH": str(self.folder / "plugins"),
            "ARGOCD_CMP_WORKDIR": str(self.folder / "tmp"),
        }


def _repo_server(redis: str, address: str, health: int) -> list[str]:
    host, port = address.split(":")
    return [
        *("--redis", redis, *PLAIN_REPO_SERVER, "--address", host, "--port", port),
        *("--metrics-address", "127.0.0.1", "--metrics-port", str(health), "--logformat", "text"),
        # One setting of Argo CD, `timeout.reconciliation`, is for this and for the controller's resync.
        *("--revision-cache-expiration", f"{_RESYNC}s"),
    ]


def _controller(redis: str, repositories: str, health: int) -> list[str]:
    return [
        *("--namespace", ARGOCD, "--redis", redis),
        *("--repo-server", repositories, "--repo-server-plaintext"),
        *("--metrics-port", str(health), "--logformat", "text"),
        # Where a test does not ask for a refresh, a commit is seen after this many seconds.
        *("--app-resync", str(_RESYNC), "--app-resync-jitter", "0"),
    ]


def _configuration(kind: str, name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": ARGOCD, "labels": _LABELS}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def _project() -> dict[str, Any]:
    everything = [{"group": "*", "kind": "*"}]
    return {
        "apiVersion": PROJECTS.api,
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": ARGOCD},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"server": "*", "namespace": "*"}],
            "clusterResourceWhitelist": everything,
        },
    }


def _is_served(client: Client) -> bool:
    try:
        client.objects(PROJECTS)
    except Refused:
        return False
    return True
