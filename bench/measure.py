"""How measurements are taken: alternating runs of child processes, the best of each, compared in one run."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path


def best_seconds(
    commands: Sequence[Sequence[str]], rounds: int, *, folder: Path | None = None
) -> list[float]:
    """Run each command in turn in a folder, several rounds, and return the shortest time of each.

    The shortest run is the one that other work on the machine disturbed least.
    """
    best = [float("inf")] * len(commands)
    for _ in range(rounds):
        for i, command in enumerate(commands):
            started = time.perf_counter()
            subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, env=_environment())
            best[i] = min(best[i], time.perf_counter() - started)
    return best


def _environment() -> dict[str, str]:
    # Installed programs have their modules compiled; where Python must not write them, each run would do it again.
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def print_ratio(what: str, seconds: float, base: float, goal: float) -> None:
    """Print one line of the table."""
    ratio = seconds / base
    verdict = "ok" if ratio <= goal else "MISSED"
    print(f"{what:<58} {seconds * 1000:9.1f} ms  {ratio:6.2f} x  (goal {goal:g} x)  {verdict}")


def peak_megabytes() -> float:
    """Return the most memory that this process has had."""
    # Not getrusage: that starts with what the parent had in memory when it forked.
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def python(*arguments: str) -> list[str]:
    """Return a command that runs this Python."""
    return [sys.executable, *arguments]
