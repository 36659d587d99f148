"""Mirroring a closure between two registries: beside skopeo, which copies one image after the other; and again."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.registry import (
    Answer,
    MiniRegistry,
    PackageVersion,
    Proxy,
    Raw,
    Request,
    docker_registry,
    late,
    reachable,
    run_command,
    serve_closure,
    serve_large,
    write_project,
)
from render.limits import Limits
from render.lock.model import Lock, LockedPackage
from render.lock.text.file import read_lock
from render.registry.oci import OCI_MANIFEST

_ROOT, _VERSION = "xpkg.upbound.io/upbound/configuration-caas", "v0.3.0"
_LATENCY = 0.05
_LARGE, _MEGABYTES = 1 << 30, 100


def main() -> None:
    """Print one line for each promise."""
    with tempfile.TemporaryDirectory() as name, _registry(Path(name) / "upstream") as host:
        scratch = Path(name)
        project = scratch / "project"
        packages = _lock_and_push(host, project, scratch / "build")
        _compare(scratch, host, project, packages, latency=0, goal=1)
        _compare(scratch, host, project, packages, latency=_LATENCY, goal=0.3)
    for to in ("registry", "oci", "oci-archive"):
        _measure_large(to)


def _measure_large(to: str) -> None:
    """Print how much memory it takes to copy a large blob."""
    with tempfile.TemporaryDirectory() as name, MiniRegistry() as mini:
        scratch = Path(name)
        with _registry(scratch / "there") as there:
            serve_large(mini, "acme/large", _LARGE)
            project = scratch / "project"
            project.mkdir()
            (project / "xplock.yaml").write_text(f"roots:\n  - package: {mini.host}/acme/large:v1.0.0\n")
            environ = {"XPLOCK_PLAIN_HTTP": f"{mini.host},{there}", "XPLOCK_CACHE_DIR": ""}
            _seconds([sys.executable, "-m", "render", "-q", "lock", str(project)], environ=environ)
            target = f"{there}/xp" if to == "registry" else f"{to}:{scratch / 'copy'}"
            (scratch / "run").mkdir()
            done = run_command(
                "mirror", str(project), "--to", target, folder=scratch / "run", environ=environ
            )
    verdict = "ok" if done.code == 0 and done.megabytes < _MEGABYTES else "MISSED"
    what = f"mirror of a blob of {_LARGE >> 30} GiB, {to}"
    print(f"{what:<72} {done.megabytes:8d} MB resident (goal {_MEGABYTES} MB)  {verdict}")


def _compare(
    scratch: Path, host: str, project: Path, packages: Sequence[LockedPackage], *, latency: float, goal: float
) -> None:
    folder = scratch / f"latency-{latency}"
    with _Slow(latency) as slow:
        source = slow.before(host)
        _write_settings(project, packages, source)
        there = slow.before(slow.enter(_registry(folder / "skopeo")))
        base = _seconds(*(_skopeo(source, there, package) for package in packages))
        there = slow.before(slow.enter(_registry(folder / "xplock")))
        environ = {"XPLOCK_PLAIN_HTTP": f"{source},{there}", "XPLOCK_CACHE_DIR": str(folder / "cache")}
        command = [sys.executable, "-m", "render", "-q", "mirror", str(project), "--to", f"{there}/xp"]
        seconds = _seconds(command, environ=environ)
        slow.forget()
        again = _seconds(command, environ=environ)
        manifests, writes = slow.counts()
    named = f"{len(packages)} packages, {latency * 1000:.0f} ms per request"
    _ratio(f"mirror of {named}, beside skopeo", seconds, base, goal)
    counts = f"  {manifests} requests for manifests (goal {len(packages)}), {writes} uploads (goal 0)"
    print(f"{'  again, nothing new':<72} {again * 1000:8.0f} ms{counts if latency else ''}")


@dataclass
class _Slow:
    """Registries behind proxies that take their time, for as long as a measurement runs."""

    latency: float
    proxies: list[Proxy] = field(default_factory=list)

    def __enter__(self) -> "_Slow":
        self._stack = ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def enter(self, registry: AbstractContextManager[str]) -> str:
        """Start a registry, and return its host."""
        return self._stack.enter_context(registry)

    def before(self, host: str) -> str:
        """Return the host of a proxy for a registry, or of the registry itself if there is no latency."""
        if not self.latency:
            return host

        def wait(request: Request) -> Answer | None:
            return late(proxy.pass_on, self.latency)(request)

        proxy = Proxy(host, wait)
        self.proxies.append(proxy)
        return self._stack.enter_context(proxy).host

    def forget(self) -> None:
        """Forget what was asked."""
        for proxy in self.proxies:
            proxy.server.forget()

    def counts(self) -> tuple[int, int]:
        """Return how many requests were for manifests, and how many wrote something."""
        asked = [line for proxy in self.proxies for line in proxy.asked if "/manifests/" in line]
        return len(asked), sum(len(proxy.writes()) for proxy in self.proxies)


@contextmanager
def _registry(folder: Path) -> Iterator[str]:
    folder.mkdir(parents=True)
    with docker_registry(folder, "open") as registry:
        yield registry.host


def _lock_and_push(host: str, project: Path, scratch: Path) -> list[LockedPackage]:
    """Lock a project, and push what it has locked to a registry."""
    versions = reachable(_ROOT)
    registries = {version.reference.source.registry for version in versions}
    with serve_closure(versions, scratch, latency=0) as mini:
        write_project(project, f"{_ROOT}:{_VERSION}", mini, registries)
        environ = {"XPLOCK_PLAIN_HTTP": mini.host, "XPLOCK_CACHE_DIR": ""}
        _seconds([sys.executable, "-m", "render", "-q", "lock", str(project)], environ=environ)
    packages = list((read_lock(project, Limits()) or Lock()).packages.values())
    locked = {(package.source, package.version) for package in packages}
    for version in versions:
        if (version.reference.source, version.tag) in locked:
            _push(host, version, scratch)
    return packages


def _push(host: str, version: PackageVersion, scratch: Path) -> None:
    raw, image = Raw(host), version.build(scratch)
    source = version.reference.source
    repository = f"{source.registry}/{source.repository}"
    for data in (image.config, *image.layers):
        raw.blob(repository, data)
    raw.manifest(repository, image.data, version.tag, OCI_MANIFEST)


def _write_settings(project: Path, packages: Sequence[LockedPackage], host: str) -> None:
    names = sorted({package.source.registry for package in packages})
    rewrites = "".join(f"  - from: {name}/\n    to: {host}/{name}/\n" for name in names)
    text = f"roots:\n  - package: {_ROOT}:{_VERSION}\nrewrites:\n{rewrites}"
    (project / "xplock.yaml").write_text(text)


def _skopeo(source: str, there: str, package: LockedPackage) -> list[str]:
    path = f"{package.source.registry}/{package.source.repository}:{package.version}"
    without_tls = ["--src-tls-verify=false", "--dest-tls-verify=false"]
    return [
        "skopeo",
        "copy",
        "--quiet",
        "--all",
        *without_tls,
        f"docker://{source}/{path}",
        f"docker://{there}/{path}",
    ]


def _seconds(*commands: Sequence[str], environ: Mapping[str, str] | None = None) -> float:
    top = Path(__file__).parent.parent
    started = time.perf_counter()
    for command in commands:
        subprocess.run(
            command, check=True, cwd=top, stdout=subprocess.DEVNULL, env={**os.environ, **(environ or {})}
        )
    return time.perf_counter() - started


def _ratio(what: str, seconds: float, base: float, goal: float) -> None:
    verdict = "ok" if seconds <= goal * base else "MISSED"
    print(f"{what:<72} {seconds * 1000:8.0f} ms  {seconds / base:5.2f} x (goal {goal:g} x)  {verdict}")


if __name__ == "__main__":
    main()
