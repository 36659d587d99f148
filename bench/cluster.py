"""Real packages until all of them run, through Argo CD: rendered from their lock, beside their root alone."""

import sys
import tempfile
from functools import partial
from pathlib import Path

# The rig that the tests use.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from rig.live.closure.comparison import compare
from rig.live.platform import prepare_platform

_ROUNDS = 5
_GOAL = 0.6


def main() -> None:
    """Print the ratio of the medians, and where the time goes."""
    with tempfile.TemporaryDirectory() as name, prepare_platform(Path(name)).cluster("ratio") as cluster:
        measured = compare(cluster, _ROUNDS, partial(print, file=sys.stderr), warm_up=1)
    print(measured.summary, f"(goal {_GOAL:g} x)", "ok" if measured.ratio <= _GOAL else "MISSED")
    print(measured.table)


if __name__ == "__main__":
    main()
