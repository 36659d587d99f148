"""Locking real packages: beside the longest chain of requests, beside Crossplane itself, again, and in numbers."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.registry import MiniRegistry, environment, reachable, serve_closure, serve_synthetic, write_project
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock

_LARGE = "xpkg.upbound.io/upbound/configuration-caas"
_LARGE_VERSION = "v0.3.0"
_HARD = "xpkg.upbound.io/upbound/configuration-aws-eks"
_HARD_VERSION = "v0.2.0"
_LATENCY = 0.05
# Tags, manifest and layer of a package have to come one after the other; a root's tag is known beforehand.
_REQUESTS_EACH = 3
# Measured on the same machine: one root applied, everything else left to Crossplane v2.3.4.
_CROSSPLANE_SECONDS = 20.3
_FOLDERS = 100


def main() -> None:
    """Print one line for each promise."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        _cold_with_latency(scratch)
        _cold_without_latency(scratch)
        _hard_one(scratch)
        _many_folders(scratch)
        _synthetic(scratch)


@contextmanager
def _serving(root: str, scratch: Path, *, latency: float = 0) -> Iterator[tuple[MiniRegistry, set[str]]]:
    """Serve everything that a root can lead to; yield the registry and the names of those it stands in for."""
    versions = reachable(root)
    with serve_closure(versions, scratch / "build", latency) as mini:
        yield mini, {version.reference.source.registry for version in versions}


def _cold_with_latency(scratch: Path) -> None:
    with _serving(_LARGE, scratch, latency=_LATENCY) as (mini, registries):
        project, environ = scratch / "latency", environment(mini, scratch / "cache-latency")
        write_project(project, f"{_LARGE}:{_LARGE_VERSION}", mini, registries)
        seconds = _lock(project, environ)
        lock = read_lock(project, Limits()) or Lock()
        chain = (_depth(lock) * _REQUESTS_EACH - 1) * _LATENCY
        asked = len(mini.requests)
        again = _lock(project, environ)
        more = len(mini.requests) - asked
        checked = _lock(project, environ, "--check")
        most = len(mini.requests) - asked - more
    _line(f"cold lock of {len(lock.packages)} packages, {_LATENCY * 1000:.0f} ms per request", seconds)
    _ratio("  beside the longest chain of requests that depend on each other", seconds, chain, goal=1.5)
    _ratio("  the same without the start of the process", seconds - again, chain, goal=1.5)
    print(f"{'lock again, nothing new':<72} {again * 1000:8.0f} ms  {more} requests (goal 3)")
    print(f"{'lock --check, nothing new':<72} {checked * 1000:8.0f} ms  {most} requests (goal 3)")


def _cold_without_latency(scratch: Path) -> None:
    with _serving(_LARGE, scratch) as (mini, registries):
        write_project(scratch / "plain", f"{_LARGE}:{_LARGE_VERSION}", mini, registries)
        seconds = _lock(scratch / "plain", environment(mini, scratch / "cache-plain"))
    _line("cold lock of the same without latency", seconds)
    print(f"  {_CROSSPLANE_SECONDS / seconds:.0f} x faster than Crossplane v2.3.4 settles it (goal 20 x)")


def _hard_one(scratch: Path) -> None:
    with _serving(_HARD, scratch) as (mini, registries):
        write_project(scratch / "hard", f"{_HARD}:{_HARD_VERSION}", mini, registries)
        seconds = _lock(scratch / "hard", environment(mini, scratch / "cache-hard"))
        fetched = len({request.path for request in mini.requests if "/manifests/" in request.path})
    _line("lock of a closure that is solvable only by backing up", seconds)
    print(f"  {fetched} packages fetched (goal 60)")


def _many_folders(scratch: Path) -> None:
    with _serving(_LARGE, scratch) as (mini, registries):
        folders = [scratch / f"many/{number}" for number in range(_FOLDERS)]
        for folder in folders:
            write_project(folder, f"{_LARGE}:{_LARGE_VERSION}", mini, registries)
        warm = environment(mini, scratch / "cache-many")
        _lock(folders[0], warm)
        single = min(_lock(folders[number], warm) for number in (1, 2, 3))
        for folder in folders:
            (folder / "crossplane.lock.yaml").unlink(missing_ok=True)
        together = _lock(scratch, warm, *map(str, folders))
    _ratio(f"{_FOLDERS} folders in one call, beside {_FOLDERS} calls", together, single * _FOLDERS, goal=0.2)


def _synthetic(scratch: Path) -> None:
    """Lock made-up packages of ten versions each, a hundred and then a thousand of them."""
    times = []
    for count in (100, 1_000):
        with serve_synthetic(count, versions=10) as mini:
            project = scratch / f"synthetic-{count}"
            write_project(project, "xpkg.example.org/bench/p0", mini, {"xpkg.example.org"})
            times.append(_lock(project, environment(mini, scratch / f"cache-{count}")))
            packages = len((read_lock(project, Limits()) or Lock()).packages)
        _line(f"cold lock of {packages} of {count:,} synthetic packages x 10 versions", times[-1])
    print(
        f"  ten times as many take {times[1] / times[0]:.1f} x as long (goal: 20 s, 300 MB, close to linear)"
    )
    print(f"  {_peak_megabytes():.0f} MB resident at most, of any child so far")


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def _lock(folder: Path, environ: Mapping[str, str], *arguments: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "render", "-q", "lock", *arguments],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        check=True,
    )
    return time.perf_counter() - started


def _depth(lock: Lock) -> int:
    """Return how many packages the longest shortest path from a root has: no search can know of them sooner."""
    children: dict[str, set[str]] = {}
    for package in lock.packages.values():
        for dependant in package.required_by:
            children.setdefault(dependant, set()).add(str(package.source))
    level = {str(package.source) for package in lock.packages.values() if package.root is not None}
    seen, depth = set(level), 0
    while level:
        depth += 1
        level = {child for source in level for child in children.get(source, ())} - seen
        seen |= level
    return depth


def _line(what: str, seconds: float) -> None:
    print(f"{what:<72} {seconds * 1000:8.0f} ms")


def _ratio(what: str, seconds: float, base: float, goal: float) -> None:
    verdict = "ok" if seconds <= goal * base else "MISSED"
    print(f"{what:<72} {base * 1000:8.0f} ms  {seconds / base:5.2f} x (goal {goal:g} x)  {verdict}")


if __name__ == "__main__":
    main()
