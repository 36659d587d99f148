"""kustomize as a program: a fixed command, an empty environment, bounded time and output."""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from render.commands import as_path, shell
from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits, setting
from render.system.boundary import real_path
from render.system.programs import (
    Finished,
    NotStarted,
    Program,
    TooMuchOutput,
    TooSlow,
    decode_log,
    find_program,
)
from render.system.scratch import hide_scratch_folders, scratch_folder
from render.texts import redact, visible

_TOOLS = (("kustomize", "build"), ("kubectl", "kustomize"))
_OPTIONS = ("--load-restrictor=LoadRestrictionsRootOnly", ".")
# A proxy that does not exist stops whatever the checks on kustomizations have missed.
_NOWHERE = "http://127.0.0.1:1"
_STDERR_BYTES = 1 << 14


class KustomizeMissing(RenderError):
    """No program on this machine builds kustomizations."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the kustomization in {folder} cannot be built",
            why="neither kustomize nor kubectl is in PATH",
            next="install one of them",
        )


class KustomizeFailed(InvalidInput):
    """A kustomization that does not build."""


class KustomizeSlow(RenderError):
    """A kustomization that takes too long."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        super().__init__(
            f"the kustomization in {folder} takes too long to build",
            why=f"it was not done after {limits.kustomize_seconds} s",
            next=f"make it smaller, or raise {setting('kustomize_seconds')}",
        )


def build_kustomization(folder: Path, limits: Limits, environ: Mapping[str, str]) -> bytes:
    """Return the YAML that a kustomization builds; check_kustomizations has to come first."""
    command = _find_command(folder, environ)
    with scratch_folder("a home for kustomize") as home:
        done = _run(command, folder, home, limits)
    if done.status != 0:
        raise KustomizeFailed(
            f"the kustomization in {folder} does not build",
            why=_shown_lines(done.errors, folder, home) or f"exit code {done.status}, no error output",
            next=f"make this work: {shell(Path(command[0]).name, command[1], as_path(folder))}",
        )
    return done.output


def _find_command(folder: Path, environ: Mapping[str, str]) -> list[str]:
    for tool, verb in _TOOLS:
        program = find_program(tool, environ)
        if program:
            return [program, verb, *_OPTIONS]
    raise KustomizeMissing(folder)


def _run(command: Sequence[str], folder: Path, home: Path, limits: Limits) -> Finished:
    program = Program(
        command,
        _environment(Path(command[0]).parent, home),
        limits.kustomize_seconds,
        limits.kustomize_bytes,
        error_bytes=_STDERR_BYTES,
        folder=folder,
    )
    try:
        return program.run()
    except NotStarted as error:
        raise RenderError(
            f"{command[0]} cannot be started", why=str(error), next="install it again"
        ) from None
    except TooSlow:
        raise KustomizeSlow(folder, limits) from None
    except TooMuchOutput:
        what = f"the kustomization in {folder} has too much output"
        raise LimitExceeded(what, "kustomize_bytes", limits) from None


def _environment(tools: Path, home: Path) -> dict[str, str]:
    # Without git, a kustomization cannot clone anything.
    path = "" if shutil.which("git", path=str(tools)) else str(tools)
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")
    proxies = ("HTTP_PROXY", "HTTPS_PROXY")
    return {"PATH": path, **dict.fromkeys(homes, str(home)), **dict.fromkeys(proxies, _NOWHERE)}


def _shown_lines(stderr: bytes, folder: Path, home: Path) -> list[str]:
    text = decode_log(stderr)
    # Argo CD uses another folder for every call, and so does xplock: errors show paths relative to the folder.
    text = _relative_to(real_path(folder), text.replace(str(home), "~"))
    lines = hide_scratch_folders(text).splitlines()
    return [visible(redact(line.strip())) for line in lines if line.strip()][:10]


def _relative_to(place: Path, text: str) -> str:
    """Replace the paths of a folder, and of all above it, by relative ones."""
    above = [str(path) for path in (place, *place.parents)][:-1]
    names = {path: "/".join([".."] * steps) or "." for steps, path in enumerate(above)}
    # The longest path comes first; a path that is part of another name is left alone.
    either = "|".join(map(re.escape, above))
    return re.sub(rf"(?<![\w./~-])(?:{either})(?![^/\s'\":;,)\]])", lambda found: names[found[0]], text)
