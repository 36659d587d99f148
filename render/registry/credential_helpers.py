"""docker-credential-* programs: started, asked one question, and ended in time whatever they do."""

import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from render.errors import RenderError
from render.limits import KIB, Limits, format_bytes, setting
from render.system.programs import kill_group
from render.texts import is_encodable, redact

_HELPER_BYTES = 64 * KIB
_NOT_FOUND = b"credentials not found"


class HelperFailed(RenderError):
    """A credential helper that gave neither credentials nor word that there are none."""

    def __init__(self, helper: str, server: str, why: str, *, next: str) -> None:
        # What a helper writes is never shown: it may well be a secret.
        super().__init__(f"{helper} gave no credentials for {redact(server)}", why=why, next=next)


@dataclass(frozen=True, slots=True)
class Helper:
    """A docker-credential-* program."""

    name: str
    origin: str
    environ: Mapping[str, str] = field(repr=False)
    limits: Limits

    def ask(self, server: str) -> tuple[str, str] | None:
        """Return the user and the secret that the helper knows for a server."""
        status, answer = self._run(server)
        if status != 0 and _NOT_FOUND in answer.lower():
            return None
        if status != 0:
            raise self._failure(server, f"it ended with exit code {status}")
        return self._parse(server, answer)

    def _parse(self, server: str, answer: bytes) -> tuple[str, str]:
        try:
            fields = json.loads(answer)
        except (ValueError, RecursionError):
            raise self._failure(server, "its answer is not JSON") from None
        found = (
            [fields.get(key) or "" for key in ("Username", "Secret")] if isinstance(fields, dict) else [None]
        )
        texts = [text for text in found if isinstance(text, str) and is_encodable(text)]
        if len(texts) != 2:
            raise self._failure(server, "its answer has no Username and Secret that are text")
        return texts[0], texts[1]

    def _run(self, server: str) -> tuple[int, bytes]:
        deadline = time.monotonic() + self.limits.helper_seconds
        with self._start(server) as process:
            try:
                answer = self._converse(process, server, deadline)
                return process.wait(_seconds_until(deadline)), answer
            except BaseException as error:
                kill_group(process)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise self._too_slow(server) from None
                raise

    def _start(self, server: str) -> subprocess.Popen[bytes]:
        program = self._find(server)
        try:
            return subprocess.Popen(  # noqa: S603 - a list, no shell, and the name was checked
                [program, "get"],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=dict(self.environ),
                # A group of its own, so that its children can be ended with it.
                start_new_session=True,
            )
        except OSError as error:
            raise self._failure(server, f"{program} cannot be started: {error.strerror}") from None

    def _find(self, server: str) -> str:
        # A relative entry, or an empty one, would find programs in the repository we happen to stand in.
        folders = [
            folder for folder in self.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()
        ]
        program = shutil.which(self.name, path=os.pathsep.join(folders))
        if program is None:
            raise self._failure(server, f"{self.origin} names it, and no folder in PATH has it")
        return program

    def _converse(self, process: subprocess.Popen[bytes], server: str, deadline: float) -> bytes:
        with suppress(BrokenPipeError), cast(IO[bytes], process.stdin) as stdin:
            stdin.write(server.encode(errors="replace"))
        answer = _read_until(cast(IO[bytes], process.stdout), deadline)
        if answer is None:
            raise self._too_slow(server)
        if len(answer) > _HELPER_BYTES:
            raise self._failure(server, f"its answer is longer than {format_bytes(_HELPER_BYTES)}")
        return answer

    def _too_slow(self, server: str) -> HelperFailed:
        why = f"it was not done after {self.limits.helper_seconds} s"
        hint = f"see what keeps it, or raise {setting('helper_seconds')}"
        return HelperFailed(self.name, server, why, next=hint)

    def _failure(self, server: str, why: str) -> HelperFailed:
        hint = f"make {self.name} get work by hand, or take it out of {self.origin}"
        return HelperFailed(self.name, server, why, next=hint)


def _read_until(stream: IO[bytes], deadline: float) -> bytes | None:
    """Read to the end or just past the bound; None if that takes too long."""
    answer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while (seconds := _seconds_until(deadline)) > 0 and selector.select(seconds):
            block = os.read(stream.fileno(), _HELPER_BYTES + 1 - len(answer))
            answer += block
            if not block or len(answer) > _HELPER_BYTES:
                return answer
    return None


def _seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
