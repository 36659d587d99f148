"""Real packages until all of them run: locked and applied by Argo CD, beside Crossplane that finds them from their root alone."""

import sys
import tempfile
from pathlib import Path

# The rig that the tests use.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from rig.live.large_closure import (
    Closure,
    format_comparison,
    lock_closure,
    locked_sources,
    real_closure,
    settle_alone,
    settle_locked,
)
from rig.live.platform import Platform, prepare_platform

_ROUNDS = 3


def main() -> None:
    """Print one line: the best of some rounds, each with two clusters that nobody used before."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        packages = scratch / "packages"
        packages.mkdir()
        platform = prepare_platform(scratch)
        with real_closure(packages) as closure:
            rounds = [_measure(platform, closure, number) for number in range(_ROUNDS)]
    sources = rounds[0][0]
    print(format_comparison(len(sources), min(one[1] for one in rounds), min(one[2] for one in rounds)))


def _measure(platform: Platform, closure: Closure, number: int) -> tuple[set[str], float, float]:
    with platform.cluster(f"locked-{number}") as cluster:
        team = lock_closure(cluster, closure)
        locked = settle_locked(cluster, team)
    sources = locked_sources(team.folder)
    with platform.cluster(f"alone-{number}") as cluster:
        return sources, locked, settle_alone(cluster, closure, sources)


if __name__ == "__main__":
    main()
