"""Where requests go: the address of a source, and addresses that others hand us, judged."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from render.errors import RenderError
from render.references import DOCKER_HUB, Source
from render.texts import redact


class RequestRefused(RenderError):
    """A request that our own rules forbid."""

    def __init__(self, host: str, why: str, *, next: str = "ask whoever runs the registry") -> None:
        super().__init__(f"{host or 'an address'} is not asked", why=why, next=next)


def api_address(source: Source) -> tuple[str, str]:
    """Return the host and the repository under which a registry serves a source."""
    if source.registry not in DOCKER_HUB:
        return source.registry, source.repository
    library = "" if "/" in source.repository else "library/"
    return "registry-1.docker.io", library + source.repository


def split_url(url: str) -> SplitResult:
    """Take an http or https address apart; one that carries user info would make us show up as someone."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise RequestRefused("", f"{redact(url)} is no address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise RequestRefused("", f"{redact(url)} is no plain http or https address")
    return parts


def host_of(parts: SplitResult) -> str:
    """Return host and port in the form that the registry of a source has."""
    name = parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    default = parts.port is None or (parts.scheme == "https" and parts.port == 443)
    return shown if default else f"{shown}:{parts.port}"


def is_private(parts: SplitResult) -> bool:
    """Tell whether an address is written as one that only exists inside a network."""
    name = (parts.hostname or "").partition("%")[0]
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
