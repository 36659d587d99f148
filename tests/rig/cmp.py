"""A real argocd-cmp-server, started as in a sidecar and called as Argo CD's repo-server calls it."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from rig.built import build_argocd
from rig.wire import Message, decode, encode, texts

# Found before a test hides whose machine this is.
_PROGRAM = build_argocd() / "argocd-cmp-server"
_SERVICE = "/plugin.ConfigManagementPluginService/"
_CHUNK = 1024
_MOST_BYTES = 100 * 1024 * 1024
_SECONDS = 60
# Without these, grpcio does not read an error of more than a few thousand characters.
_OPTIONS = [
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.max_metadata_size", _MOST_BYTES),
    ("grpc.absolute_max_metadata_size", _MOST_BYTES),
]


class CmpServer:
    """A server that answers on a socket."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def generate(self, root: Path, path: str, environ: Mapping[str, str] | None = None) -> list[Any]:
        """Return the objects of a folder of a repository."""
        answer = self._send("GenerateManifest", root, path, environ or {})
        return [json.loads(text) for text in texts(answer, 1)]

    def parameters(self, root: Path, path: str) -> dict[str, str]:
        """Return the announced parameters, by their names, with the values that are shown."""
        announced = decode(self._send("GetParametersAnnouncement", root, path, {})).get(1, [])
        return {
            "".join(texts(entry, 1)): "".join(texts(entry, 7))
            for entry in announced
            if isinstance(entry, bytes)
        }

    def has_discovery(self) -> bool:
        """Tell whether the plugin is tried on Applications that do not name it."""
        call = self._channel.unary_unary(_SERVICE + "CheckPluginConfiguration")
        return bool(decode(call(b"", timeout=_SECONDS)).get(1, [0])[0])

    def _send(self, method: str, root: Path, path: str, environ: Mapping[str, str]) -> bytes:
        call = self._channel.stream_unary(_SERVICE + method)
        answer: bytes = call(_stream(root, path, environ), timeout=_SECONDS)
        return answer


@contextmanager
def cmp_server(folder: Path, plugin: Path, environ: Mapping[str, str]) -> Iterator[CmpServer]:
    """Start the server with a plugin.yaml; the environment is that of the sidecar."""
    for name in ("config", "plugins", "work"):
        (folder / name).mkdir(parents=True)
    (folder / "config/plugin.yaml").write_bytes(plugin.read_bytes())
    own = {
        "ARGOCD_PLUGINSOCKFILEPATH": str(folder / "plugins"),
        "ARGOCD_CMP_WORKDIR": str(folder / "work"),
    }
    command = [str(_PROGRAM), "--config-dir-path", str(folder / "config")]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            command, env={**os.environ, **environ, **own}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ) as process,
    ):
        try:
            socket = _wait_for_socket(folder / "plugins", process, folder / "log")
            with grpc.insecure_channel(f"unix:{socket}", options=_OPTIONS) as channel:
                yield CmpServer(channel)
        finally:
            # Asked to end, it takes its socket away and goes on serving.
            process.kill()


def _wait_for_socket(folder: Path, process: subprocess.Popen[bytes], log: Path) -> Path:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        found = list(folder.glob("*.sock"))
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError(f"argocd-cmp-server does not start: {log.read_text()}")


def _stream(root: Path, path: str, environ: Mapping[str, str]) -> Iterator[bytes]:
    data = _pack(root)
    metadata: Message = {
        1: Path(path).name,
        2: path,
        3: hashlib.sha256(data).hexdigest(),
        4: len(data),
        5: [{1: name, 2: value} for name, value in environ.items()],
    }
    yield encode({1: metadata})
    for start in range(0, len(data), _CHUNK):
        yield encode({2: {1: data[start : start + _CHUNK]}})


def _pack(root: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(root, arcname=".")
    return packed.getvalue()
