"""xplock killed before its n-th step: each run is a fork of a process that has imported everything, so many are affordable."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping

# What a run does to the world: a piece of a request, or a change of the file system.
_STEPS = frozenset(
    {
        "http.client.send",
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.rmdir",
        "os.truncate",
        "os.link",
        "os.symlink",
    }
)
_PRELOADED = ["rig.commands.killed", "render.cli.run", "render.cli.writing.mirror", "render.registry.push"]
_SECONDS = 120.0


def run_killed(*arguments: str, step: int, environ: Mapping[str, str]) -> bool:
    """Run xplock and kill it before a step; return whether it got there. A run with fewer steps has to succeed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=_run, args=(arguments, step, {**os.environ, **environ}))
    process.start()
    process.join(_SECONDS)
    assert process.exitcode in (0, -signal.SIGKILL), f"step {step}: {process.exitcode}"
    return process.exitcode != 0


def _run(arguments: tuple[str, ...], step: int, environ: Mapping[str, str]) -> None:
    from render.cli.run import run

    os.environ.clear()
    os.environ.update(environ)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    left = step

    def count(event: str, values: tuple[object, ...]) -> None:
        nonlocal left
        if event in _STEPS or _writes(event, values):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    os._exit(run(arguments))


def _writes(event: str, values: tuple[object, ...]) -> bool:
    """Return whether a file is opened to be written."""
    return event == "open" and isinstance(values[2], int) and bool(values[2] & (os.O_WRONLY | os.O_RDWR))
