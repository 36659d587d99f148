"""How long xplock takes to start, beside a bare interpreter."""

from pathlib import Path
from sys import executable

from bench.measure import best_seconds, print_ratio, python


def main() -> None:
    """Measure the commands that people and shells call all the time."""
    xplock = str(Path(executable).with_name("xplock"))
    commands = [python("-c", "pass"), [xplock, "--version"], [xplock, "--help"]]
    bare, version, usage = best_seconds(commands, rounds=20)
    print(f"{'python -c pass':<58} {bare * 1000:9.1f} ms")
    print_ratio("xplock --version", version, bare, goal=3)
    print_ratio("xplock --help", usage, bare, goal=8)


if __name__ == "__main__":
    main()
