"""The sidecar of deploy/repo-server.yaml, run from the files of its image: its user, mounts, variables and command."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from rig.argocd.cmp_server import OPTIONS, PLUGIN, CmpServer, wait_for_socket
from rig.builds.go_builds import build
from rig.builds.recipes import ARGOCD
from rig.deploy.kustomize import DEPLOY, read_one
from rig.processes import running

_PROGRAMS = build(ARGOCD)
_CONTAINER = read_one(DEPLOY / "repo-server.yaml")["spec"]["template"]["spec"]["containers"][0]
_SECONDS = 120
# A pod's containers have processes and mounts of their own; here, the network stays, so that tests can be servers.
_APART = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
# Arguments: the root, then source, target and options of each mount, then `--` and the command. A link in the image, such
# as /var/run, has to be followed inside of it. Mounts come first: afterwards the root cannot be written.
_ENTER = """
root=$1; shift
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
  target=$root$(chroot "$root" realpath --canonicalize-missing "$2")
  if [ -d "$1" ]; then mkdir -p "$target"; else mkdir -p "${target%/*}"; touch "$target"; fi
  mount --bind "$1" "$target"
  mount -o "remount,bind,$3" "$target"
  shift 3
done
shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
exec chroot "$root" "$@"
"""
_WITHOUT_RIGHTS = ("--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A container that can be started: the files of an image, and the volumes of a pod below a folder."""

    root: Path
    folder: Path

    def command(self, command: Sequence[str], environ: Mapping[str, str]) -> list[str]:
        """Return what runs a command in the container, with these variables and no others."""
        user = _CONTAINER["securityContext"]["runAsUser"]
        drop = ["setpriv", "--pdeathsig=KILL", f"--reuid={user}", f"--regid={user}", *_WITHOUT_RIGHTS, "--"]
        variables = [f"{name}={value}" for name, value in environ.items()]
        mounts = [word for mount in _CONTAINER["volumeMounts"] for word in self._mount(mount)]
        inside = [*drop, "env", "--ignore-environment", *variables, *command]
        return [*_APART, "sh", "-ec", _ENTER, "sh", str(self.root), *mounts, "--", *inside]

    def run(self, *command: str, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command in the container, however it ends."""
        return subprocess.run(
            self.command(command, environ), capture_output=True, text=True, timeout=_SECONDS
        )

    def volume(self, name: str) -> Path:
        """Return the folder that stands for a volume."""
        return self.folder / name

    def _mount(self, mount: Mapping[str, Any]) -> tuple[str, str, str]:
        source = self.volume(mount["name"]) / mount.get("subPath", "")
        read_only = mount.get("readOnly") or mount["name"] in ("var-files", "xplock-plugin")
        return str(source), mount["mountPath"], "ro" if read_only else "rw"


def new_sidecar(root: Path, folder: Path, *, plugin: Path = PLUGIN) -> Sidecar:
    """Make the volumes of a pod: Argo CD's programs, the plugin's file, and empty ones for the rest."""
    sidecar = Sidecar(root, folder)
    for mount in _CONTAINER["volumeMounts"]:
        sidecar.volume(mount["name"]).mkdir(exist_ok=True)
        os.chown(sidecar.volume(mount["name"]), *[_CONTAINER["securityContext"]["runAsUser"]] * 2)
    for name in ("argocd", "argocd-cmp-server"):
        shutil.copy(_PROGRAMS / name, sidecar.volume("var-files"), follow_symlinks=False)
    shutil.copy(plugin, sidecar.volume("xplock-plugin") / "plugin.yaml")
    return sidecar


def declared_variables() -> dict[str, str]:
    """Return the variables that the manifest gives the container."""
    return {variable["name"]: variable["value"] for variable in _CONTAINER["env"]}


@contextmanager
def serving(sidecar: Sidecar, environ: Mapping[str, str]) -> Iterator[CmpServer]:
    """Run the command of the manifest, with these variables."""
    command, log = sidecar.command(_CONTAINER["command"], environ), sidecar.folder / "log"
    with running(command, os.environ, log) as process:
        socket = wait_for_socket(sidecar.volume("plugins"), process, log)
        with grpc.insecure_channel(f"unix:{socket}", options=OPTIONS) as channel:
            yield CmpServer(channel, sidecar.folder)
