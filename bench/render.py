"""Rendering from a lock, beside a bare interpreter and beside kubectl kustomize on the same objects."""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.measure import best_seconds, print_ratio, python
from bench.registry import EcosystemCatalog, FakeCatalog
from render.inputs.projects import read_inputs
from render.lifecycle.plan import make_plan
from render.lifecycle.states import Context, StableResolution
from render.lifecycle.write import make_lock
from render.limits import Limits
from render.lock.text.format import format_lock
from render.resolve.model import Catalog, Wanted
from render.resolve.resolve import resolve
from render.system.files import LOCK_FILE
from render.versions.requests import Root

LARGE = "xpkg.upbound.io/upbound/configuration-caas:v0.3.0"
HOME = "xpkg.example.org/acme"
# Every package of a made-up closure needs the next ones, so that the graph is neither a chain nor a star.
_NEXT = (1, 2, 7)


def main() -> None:
    """Print one line for each promise."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        real = make_project(scratch / "real", [LARGE], EcosystemCatalog())
        what = f"render of {_count(real)} packages"
        _measure(what, real, scratch, rounds=15, bare_goal=4, kustomize_goal=1)
        seconds = {}
        for number in (200, 2_000):
            project = make_project(scratch / str(number), [f"{HOME}/p0:v1.0.0"], made_up(number))
            what = f"render of {number:,} packages"
            goal = 1 if number == 200 else 0.2
            seconds[number] = _measure(what, project, scratch, rounds=3, kustomize_goal=goal)
        bare = best_seconds([python("-c", "pass")], rounds=5)[0]
        growth = (seconds[2_000] - bare) / (seconds[200] - bare)
        verdict = "ok" if growth <= 12 else "MISSED"
        print(
            f"{'ten times the packages, without the start of the process':<58} {growth:19.1f} x  (goal 12 x)  {verdict}"
        )


def _measure(
    what: str,
    project: Path,
    scratch: Path,
    *,
    rounds: int,
    bare_goal: float | None = None,
    kustomize_goal: float,
) -> float:
    xplock = str(Path(sys.executable).with_name("xplock"))
    written = scratch / f"{project.name}-out"
    best_seconds([[xplock, "-q", "render", str(project), "--out", str(written)]], rounds=1)
    # One file, as people keep what is rendered; reading thousands of files would be another measurement.
    objects = scratch / f"{project.name}-base"
    objects.mkdir()
    parts = sorted(path for path in written.iterdir() if path.name != "kustomization.yaml")
    (objects / "objects.yaml").write_text("---\n".join(path.read_text() for path in parts))
    (objects / "kustomization.yaml").write_text("resources: [objects.yaml]\n")
    commands: Sequence[Sequence[str]] = [
        python("-c", "pass"),
        [xplock, "render", str(project)],
        [_kubectl(), "kustomize", str(objects)],
    ]
    bare, render, kustomize = best_seconds(commands, rounds)
    if bare_goal is None:
        print(f"{what:<58} {render * 1000:9.1f} ms")
    else:
        print_ratio(what, render, bare, goal=bare_goal)
    print_ratio("  beside kubectl kustomize", render, kustomize, goal=kustomize_goal)
    return render


def make_project(folder: Path, roots: Sequence[str], catalog: Catalog) -> Path:
    """Write a project with its lock."""
    folder.mkdir()
    listed = "".join(f"  - package: {root}\n" for root in roots)
    (folder / "xplock.yaml").write_text(f"roots:\n{listed}families: free\n")
    inputs = read_inputs(folder, Limits(), {})
    asked: tuple[Root, ...] = inputs.roots
    resolution = resolve(Wanted(asked, follow_families=False), catalog, Limits())
    lock = make_lock(make_plan(StableResolution(resolution), Context(record=inputs.record)))
    (folder / LOCK_FILE).write_text(format_lock(lock))
    return folder


def made_up(number: int) -> FakeCatalog:
    """Return so many packages that all hang together."""
    packages = {
        f"p{i} v1.0.0": {f"p{i + step}": ">=v1.0.0" for step in _NEXT if i + step < number}
        for i in range(number)
    }
    return FakeCatalog(packages)


def _count(project: Path) -> int:
    text = (project / LOCK_FILE).read_text()
    return text.count("\n- apiVersion: ")


def _kubectl() -> str:
    found = shutil.which("kubectl")
    if found is None:
        raise SystemExit("this measurement needs kubectl")
    return found


if __name__ == "__main__":
    main()
