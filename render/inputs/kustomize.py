"""kustomize as a program: a fixed command, an empty environment, bounded time and output."""

import os
import re
import selectors
import shutil
import subprocess  # a fixed argument list, see _start
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits, setting
from render.system.programs import kill_group
from render.system.scratch import hide_scratch_folders, scratch_folder
from render.texts import redact, visible

_TOOLS = (("kustomize", "build"), ("kubectl", "kustomize"))
_OPTIONS = ("--load-restrictor=LoadRestrictionsRootOnly", ".")
# What slips through our reading of the kustomizations ends at a proxy that is not there.
_NOWHERE = "http://127.0.0.1:1"
_BLOCK = 1 << 16
_STDERR_BYTES = 1 << 14
# The time and the process in front of each line would make every failure a text of its own.
_LOG_PREFIX = re.compile(r"^[A-Z]\d{4} [\d:.]+ +\d+ \S+\] ", re.MULTILINE)


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
    """Return the YAML that a folder's kustomization makes; what it reads has to be checked before."""
    command = _find_command(folder, environ)
    with scratch_folder("a home for kustomize") as home, _start(command, folder, home) as process:
        try:
            output = _Output(process, folder, limits).read()
        except BaseException:
            kill_group(process)
            raise
    if process.returncode != 0:
        raise KustomizeFailed(
            f"the kustomization in {folder} does not build",
            why=_shown_lines(output.stderr, folder, home)
            or f"exit code {process.returncode}, without a word",
            next=f"make this work: {' '.join([Path(command[0]).name, command[1], str(folder)])}",
        )
    return output.stdout


def _find_command(folder: Path, environ: Mapping[str, str]) -> list[str]:
    # A relative entry, or an empty one, would find programs in the repository we happen to stand in.
    absolute = [entry for entry in environ.get("PATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    for tool, verb in _TOOLS:
        program = shutil.which(tool, path=os.pathsep.join(absolute))
        if program:
            return [program, verb, *_OPTIONS]
    raise KustomizeMissing(folder)


def _start(command: Sequence[str], folder: Path, home: Path) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - a list, no shell, and no argument from outside
            command,
            bufsize=0,
            cwd=folder,
            env=_environment(Path(command[0]).parent, home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, so that its children can be ended with it.
            start_new_session=True,
        )
    except OSError as error:
        raise RenderError(
            f"{command[0]} cannot be started", why=(error.strerror or "").lower(), next="install it again"
        ) from None


def _environment(tools: Path, home: Path) -> dict[str, str]:
    # Without git nothing can be cloned, whatever a kustomization says.
    path = "" if shutil.which("git", path=str(tools)) else str(tools)
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")
    proxies = ("HTTP_PROXY", "HTTPS_PROXY")
    return {"PATH": path, **dict.fromkeys(homes, str(home)), **dict.fromkeys(proxies, _NOWHERE)}


@dataclass(slots=True)
class _Output:
    """What a process says, read as it comes and never more than is allowed."""

    process: subprocess.Popen[bytes]
    folder: Path
    limits: Limits
    stdout: bytes = b""
    stderr: bytes = b""

    def read(self) -> "_Output":
        """Read to the end of both streams and wait for the process."""
        deadline = time.monotonic() + self.limits.kustomize_seconds
        stdout, stderr = bytearray(), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(cast(IO[bytes], self.process.stdout), selectors.EVENT_READ, stdout)
            selector.register(cast(IO[bytes], self.process.stderr), selectors.EVENT_READ, stderr)
            while selector.get_map():
                self._take(selector, deadline)
                # Of what goes wrong the beginning is enough; the rest is read, so that nobody waits for us.
                del stderr[_STDERR_BYTES:]
                if len(stdout) > self.limits.kustomize_bytes:
                    what = f"the kustomization in {self.folder} makes too much"
                    raise LimitExceeded(what, "kustomize_bytes", self.limits)
        self._wait(deadline)
        self.stdout, self.stderr = bytes(stdout), bytes(stderr)
        return self

    def _take(self, selector: selectors.BaseSelector, deadline: float) -> None:
        ready = selector.select(max(0.0, deadline - time.monotonic()))
        if not ready or time.monotonic() > deadline:
            raise KustomizeSlow(self.folder, self.limits)
        for key, _ in ready:
            block = os.read(key.fd, _BLOCK)
            key.data.extend(block)
            if not block:
                selector.unregister(key.fileobj)

    def _wait(self, deadline: float) -> None:
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise KustomizeSlow(self.folder, self.limits) from None


def _shown_lines(stderr: bytes, folder: Path, home: Path) -> list[str]:
    text = _LOG_PREFIX.sub("", stderr.decode(errors="replace"))
    # Argo CD has another folder for every call, and so have we: each is called as it is seen from where we stand.
    text = _seen_from(folder.resolve(), text.replace(str(home), "~"))
    lines = hide_scratch_folders(text).splitlines()
    return [visible(redact(line.strip())) for line in lines if line.strip()][:10]


def _seen_from(place: Path, text: str) -> str:
    """Return a text in which a folder, and every one above it, has the name that leads there from the folder."""
    above = [str(path) for path in (place, *place.parents)][:-1]
    names = {path: "/".join([".."] * steps) or "." for steps, path in enumerate(above)}
    # The longest comes first; a part of another path or name is none of them.
    either = "|".join(map(re.escape, above))
    return re.sub(rf"(?<![\w./~-])(?:{either})(?![^/\s'\":;,)\]])", lambda found: names[found[0]], text)
