"""The operator's settings for registries, read from the environment and never from a repository."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from render.errors import InvalidInput
from render.references import InvalidReference, parse_source

# Token servers of large registries on another host.
_KNOWN_REALMS = {
    "registry-1.docker.io": frozenset({"auth.docker.io"}),
    "registry.gitlab.com": frozenset({"gitlab.com"}),
    "nvcr.io": frozenset({"authn.nvidia.com"}),
}


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """The hosts that may be asked, how they are reached, and the token servers that may get credentials."""

    plain_http: frozenset[str] = frozenset()
    ca_bundle: Path | None = None
    trusted_realms: Mapping[str, frozenset[str]] = field(default_factory=lambda: dict(_KNOWN_REALMS))
    allowed: frozenset[str] | None = None
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Whether a host has to have a public address, unless the operator listed it: someone else names the hosts.
    public_only: bool = False

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, public_only: bool = False) -> "RegistrySettings":
        """Read the operator's XPLOCK_* variables."""
        bundle = environ.get("XPLOCK_CA_BUNDLE")
        allowed = environ.get("XPLOCK_ALLOWED_REGISTRIES", "").strip()
        return cls(
            plain_http=read_hosts(environ, "XPLOCK_PLAIN_HTTP"),
            ca_bundle=Path(bundle) if bundle else None,
            trusted_realms=read_realms(environ, "XPLOCK_TRUSTED_REALMS"),
            allowed=read_hosts(environ, "XPLOCK_ALLOWED_REGISTRIES") if allowed else None,
            environ=environ,
            public_only=public_only,
        )

    def must_be_public(self, host: str) -> bool:
        """Return whether a host may be asked only at a public address."""
        listed = (self.plain_http, self.allowed or (), *self.trusted_realms.values())
        return self.public_only and not any(host in hosts for hosts in listed)


def read_hosts(environ: Mapping[str, str], name: str) -> frozenset[str]:
    """Return the hosts in a variable."""
    return frozenset(_host(name, item) for item in _items(environ, name))


def read_realms(environ: Mapping[str, str], name: str) -> dict[str, frozenset[str]]:
    """Return the token servers of every registry: the built-in ones and those in a variable."""
    realms = dict(_KNOWN_REALMS)
    for item in _items(environ, name):
        registry, equals, realm = item.partition("=")
        if not equals:
            raise InvalidInput(
                f"{name}: {item!r} is not a pair",
                why="each entry is a registry and the token server that may get its credentials",
                next=f"write {name}=registry.example=auth.example",
            )
        host = _host(name, registry)
        realms[host] = realms.get(host, frozenset()) | {_host(name, realm)}
    return realms


def _items(environ: Mapping[str, str], name: str) -> list[str]:
    return [item.strip() for item in environ.get(name, "").split(",") if item.strip()]


def _host(name: str, text: str) -> str:
    host = text.strip()
    # A path is refused: a setting for a part of a registry must not apply to all of it. A host without a dot is
    # allowed here, where it cannot be mistaken for an organisation.
    for spelling in () if "/" in host else (host, f"{host}:443"):
        try:
            return parse_source(f"{spelling}/x").registry
        except InvalidReference:
            continue
    raise InvalidInput(
        f"{name}: {text!r} is not a host",
        why="a host is a name or an address with an optional port, without scheme or path",
        next=f"write {name}=registry.example,registry.example:5000",
    )
