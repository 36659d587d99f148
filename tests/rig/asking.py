"""Ways to ask: a client set up as an operator would, packages to ask for, and the command itself."""

import base64
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from render.cli.run import run
from render.deadline import Deadline
from render.limits import Limits
from render.references import Digest, Reference, Source, parse_reference
from render.registry.access import RegistrySettings
from render.registry.cache import Cache
from render.registry.client import RegistryClient
from render.registry.credentials import CredentialStore
from render.registry.tokens import Authenticator
from render.registry.transport import Transport
from rig.mini import INDEX, MANIFEST, Descriptor, MiniRegistry
from rig.server import Answer, Request, Wire, answer

LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
SECONDS = 30.0


class Clock:
    """A clock that stands still, except for those who wait."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self.waits: list[float] = []

    def now(self) -> float:
        """Tell the time."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.waits.append(seconds)
        self.time += seconds


@dataclass
class Asker:
    """A client and everything below it."""

    transport: Transport
    client: RegistryClient
    authenticator: Authenticator
    waits: list[float]
    traces: list[str] = field(default_factory=list)


def bounded(**amounts: float) -> Limits:
    """Return the limits with some of them changed; seconds may be fractions."""
    return Limits(**cast(dict[str, int], amounts))


def asker(
    *plain_hosts: str,
    environ: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    seconds: float = SECONDS,
    now: Callable[[], float] = time.monotonic,
    cache: Path | None = None,
) -> Asker:
    """Return a client that may ask some hosts without TLS, and that never really waits between tries."""
    settings = RegistrySettings.from_environment(
        {"XPLOCK_PLAIN_HTTP": ",".join(plain_hosts), **(environ or {})}
    )
    limits = limits or Limits()
    waits: list[float] = []
    traces: list[str] = []
    transport = Transport(settings, limits, Deadline(seconds, now, waits.append), traces.append)
    credentials = CredentialStore(environ or {}, limits, lambda _: None)
    authenticator = Authenticator(transport, settings, credentials)
    client = RegistryClient(transport, authenticator, Cache(cache, limits, lambda _: None))
    return Asker(transport, client, authenticator, waits, traces)


def logins(passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of somebody who has logged in to some registries as robin."""
    auths = {
        host: {"auth": base64.b64encode(f"robin:{password}".encode()).decode()}
        for host, password in passwords.items()
    }
    return {"DOCKER_AUTH_CONFIG": json.dumps({"auths": auths})}


def named(host: str, rest: str = "some/name:v1.0.0") -> Reference:
    """Return a reference on a host."""
    return parse_reference(f"{host}/{rest}")


def source(host: str, repository: str = "some/name") -> Source:
    """Return a source on a host."""
    return Source(host, repository)


def tar_layer(files: Mapping[str, str]) -> bytes:
    """Return a compressed layer with some files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(raw.getvalue(), mtime=0)


def package_yaml(name: str) -> str:
    """Return the smallest package."""
    return (
        f"apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: {name}\nspec: {{}}\n"
    )


def manifest(config: Descriptor, layers: Sequence[Mapping[str, object]], **more: object) -> bytes:
    """Return an image manifest."""
    document = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers, **more}
    return json.dumps(document).encode()


def index(children: Sequence[Mapping[str, object]], **more: object) -> bytes:
    """Return an image index."""
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": children, **more}).encode()


@dataclass(frozen=True)
class AddedPackage:
    """A package in a small registry."""

    digest: Digest
    layer: Descriptor
    data: bytes

    def as_child(self, platform: str = "") -> dict[str, object]:
        """Return how an index names it, for a platform written os/architecture."""
        child: dict[str, object] = {"mediaType": MANIFEST, "digest": self.digest, "size": len(self.data)}
        if platform:
            os_name, architecture = platform.split("/")
            child["platform"] = {"os": os_name, "architecture": architecture}
        return child


def add_package(
    mini: MiniRegistry, repository: str = "some/name", tag: str | None = "v1.0.0", name: str = "some-name"
) -> AddedPackage:
    """Put the smallest package into a small registry."""
    layer = mini.add_blob(tar_layer({"package.yaml": package_yaml(name)}), LAYER)
    marked = {**layer, "annotations": {"io.crossplane.xpkg": "base"}}
    data = manifest(mini.add_blob(b"{}", CONFIG), [marked])
    return AddedPackage(Digest(mini.add_manifest(repository, tag, data)), layer, data)


def challenged(mini: MiniRegistry, challenge: str, accepted: str) -> Callable[[Request], Answer]:
    """Serve a small registry to those who send the right Authorization header, and a challenge to others."""

    def handle(request: Request) -> Answer:
        if request.headers.get("Authorization") == accepted:
            return mini.serve(request)
        return answer(401, headers={"WWW-Authenticate": challenge})

    return handle


def counted(
    length: int, sent: list[int], *, with_length: bool, status: int = 200, chunk: bytes = bytes(16 << 10)
) -> Answer:
    """Send that many bytes, and tell how many the client let us send."""

    def write(wire: Wire) -> None:
        wire.start(status, {"Content-Length": str(length)} if with_length else {}, close=True)
        sent.append(0)
        while sent[-1] < length and wire.open:
            wire.send(chunk)
            sent[-1] += len(chunk)

    return Answer(write)


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    def assert_refused(self, code: int, *facts: str) -> None:
        """Check that the command failed as it should: no result, three parts, and nothing odd."""
        assert (self.code, self.stdout) == (code, ""), self
        assert self.stderr.startswith("error: "), self.stderr
        for fact in ("\n  why:  ", "\n  next: ", *facts):
            assert fact in self.stderr, f"{fact!r} is missing in:\n{self.stderr}"
        assert "Traceback" not in self.stderr
        hidden = [character for character in self.stderr if character < " " and character != "\n"]
        assert not hidden, f"{hidden} in {self.stderr!r}"


def run_command(*arguments: str, environ: Mapping[str, str] | None = None) -> Outcome:
    """Run xplock in this process, which spares its start; unless told otherwise it caches nothing."""
    stdout, stderr = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with (
        pytest.MonkeyPatch.context() as environment,
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        for name, text in {"XPLOCK_CACHE_DIR": "", **(environ or {})}.items():
            environment.setenv(name, text)
        code = run(arguments)
    texts = []
    for stream in (stdout, stderr):
        stream.flush()
        texts.append(stream.detach().getvalue().decode())
    return Outcome(code, *texts)


def start_command(*arguments: str, environ: Mapping[str, str] | None = None) -> Outcome:
    """Run xplock as its users do, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "render", *arguments],
        env={**os.environ, "XPLOCK_CACHE_DIR": "", **(environ or {})},
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def files_below(folder: Path) -> list[Path]:
    """Return every file in a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
