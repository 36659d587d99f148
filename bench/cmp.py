"""Rendering through Argo CD's own cmp-server: tarball sent, unpacked, the plugin called, objects parsed and sent back."""

import os
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import best_seconds
from bench.render import HOME, made_up, make_project

_PACKAGES = 1_000
_ROUNDS = 5
_GOAL = 2.0


def main() -> None:
    """Print what one call takes, and how much of it is ours."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        (scratch / "repository").mkdir()
        project = make_project(scratch / "repository/shop", [f"{HOME}/p0:v1.0.0"], made_up(_PACKAGES))
        through = _measure_server(scratch, project)
        xplock = str(Path(sys.executable).with_name("xplock"))
        generate = [xplock, "plugin", "generate", "--lock-policy", "commit"]
        alone = best_seconds([generate], _ROUNDS, folder=project)[0]
    verdict = "ok" if through <= _GOAL else "MISSED"
    what = f"generate of {_PACKAGES:,} packages through argocd-cmp-server"
    print(f"{what:<58} {through * 1000:9.1f} ms  (goal {_GOAL:g} s)  {verdict}")
    print(f"{'  the plugin alone':<58} {alone * 1000:9.1f} ms")


def _measure_server(scratch: Path, project: Path) -> float:
    # The rig that the tests use is found since `bench.render` was imported; this builds the server where there is none.
    from rig.argocd.cmp_server import cmp_server

    best = float("inf")
    environ = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with cmp_server(scratch / "server", environ) as server:
        for _ in range(_ROUNDS):
            started = time.perf_counter()
            objects = server.generate(project.parent, project.name)
            best = min(best, time.perf_counter() - started)
            # A pin and a package each.
            assert len(objects) == 2 * _PACKAGES
    return best


if __name__ == "__main__":
    main()
