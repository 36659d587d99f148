"""Diagnosing a large stuck cluster, beside a bare interpreter."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rig.builders.live_objects import Object, format_objects
from rig.builders.projects import at
from rig.builders.stuck import lock_of, provider, unhealthy

from bench.measure import best_seconds, print_ratio, python

_PACKAGES, _OBJECTS = 500, 1_000


def main() -> None:
    """Print one line."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "cluster.json"
        path.write_text(format_objects(_poisoned(), "json"))
        _measure(f"doctor of {_PACKAGES} packages with {_OBJECTS:,} objects each", path)


def _measure(what: str, path: Path) -> None:
    xplock = str(Path(sys.executable).with_name("xplock"))
    stuck = f"import subprocess; assert subprocess.run([{xplock!r}, '-q', 'doctor', {str(path)!r}]).returncode == 3"
    bare, doctor = best_seconds([python("-c", "pass"), python("-c", stuck)], rounds=3)
    print_ratio(what, doctor, bare, goal=100)


def _poisoned() -> Sequence[Object]:
    """Return a cluster with one source under two names, in which every package says so."""
    text = (
        f"cannot initialize dependency graph from the packages in the lock: node {at('p-0')} already exists"
    )
    objects = [f"things{i}.cloud.example.org" for i in range(_OBJECTS)]
    running = [provider(f"p-{i} v1.0.0", objects=objects) for i in range(_PACKAGES)]
    running.append(provider("p-0 v1.0.0", name="again", digest="e" * 64))
    entries = [one.as_entry() for one in running]
    return [lock_of(*entries), *(made for one in running for made in unhealthy(one, text))]


if __name__ == "__main__":
    main()
