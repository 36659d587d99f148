"""The command's first file: answers what needs no imports, and hands everything else on."""

import sys

from render import __version__


def main() -> None:
    """Run xplock and leave with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"xplock {__version__}\n")
        return
    quick = _is_quick(sys.argv[1:])
    if quick:
        # A short answer: looking for garbage takes longer than what could be found.
        import gc

        gc.disable()
    # Imported late, so that the lines above cost no more than a Python start.
    from render.cli.run import run

    code = run(sys.argv[1:])
    if quick:
        _leave(code)
    sys.exit(code)


def _is_quick(arguments: list[str]) -> bool:
    """Tell whether this is what is called all the time, without options: rendering by Argo CD, checking by hooks."""
    match arguments:
        case ["plugin", *_]:
            return True
        case ["render" | "check", *rest]:
            return not any(text.startswith("-") for text in rest)
    return False


def _leave(code: int) -> None:
    """End without tidying up memory that goes with the process."""
    import os

    # Everything has been written; what could not be was told by the exit code.
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
