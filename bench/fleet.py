"""Many folders in one call, as a fleet of clusters has them, and the same call split between processes."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.measure import print_ratio
from bench.registry import environment, reachable, serve_closure, write_project
from render.system.files import LOCK_FILE

_ROOT = "xpkg.upbound.io/upbound/configuration-caas"
_VERSION = "v0.3.0"
_FOLDERS, _LOCKS, _SHARDS = 1_000, 20, 4
_SHARDS_GOAL = 1.7
_MEMORY = 400


def main() -> None:
    """Print one line for each promise."""
    versions = reachable(_ROOT)
    registries = {version.reference.source.registry for version in versions}
    with tempfile.TemporaryDirectory() as name, serve_closure(versions, Path(name) / "build", 0) as mini:
        scratch = Path(name)
        environ = environment(mini, scratch / "cache")
        fleet = scratch / "fleet"
        # Rules about folders above end at the top of a repository.
        subprocess.run(["git", "init", "--quiet", str(fleet)], check=True)
        for number in range(_LOCKS):
            first = _folder(fleet, number)
            write_project(first, f"{_ROOT}:{_VERSION}", mini, registries)
            # The version is an input, so each of these locks says something else.
            (first / "xplock.yaml").open("a").write(f"crossplaneVersion: v2.3.{number}\n")
        _run([["lock", "-R", str(fleet)]], environ)
        for number in range(_LOCKS, _FOLDERS):
            first, other = _folder(fleet, number % _LOCKS), _folder(fleet, number)
            other.mkdir(parents=True)
            for file in ("xplock.yaml", LOCK_FILE):
                (other / file).write_bytes((first / file).read_bytes())
        one = str(_folder(fleet, 0))
        what = f"{_FOLDERS:,} folders, {_LOCKS} locks"
        _compare(f"check -R of {what}", ["check"], one, fleet, environ, goal=15)
        _compare(
            f"lock --check -R of {what}, nothing to do", ["lock", "--check"], one, fleet, environ, goal=20
        )
        _shards(fleet, environ)


def _folder(fleet: Path, number: int) -> Path:
    return fleet / f"ring-{number % _LOCKS:02}" / f"cluster-{number:04}"


def _compare(
    what: str, words: Sequence[str], one: str, fleet: Path, environ: Mapping[str, str], *, goal: float
) -> None:
    """Run the call for one folder and for all in turns."""
    best = [float("inf")] * 2
    whole = [*words, "-R", str(fleet)]
    for _ in range(3):
        for i, arguments in enumerate(([*words, one], whole)):
            best[i] = min(best[i], _run([arguments], environ))
    print_ratio(what, best[1], best[0], goal)
    memory = _peak_megabytes(whole, environ)
    print(f"  {memory:.0f} MB resident (goal {_MEMORY} MB)  {'ok' if memory <= _MEMORY else 'MISSED'}")


def _shards(fleet: Path, environ: Mapping[str, str]) -> None:
    """Lock folders that have nothing in common in one process, then in several that run at the same time."""
    for number in range(_FOLDERS):
        settings = _folder(fleet, number) / "xplock.yaml"
        own = f"crossplaneVersion: v2.3.{number}"
        settings.write_text(re.sub("(?m)^crossplaneVersion: .*$", own, settings.read_text()))
    whole = ["lock", "-U", "-R", str(fleet)]
    parts = [[*whole, "--shard", f"{part}/{_SHARDS}"] for part in range(1, _SHARDS + 1)]
    _run([whole], environ)
    best, worked = [float("inf")] * 2, [0.0] * 2
    for _ in range(2):
        for i, calls in enumerate(([whole], parts)):
            before = os.times()
            best[i] = min(best[i], _run(calls, environ))
            after = os.times()
            worked[i] = (
                after.children_user + after.children_system - before.children_user - before.children_system
            )
    ratio = best[0] / best[1]
    what = f"lock -U -R of {_FOLDERS:,} folders, all different: {_SHARDS} shards"
    print(f"{what:<58} {best[1] * 1000:9.1f} ms  {ratio:6.2f} x as fast (goal {_SHARDS_GOAL} x)", end="  ")
    print("ok" if ratio >= _SHARDS_GOAL else "MISSED")
    # What other work on the machine does not change.
    print(f"  {worked[1] / worked[0]:.2f} x the processor time of one process")


def _start(arguments: Sequence[str], environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    xplock = str(Path(sys.executable).with_name("xplock"))
    environ = {key: text for key, text in environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.Popen([xplock, "-q", *arguments], env=environ, stdout=subprocess.DEVNULL)


def _run(calls: Sequence[Sequence[str]], environ: Mapping[str, str]) -> float:
    """Run calls at the same time; return the seconds until the last one is done."""
    started = time.perf_counter()
    children = [_start(arguments, environ) for arguments in calls]
    _require([child.wait() for child in children])
    return time.perf_counter() - started


def _peak_megabytes(arguments: Sequence[str], environ: Mapping[str, str]) -> float:
    """Return the most memory of one call, which is asked for again and again: a child's own account has its parent's."""
    child = _start(arguments, environ)
    peak, status = 0.0, Path(f"/proc/{child.pid}/status")
    while child.poll() is None:
        found = re.search(r"VmHWM:\s+(\d+)", status.read_text())
        peak = max(peak, int(found[1]) / 1024 if found else 0)
        time.sleep(0.01)
    _require([child.returncode])
    return peak


def _require(codes: Sequence[int]) -> None:
    if any(codes):
        raise SystemExit(f"a call failed with {max(codes)}")


if __name__ == "__main__":
    main()
