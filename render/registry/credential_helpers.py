"""docker-credential-* programs: each is asked for one server, within bounds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from render.errors import Unavailable
from render.limits import KIB, Limits, format_bytes, setting
from render.system.programs import Finished, NotStarted, Program, TooMuchOutput, TooSlow, find_program
from render.texts import is_encodable, redact

_HELPER_BYTES = 64 * KIB
_NOT_FOUND = b"credentials not found"


class HelperFailed(Unavailable):
    """A credential helper that failed; one without credentials for the server is no failure."""

    def __init__(self, helper: str, server: str, why: str, *, next: str) -> None:
        # Its output is never shown: it may be a secret.
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
        done = self._run(server)
        if done.status != 0 and _NOT_FOUND in done.output.lower():
            return None
        if done.status != 0:
            raise self._failure(server, f"it ended with exit code {done.status}")
        return self._parse(server, done.output)

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

    def _run(self, server: str) -> Finished:
        path = find_program(self.name, self.environ)
        if path is None:
            raise self._failure(server, f"{self.origin} names it, and no folder in PATH has it")
        question = server.encode(errors="replace")
        seconds = self.limits.helper_seconds
        program = Program([path, "get"], self.environ, seconds, _HELPER_BYTES, data=question)
        try:
            return program.run()
        except NotStarted as error:
            raise self._failure(server, f"{path} cannot be started: {error}") from None
        except TooSlow:
            raise self._too_slow(server) from None
        except TooMuchOutput:
            why = f"its answer is longer than {format_bytes(_HELPER_BYTES)}"
            raise self._failure(server, why) from None

    def _too_slow(self, server: str) -> HelperFailed:
        why = f"it was not done after {self.limits.helper_seconds} s"
        hint = f"find out why it is slow, or raise {setting('helper_seconds')}"
        return HelperFailed(self.name, server, why, next=hint)

    def _failure(self, server: str, why: str) -> HelperFailed:
        hint = f"make {self.name} get work by hand, or take it out of {self.origin}"
        return HelperFailed(self.name, server, why, next=hint)
