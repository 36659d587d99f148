"""Crossplane's core: its kinds and secrets once, and the package manager for each cluster."""

import base64
import subprocess
from pathlib import Path

from rig.builds.signature_verifier import running_signature_verifier
from rig.processes import dying_with_us
from rig.servers.client import Client
from rig.servers.kinds import CROSSPLANE_ACCOUNTS, CROSSPLANE_SECRETS, CROSSPLANE_SYSTEM, NAMESPACES
from rig.servers.kube import Kube
from rig.servers.processes import Server, Servers
from rig.servers.waiting import wait_for

_CLIENT_SECRET = "crossplane-tls-client"
_INIT_SECONDS = 120


def install_crossplane(programs: Path, kube: Kube, folder: Path) -> None:
    """Make Crossplane's kinds, its certificates and its empty Lock."""
    kube.client.apply(NAMESPACES, _object("Namespace", CROSSPLANE_SYSTEM))
    # Its pull secrets are those of all packages that run.
    kube.client.apply(CROSSPLANE_ACCOUNTS, _object("ServiceAccount", "crossplane"))
    # All kinds of managed resources are activated, as by Crossplane's own chart.
    options = ("--cr-ds-path", str(programs / "crds"), "--activation", "*")
    command = dying_with_us([programs / "crossplane", "core", "init", *options])
    said: list[str] = []

    def is_done() -> bool:
        # It fails as long as the API server has not yet discovered the kinds that it just made.
        try:
            done = subprocess.run(
                command,
                env=_environment(kube, folder),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_INIT_SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            said.append(str(error))
            return False
        said.append(done.stderr)
        return done.returncode == 0

    wait_for(is_done, lambda: f"crossplane core init succeeds\n{said[-1]}")


def start_crossplane(
    servers: Servers, programs: Path, kube: Kube, folder: Path, *, proxy: str, trusted: Path | None = None
) -> Server:
    """Start Crossplane with an empty cache of packages; it gets to Functions through a proxy.

    With the root of a TUF repository it verifies signatures, by the authorities and logs in that repository.
    """
    cache, certificates = folder / "xpkg-cache", folder / "tls"
    for new in (cache, certificates):
        new.mkdir(exist_ok=True)
    _write_certificates(kube.client, certificates)
    health = servers.free_port()
    command: list[str | Path] = [
        *(programs / "crossplane", "core", "start"),
        *("--xpkg-cache-dir", cache),
        *("--metrics-port", str(servers.free_port()), "--health-probe-port", str(health)),
    ]
    if trusted:
        _trust(trusted, cache)
        command.append("--enable-signature-verification")
    server = servers.start(command, {**_environment(kube, folder), "HTTPS_PROXY": proxy}, folder)
    server.wait_until_healthy(f"http://127.0.0.1:{health}/readyz")
    return server


def _environment(kube: Kube, folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder),
        "KUBECONFIG": str(kube.kubeconfig),
        "POD_NAMESPACE": CROSSPLANE_SYSTEM,
        "ENABLE_WEBHOOKS": "false",
        "TLS_CA_SECRET_NAME": "crossplane-root-ca",
        "TLS_SERVER_SECRET_NAME": "crossplane-tls-server",
        "TLS_CLIENT_SECRET_NAME": _CLIENT_SECRET,
        "TLS_SERVER_CERTS_DIR": str(folder / "tls"),
        "TLS_CLIENT_CERTS_DIR": str(folder / "tls"),
    }


def _trust(root: Path, cache: Path) -> None:
    """Prepare the folder that Crossplane keeps its trusted roots in, as `cosign initialize` does."""
    folder = cache / ".sigstore/root"
    folder.mkdir(parents=True)
    with running_signature_verifier(root, folder):
        pass


def _write_certificates(client: Client, folder: Path) -> None:
    for name, text in client.get(CROSSPLANE_SECRETS, _CLIENT_SECRET)["data"].items():
        (folder / name).write_bytes(base64.b64decode(text))


def _object(kind: str, name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
