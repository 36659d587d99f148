"""Addresses of requests: that of a source, and checks on those that servers send."""

import re
from urllib.parse import SplitResult, urljoin, urlsplit

from render.errors import RenderError
from render.references import DOCKER_HUB, Source
from render.registry.http.private_networks import is_private_name, parse_address
from render.texts import redact

_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")


class RequestRefused(RenderError):
    """A request that our own rules forbid."""

    def __init__(self, host: str, why: str, *, next: str = "ask the operators of the registry") -> None:
        super().__init__(f"{host or 'an address'} is not asked", why=why, next=next)


def api_address(source: Source) -> tuple[str, str]:
    """Return the host and the repository under which a registry serves a source."""
    if source.registry not in DOCKER_HUB:
        return source.registry, source.repository
    library = "" if "/" in source.repository else "library/"
    return "registry-1.docker.io", library + source.repository


def split_url(url: str) -> SplitResult:
    """Parse an http or https URL; user info is refused, since it would send foreign credentials."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise RequestRefused("", f"{redact(url)} is not a valid URL") from None
    if parts.scheme not in ("http", "https") or not _is_plain(parts):
        raise RequestRefused("", f"{redact(url)} is not a plain http or https URL")
    return parts


def follow_url(here: str, link: str) -> SplitResult:
    """Parse a link relative to a URL."""
    try:
        return split_url(urljoin(here, link))
    except ValueError:
        raise RequestRefused("", f"{redact(link)} is not a valid URL") from None


def host_of(parts: SplitResult) -> str:
    """Return host and port, written like the registry of a source."""
    name = parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    default = parts.port is None or (parts.scheme == "https" and parts.port == 443)
    return shown if default else f"{shown}:{parts.port}"


def is_private(parts: SplitResult) -> bool:
    """Return whether a URL's host is an address inside a network; names are not resolved."""
    return is_private_name(parts.hostname or "")


def check_upload_target(here: SplitResult, target: SplitResult) -> None:
    """Raise for an upload location that breaks the rules for redirects on the read path."""
    if target.scheme != here.scheme:
        raise RequestRefused(
            host_of(target), f"{host_of(here)} redirects the upload to it over {target.scheme}"
        )
    if is_private(target) and not is_private(here):
        raise RequestRefused(
            host_of(target), f"{host_of(here)} redirects the upload to an address inside a network"
        )


def _is_plain(parts: SplitResult) -> bool:
    """Return whether the host and port are written in a form that every parser reads alike."""
    name = parts.hostname or ""
    shown = f"[{name}]" if ":" in name else name
    if parts.netloc.lower() not in (shown, f"{shown}:{parts.port}"):
        return False
    if ":" in name:
        return "%" not in name and parse_address(name) is not None
    return len(name) < 255 and _NAME.fullmatch(name) is not None
