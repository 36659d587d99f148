"""etcd, the API server, and of Kubernetes' controllers the garbage collector alone."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from rig.servers.client import Client
from rig.servers.processes import Server, Servers, program

_TOKEN = "made-up-token-of-the-tests"
_OPENSSL_SECONDS = 120
_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
  - name: live
    cluster:
      server: {url}
      certificate-authority: {authority}
users:
  - name: tests
    user:
      token: {token}
contexts:
  - name: live
    context:
      cluster: live
      user: tests
current-context: live
"""


@dataclass(frozen=True, slots=True)
class Keys:
    """What the API server knows people and itself by; the same for all clusters of a session."""

    folder: Path

    @property
    def authority(self) -> Path:
        """What a client trusts; the server makes it when it first starts."""
        return self.folder / "apiserver.crt"


def make_keys(folder: Path) -> Keys:
    """Make the key that tokens of service accounts are signed with, and the token of the tests."""
    folder.mkdir(parents=True)
    _openssl("genrsa", "-out", folder / "accounts.key", "2048")
    _openssl("rsa", "-in", folder / "accounts.key", "-pubout", "-out", folder / "accounts.pub")
    (folder / "tokens.csv").write_text(f"{_TOKEN},tests,1,system:masters\n")
    return Keys(folder)


@dataclass(frozen=True, slots=True)
class Kube:
    """An API server that answers."""

    client: Client
    kubeconfig: Path


def start_kube(servers: Servers, programs: Path, keys: Keys, data: Path, folder: Path) -> Kube:
    """Start the API server on what a data folder of etcd holds."""
    storage = _start_etcd(servers, data, folder)
    port = servers.free_port()
    url = f"https://127.0.0.1:{port}"
    server = servers.start(_apiserver(programs, keys, storage, port), {}, folder)
    server.wait_until(keys.authority.exists)
    client = Client(url, keys.authority, _TOKEN)
    server.wait_until(client.is_ready)
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(_KUBECONFIG.format(url=url, authority=keys.authority, token=_TOKEN))
    return Kube(client, kubeconfig)


@dataclass(frozen=True, slots=True)
class Controllers:
    """Some of Kubernetes' own controllers."""

    server: Server
    port: int
    certificate: Path

    def wait_until_healthy(self) -> None:
        """Wait until they are up."""
        self.server.wait_until_healthy(f"https://127.0.0.1:{self.port}/healthz", self.certificate)


def start_garbage_collector(servers: Servers, programs: Path, kube: Kube, folder: Path) -> Controllers:
    """Start what deletes objects after their owners and ends deletions in the foreground; do not wait for it."""
    return _start_controllers(servers, programs, kube, folder, "garbage-collector-controller")


def start_deployment_controllers(servers: Servers, programs: Path, kube: Kube, folder: Path) -> Controllers:
    """Start what makes Pods of Deployments and reports their state; do not wait for it."""
    certificates = folder / "deployments"
    certificates.mkdir()
    names = ("deployment-controller", "replicaset-controller")
    return _start_controllers(servers, programs, kube, certificates, *names)


def _start_controllers(
    servers: Servers, programs: Path, kube: Kube, folder: Path, *names: str
) -> Controllers:
    port = servers.free_port()
    command: list[str | Path] = [
        programs / "kube-controller-manager",
        f"--kubeconfig={kube.kubeconfig}",
        f"--controllers={','.join(names)}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder}",
    ]
    server = servers.start(command, {}, folder)
    return Controllers(server, port, folder / "kube-controller-manager.crt")


def _start_etcd(servers: Servers, data: Path, folder: Path) -> str:
    clients, peers = (f"http://127.0.0.1:{servers.free_port()}" for _ in range(2))
    command = [
        *(program("etcd"), "--data-dir", str(data)),
        *("--listen-client-urls", clients, "--advertise-client-urls", clients),
        *("--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers),
        *("--initial-cluster", f"default={peers}"),
        # The data is thrown away after a test.
        "--unsafe-no-fsync",
    ]
    servers.start(command, {}, folder).wait_until_healthy(f"{clients}/health")
    return clients


def _apiserver(programs: Path, keys: Keys, storage: str, port: int) -> list[str | Path]:
    return [
        programs / "kube-apiserver",
        f"--etcd-servers={storage}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={keys.folder}",
        # Who may do what is not what is tested here.
        "--authorization-mode=AlwaysAllow",
        f"--token-auth-file={keys.folder / 'tokens.csv'}",
        "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys.folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={keys.folder / 'accounts.key'}",
        "--service-cluster-ip-range=10.78.0.0/24",
        # No client looks for the server inside of the cluster.
        "--endpoint-reconciler-type=none",
    ]


def _openssl(*arguments: str | Path) -> None:
    command = [program("openssl"), *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True, timeout=_OPENSSL_SECONDS)
