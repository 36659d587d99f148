"""The command's first file: answers `--version` without imports, and speeds up the calls made all the time."""

import sys

from render import __version__


def main() -> None:
    """Run xplock and exit with its exit code."""
    try:
        _main()
    except MemoryError:
        # Not even the first imports had enough; any other error is caught below.
        sys.exit(
            "error: xplock cannot start\n  why:  there is not enough memory\n  next: allow more memory: ulimit -v"
        )


def _main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]) and _print_version():
        return
    # Imported late, so that the lines above cost no more than a Python start.
    from render.cli.fast import find_fast_call

    fast = find_fast_call(arguments) is not None
    if fast:
        # A short run: collecting garbage takes longer than it is worth.
        import gc

        gc.disable()
    from render.cli.run import run

    code = run(arguments)
    if fast:
        _exit(code)
    sys.exit(code)


def _print_version() -> bool:
    """Write the version past Python's buffer, and return whether stdout accepted it."""
    import os

    line = f"xplock {__version__}\n".encode()
    try:
        return sys.stdout is not None and os.write(sys.stdout.fileno(), line) == len(line)
    except OSError:
        return False


def _exit(code: int) -> None:
    """End without freeing memory that goes with the process."""
    import os

    # Everything has been written; the exit code says if something could not be.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
