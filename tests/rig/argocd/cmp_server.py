"""A real argocd-cmp-server, started as in a sidecar and called as Argo CD's repo-server calls it."""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from rig.argocd.protobuf import Message, decode, encode, texts
from rig.builds.go_builds import build
from rig.builds.recipes import ARGOCD
from rig.processes import running

PLUGIN = Path(__file__).parents[3] / "plugin.yaml"
# What Argo CD gives up after.
SECONDS = 60
# Far more than a server takes to start on a busy machine.
START_SECONDS = 600

# Found before a test hides the user's settings.
_PROGRAM = build(ARGOCD) / "argocd-cmp-server"
_SERVICE = "/plugin.ConfigManagementPluginService/"
_CHUNK = 1024
_MOST_BYTES = 100 * 1024 * 1024
# Without these, grpcio does not read an error of more than a few thousand characters.
OPTIONS = [
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.max_metadata_size", _MOST_BYTES),
    ("grpc.absolute_max_metadata_size", _MOST_BYTES),
]


class CmpServer:
    """A server that answers on a socket."""

    def __init__(self, channel: grpc.Channel, folder: Path) -> None:
        self._channel = channel
        self.folder = folder

    def generate(
        self, root: Path, path: str, environ: Mapping[str, str] | None = None, *, without: Sequence[str] = ()
    ) -> list[Any]:
        """Return the objects of a folder of a repository; some files may be left out of the tarball."""
        answer = self._send("GenerateManifest", root, path, environ or {}, without)
        return [json.loads(text) for text in texts(answer, 1)]

    def parameters(self, root: Path, path: str) -> dict[str, str]:
        """Return the announced parameters, by their names, with the values that are shown."""
        return announced(decode(self._send("GetParametersAnnouncement", root, path, {})).get(1, []))

    def has_discovery(self) -> bool:
        """Return whether the plugin offers itself for Applications that do not name it."""
        call = self._channel.unary_unary(_SERVICE + "CheckPluginConfiguration")
        return bool(decode(call(b"", timeout=SECONDS)).get(1, [0])[0])

    def left_behind(self) -> list[str]:
        """Return what is still there of finished calls: their trees, and temporary files."""
        places = [*self.folder.glob("work/_cmp_server/*"), *self.folder.glob("tmp/*")]
        return sorted(str(path.relative_to(self.folder)) for path in places)

    def _send(
        self, method: str, root: Path, path: str, environ: Mapping[str, str], without: Sequence[str] = ()
    ) -> bytes:
        call = self._channel.stream_unary(_SERVICE + method)
        answer: bytes = call(_stream(pack(root, without), path, environ), timeout=SECONDS)
        return answer


@contextmanager
def cmp_server(
    folder: Path, environ: Mapping[str, str], *, plugin: Path = PLUGIN, before: Sequence[str] = ()
) -> Iterator[CmpServer]:
    """Start the server with a plugin.yaml and the environment of the sidecar, by way of another command if need be."""
    for name in ("config", "plugins", "work", "tmp"):
        (folder / name).mkdir(parents=True)
    (folder / "config/plugin.yaml").write_bytes(plugin.read_bytes())
    own = {
        "ARGOCD_PLUGINSOCKFILEPATH": str(folder / "plugins"),
        "ARGOCD_CMP_WORKDIR": str(folder / "work"),
        "TMPDIR": str(folder / "tmp"),
    }
    command = [str(_PROGRAM), "--config-dir-path", str(folder / "config")]
    # Asked to end, it takes its socket away and goes on serving; so it is killed.
    with running(command, {**environ, **own}, folder / "log", before=before) as process:
        socket = wait_for_socket(folder / "plugins", process, folder / "log")
        with grpc.insecure_channel(f"unix:{socket}", options=OPTIONS) as channel:
            yield CmpServer(channel, folder)


def sidecar_environment(folder: Path, *, first: str = "") -> dict[str, str]:
    """Return the environment of a sidecar with the command in its PATH; a script may look around before it runs."""
    program = folder / "bin/xplock"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\n{first}\nexec {sys.executable} -m render "$@"\n')
    program.chmod(0o755)
    (folder / "gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "XPLOCK_CACHE_DIR": "",
    }


def plugin_with(folder: Path, policy: str) -> Path:
    """Write the plugin.yaml that is shipped, with another lock policy."""
    shipped = PLUGIN.read_text()
    changed = shipped.replace("      - commit\n", f"      - {policy}\n")
    assert changed != shipped or policy == "commit"
    path = folder / f"{policy}.yaml"
    path.write_text(changed)
    return path


def announced(entries: Sequence[bytes | int]) -> dict[str, str]:
    """Return announced parameters, by their names, with the values that are shown."""
    messages = [entry for entry in entries if isinstance(entry, bytes)]
    return {"".join(texts(entry, 1)): "".join(texts(entry, 7)) for entry in messages}


def pack(root: Path, without: Sequence[str] = ()) -> bytes:
    """Return a tarball of a folder, but for some of its files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(root, arcname=".", filter=lambda entry: None if entry.name[2:] in without else entry)
    return packed.getvalue()


def chunks(data: bytes) -> Iterator[bytes]:
    """Cut a tarball as Argo CD does."""
    return (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))


def wait_for_socket(folder: Path, process: subprocess.Popen[bytes], log: Path) -> Path:
    """Return the socket that a server answers on, once it is there."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        found = list(folder.glob("*.sock"))
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"argocd-cmp-server does not start: {log.read_text()}")


def _stream(data: bytes, path: str, environ: Mapping[str, str]) -> Iterator[bytes]:
    metadata: Message = {
        1: Path(path).name,
        2: path,
        3: hashlib.sha256(data).hexdigest(),
        4: len(data),
        5: [{1: name, 2: value} for name, value in environ.items()],
    }
    yield encode({1: metadata})
    for chunk in chunks(data):
        yield encode({2: {1: chunk}})
