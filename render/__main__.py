"""The command's first file: answers what needs no imports, and hands everything else on."""

import sys

from render import __version__


def main() -> None:
    """Run xplock and leave with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"xplock {__version__}\n")
        return
    # Imported late, so that the line above costs no more than a Python start.
    from render.cli.run import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
