"""A registry client set up as an operator would, with a clock that tests control."""

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from render.limits import Limits
from render.references import Reference, Source, parse_reference
from render.registry.access import RegistrySettings
from render.registry.cache import Cache
from render.registry.client import RegistryClient
from render.registry.credentials import CredentialStore
from render.registry.http.transport import Transport
from render.registry.tokens import Authenticator
from render.system.deadline import Deadline

SECONDS = 30.0


class Clock:
    """A clock that moves only in `sleep`."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self.waits: list[float] = []

    def now(self) -> float:
        """Return the time."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.waits.append(seconds)
        self.time += seconds


@dataclass
class Asker:
    """A client and everything below it."""

    transport: Transport
    client: RegistryClient
    authenticator: Authenticator
    waits: list[float]
    traces: list[str] = field(default_factory=list)


def bounded(**amounts: float) -> Limits:
    """Return the limits with some of them changed; seconds may be fractions."""
    return Limits(**cast(dict[str, int], amounts))


def asker(
    *plain_hosts: str,
    environ: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    seconds: float = SECONDS,
    now: Callable[[], float] = time.monotonic,
    cache: Path | None = None,
) -> Asker:
    """Return a client that may ask some hosts without TLS, and that never really waits between tries."""
    settings = RegistrySettings.from_environment(
        {"XPLOCK_PLAIN_HTTP": ",".join(plain_hosts), **(environ or {})}
    )
    limits = limits or Limits()
    waits: list[float] = []
    traces: list[str] = []
    transport = Transport(settings, limits, Deadline(seconds, now, waits.append), traces.append)
    credentials = CredentialStore(environ or {}, limits, lambda _: None)
    authenticator = Authenticator(transport, settings, credentials)
    client = RegistryClient(transport, authenticator, Cache(cache, limits, lambda _: None))
    return Asker(transport, client, authenticator, waits, traces)


def logins(passwords: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a user who has logged in to some registries as robin."""
    auths = {
        host: {"auth": base64.b64encode(f"robin:{password}".encode()).decode()}
        for host, password in passwords.items()
    }
    return {"DOCKER_AUTH_CONFIG": json.dumps({"auths": auths})}


def named(host: str, rest: str = "some/name:v1.0.0") -> Reference:
    """Return a reference on a host."""
    return parse_reference(f"{host}/{rest}")


def source(host: str, repository: str = "some/name") -> Source:
    """Return a source on a host."""
    return Source(host, repository)
