"""A real argocd-repo-server with its redis, asked as Argo CD's controller and its users ask it."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from rig.argocd.cmp_server import OPTIONS, SECONDS, START_SECONDS, announced, chunks, pack
from rig.argocd.protobuf import Message, decode, encode, texts
from rig.builds.go_builds import build
from rig.builds.recipes import ARGOCD, KUBERNETES, PLAIN_REPO_SERVER
from rig.processes import running

TRACKING = "argocd.argoproj.io/tracking-id"
NAMESPACE = "crossplane-system"

# Found before a test hides the user's settings.
_PROGRAMS = build(ARGOCD)
_SERVICE = "/repository.RepoServerService/"
_STARTS = 5


@dataclass(frozen=True, slots=True)
class Application:
    """What an Application says about its source, and what its cluster is."""

    url: str
    path: str = "shop"
    target: str = "main"
    name: str = "shop"
    parameters: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    # User and password that Argo CD reads the repository with.
    credentials: tuple[str, str] = ("", "")
    # Where manifests are made for no cluster, both of these are empty.
    kube_version: str = KUBERNETES.version.removeprefix("v")
    api_versions: Sequence[str] = ("v1", "pkg.crossplane.io/v1/Provider")

    @property
    def repository(self) -> Message:
        """The repository, in Argo CD's own words; certificates are not what is tested here."""
        user, password = self.credentials
        return {1: self.url, 2: user, 3: password, 7: True}

    @property
    def source(self) -> Message:
        """The source, in Argo CD's own words."""
        plugin: Message = {
            1: "xplock",
            2: [{1: name, 2: value} for name, value in self.env.items()],
            3: [{1: name, 5: value} for name, value in self.parameters.items()],
        }
        return {1: self.url, 2: self.path, 4: self.target, 11: plugin}


class RepoServer:
    """A server that answers, and never from its cache unless asked to."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def generate(
        self, wanted: Application, revision: str = "", *, cached: bool = False, seconds: float = SECONDS
    ) -> list[Any]:
        """Return the objects of an Application, at another revision than its own if one is given."""
        call = self._channel.unary_unary(_SERVICE + "GenerateManifest")
        request = _request(wanted, revision or wanted.target, cached=cached)
        return _objects(call(encode(request), timeout=seconds))

    def generate_from(self, wanted: Application, root: Path) -> list[Any]:
        """Return the objects of files that a user sends; the repository does not matter."""
        call = self._channel.stream_unary(_SERVICE + "GenerateManifestWithFiles")
        return _objects(call(_stream(wanted, pack(root)), timeout=SECONDS))

    def parameters(self, wanted: Application) -> dict[str, str]:
        """Return the parameters that an Application's page shows, with their values."""
        call = self._channel.unary_unary(_SERVICE + "GetAppDetails")
        query: Message = {1: wanted.repository, 2: wanted.source, 5: wanted.name, 6: True}
        [details] = decode(call(encode(query), timeout=SECONDS))[6]
        assert isinstance(details, bytes)
        return announced(decode(details).get(1, []))


@contextmanager
def repo_server(folder: Path, plugins: Path, *options: str) -> Iterator[RepoServer]:
    """Start the server beside the sockets of its plugins."""
    (folder / "tmp").mkdir(parents=True)
    environ = {
        # Its ask-pass program is found there.
        "PATH": f"{_PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "TMPDIR": str(folder / "tmp"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_ASK_PASS_SOCK": str(folder / "ask.sock"),
        "ARGOCD_PLUGINSOCKFILEPATH": str(plugins),
    }
    program = str(_PROGRAMS / "argocd-repo-server")
    address = [*PLAIN_REPO_SERVER, "--address", "127.0.0.1", "--metrics-address", "127.0.0.1"]
    with redis_server(folder / "redis") as redis:
        for _ in range(_STARTS):
            port, metrics = _free_ports(2)
            ports = ["--redis", f"127.0.0.1:{redis}", "--port", str(port), "--metrics-port", str(metrics)]
            with running([program, *address, *ports, *options], environ, folder / "log") as process:
                if not answers(process, port):
                    continue
                with grpc.insecure_channel(f"127.0.0.1:{port}", options=OPTIONS) as channel:
                    yield RepoServer(channel)
                return
    raise AssertionError(f"argocd-repo-server does not start: {(folder / 'log').read_text()}")


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """Start a redis that keeps nothing on disk, and return its port."""
    folder.mkdir(parents=True)
    program = shutil.which("redis-server")
    assert program, "no redis-server on PATH; it comes with Debian's package redis-server"
    for _ in range(_STARTS):
        [port] = _free_ports(1)
        settings = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
        with running([program, *settings], {}, folder / "log") as process:
            if answers(process, port):
                yield port
                return
    raise AssertionError(f"redis-server does not start: {(folder / 'log').read_text()}")


def answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until a port is open; stop if the program ends, since another one may have taken the port."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process.poll() is None
        time.sleep(0.02)
    return False


def _free_ports(number: int) -> list[int]:
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _request(wanted: Application, revision: str, *, cached: bool) -> Message:
    return {
        1: wanted.repository,
        2: revision,
        3: not cached,
        # Every way of tracking needs it.
        4: "app.kubernetes.io/instance",
        5: wanted.name,
        8: NAMESPACE,
        10: wanted.source,
        14: wanted.kube_version,
        15: wanted.api_versions,
        # The commit of a branch is looked up each time.
        18: True,
        19: "annotation",
        25: "default",
    }


def _stream(wanted: Application, data: bytes) -> Iterator[bytes]:
    yield encode({1: _request(wanted, "", cached=False)})
    yield encode({2: {1: hashlib.sha256(data).hexdigest(), 2: len(data)}})
    for chunk in chunks(data):
        yield encode({3: {1: chunk}})


def _objects(answer: bytes) -> list[Any]:
    return [json.loads(text) for text in texts(answer, 1)]
