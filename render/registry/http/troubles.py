"""Failures of requests: those that another attempt may not have, and the exceptions of urllib3 as ours."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult

import urllib3

from render.errors import RenderError, Unavailable
from render.registry.http.addresses import host_of
from render.registry.http.connections import AnswerTooSlow
from render.system.faults import find_fault


class RegistryUnreachable(Unavailable):
    """A host that gave no usable response."""


class PushFailed(RenderError):
    """A registry that rejected a push."""

    # Of its answer, if there was one.
    status = 0


class Transient(Exception):
    """A failure that may not occur in another attempt."""

    def __init__(
        self, problem: str, *, answered: bool, retry_after: float = 0.0, overloaded: bool = False
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.answered = answered
        self.retry_after = retry_after
        self.overloaded = overloaded
        self.advice = ""
        # The host at fault, if it is another one than the request goes to.
        self.host = ""


class NoPublicAddress(Transient):
    """A name without a public address: the same for a name that does not exist and for one inside a network."""

    def __init__(self, host: str) -> None:
        super().__init__("its name has no public address, and the operator has not listed it", answered=False)
        self.advice = (
            f"check the name; if you are the operator, add {host} to XPLOCK_ALLOWED_REGISTRIES "
            "if it is inside your network"
        )


def find_retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that an answer asks to wait; zero if it does not."""
    text = headers.get("retry-after", "").strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        # The server's own clock, since ours may differ.
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
        return max(wait.total_seconds(), 0.0)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def is_overload(status: int, retry_after: float) -> bool:
    """Return whether a registry asks for fewer requests; 503 alone may also mean that it is broken."""
    return status == 429 or (status == 503 and retry_after > 0)


@contextmanager
def translated(parts: SplitResult, *, must_be_public: bool) -> Iterator[None]:
    """Turn the errors of a connection into ours."""
    try:
        yield
    except AnswerTooSlow:
        raise Transient("its answer takes too long", answered=False) from None
    except urllib3.exceptions.HTTPError as error:
        # Our own descriptors or memory may be what is missing, and not the registry.
        fault = find_fault(error, f"{host_of(parts)} cannot be asked")
        if fault:
            raise fault from None
        if _is_unresolved(error) and must_be_public:
            raise NoPublicAddress(host_of(parts)) from None
        raise _translate(error, parts) from None


def _is_unresolved(error: urllib3.exceptions.HTTPError) -> bool:
    kind = urllib3.exceptions.NameResolutionError
    return isinstance(error, kind) or isinstance(error.__cause__, kind)


def _translate(error: urllib3.exceptions.HTTPError, parts: SplitResult) -> Exception:
    cause = error.__cause__ or error
    if isinstance(error, urllib3.exceptions.SSLError) or isinstance(cause, ssl.SSLError):
        return _translate_tls(cause, parts)
    problems: list[tuple[type[Exception], str, bool]] = [
        (urllib3.exceptions.NameResolutionError, "its name cannot be resolved", False),
        (urllib3.exceptions.NewConnectionError, "it does not accept connections", False),
        (urllib3.exceptions.ConnectTimeoutError, "it does not accept connections in time", False),
        (urllib3.exceptions.ReadTimeoutError, "it stopped answering", False),
        (urllib3.exceptions.ProxyError, "the proxy cannot reach it", False),
        (urllib3.exceptions.IncompleteRead, "the answer is incomplete", True),
    ]
    for kind, problem, answered in problems:
        if isinstance(error, kind) or isinstance(cause, kind):
            return Transient(problem, answered=answered)
    return Transient("the connection broke", answered=True)


def _translate_tls(cause: object, parts: SplitResult) -> Exception:
    while (
        isinstance(cause, urllib3.exceptions.SSLError) and cause.args and isinstance(cause.args[0], Exception)
    ):
        cause = cause.args[0]
    if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Transient("the secure connection broke", answered=True)
    host = host_of(parts)
    if isinstance(cause, ssl.SSLCertVerificationError):
        why, hint = (
            cause.verify_message,
            "if you trust it, name its certificate authority in XPLOCK_CA_BUNDLE",
        )
    else:
        reason = str(getattr(cause, "reason", None) or cause).replace("_", " ").lower()
        why, hint = reason, f"if it speaks plain http and you trust the network, set XPLOCK_PLAIN_HTTP={host}"
    return RegistryUnreachable(f"no secure connection to {host}", why=why, next=hint)
