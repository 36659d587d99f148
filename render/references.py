"""Sources, references and digests: one strict grammar, no defaults."""

import re
from collections import namedtuple
from functools import lru_cache

from render.errors import InvalidInput
from render.lean import TYPE_CHECKING, NewType, dataclass

Digest = NewType("Digest", str)  # "sha256:" and 64 lower-case hex digits

DOCKER_HUB = frozenset({"docker.io", "index.docker.io"})
# The default registry of Packages v1; its host does not exist any more.
GONE_REGISTRY = "registry.crossplane.io"

_ALGORITHM = "sha256:"
_DIGEST_LENGTH = len(_ALGORITHM) + 64
_HEX = "0123456789abcdef"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LABEL_CHARACTERS = f"0123456789{_LETTERS}-"
_TAG_CHARACTERS = f"{_LABEL_CHARACTERS}{_LETTERS.upper()}_."
_LONGEST_TAG = 128
# Distribution spec, "Pulling manifests": the grammar of <name>.
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
# Compiled when it is needed: most hosts are plain names.
_HOST = r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(?P<port>[0-9]{1,5}))?"
# The rule of the CRD for spec.package, which differs from the grammar of the controllers.
_ADMITTED = re.compile(r"[^./]+(\.[^./]+)+(/[^/:@]+)+(:[^:@]+(@sha256.+)?|@sha256.+)")

# An @ in front of the path, or one with a path behind it; a password may itself hold both characters.
_USER_INFO = r"(?s)[^/]*@(?!sha[0-9]+:)|.*@(?!sha[0-9]+:)[^@]*/"

_LONGEST_REPOSITORY = 255
_LONGEST_HOST = 255


class _InvalidHost(Exception):
    """The reason why a text is no host."""


class InvalidReference(InvalidInput):
    """A text that is not a valid reference, source or digest."""

    def __init__(self, text: str, why: str) -> None:
        shown = "***" + text[text.rindex("@") :] if _has_user_info(text) else text
        super().__init__(
            f"{shown!r} is not a package reference" if text else "an empty text is not a package reference",
            why=why,
            next="write registry/organisation/name:tag, or registry/organisation/name@sha256:…",
        )


if TYPE_CHECKING:
    from typing import NamedTuple

    class _SourceFields(NamedTuple):
        registry: str
        repository: str

else:
    _SourceFields = namedtuple("_SourceFields", ("registry", "repository"))


# A named tuple, since sources are the keys of almost every mapping, and a tuple is hashed and compared faster.
class Source(_SourceFields):
    """An image repository, without tag or digest; the registry is in its canonical form."""

    __slots__ = ()

    def __str__(self) -> str:
        registry, repository = self
        # Without a port, a name without a dot would be taken for an organisation; most names have a dot.
        port = "" if "." in registry or _names_registry(registry) else ":443"
        return f"{registry}{port}/{repository}"

    @property
    def name(self) -> str:
        """The last component of the repository's path."""
        return self.repository.rpartition("/")[2]

    @property
    def home(self) -> tuple[str, str]:
        """The registry and the organisation, by which Crossplane groups the members of a family."""
        return self.registry, self.repository.partition("/")[0]

    @property
    def parent(self) -> str:
        """The repository's path without its last component; empty if there is only one."""
        return self.repository.rpartition("/")[0]


@dataclass(frozen=True, slots=True, order=True)
class PartialSource:
    """A dependency without a registry, which its dependant completes."""

    repository: str

    def __str__(self) -> str:
        return self.repository

    def complete(self, dependant: Source) -> Source:
        """Complete it from the immediate dependant: the registry, and for a bare name the organisation."""
        if "/" in self.repository or not dependant.parent:
            return Source(dependant.registry, self.repository)
        return Source(dependant.registry, f"{dependant.parent}/{self.repository}")


@dataclass(frozen=True, slots=True)
class Reference:
    """A source plus a tag, a digest, or both."""

    source: Source
    tag: str | None = None
    digest: Digest | None = None

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.source}{tag}{digest}"


def parse_digest(text: str) -> Digest:
    """Parse "sha256:" and 64 lower-case hex digits."""
    if not is_digest(text):
        raise InvalidReference(text, "a digest is sha256: and 64 lower-case hex digits")
    return Digest(text)


def is_digest(text: str) -> bool:
    """Return whether a text is a well-formed digest."""
    return (
        len(text) == _DIGEST_LENGTH
        and text.startswith(_ALGORITHM)
        and _holds_only(text[len(_ALGORITHM) :], _HEX)
    )


def is_tag(text: str) -> bool:
    """Return whether a text is a well-formed tag."""
    return 0 < len(text) <= _LONGEST_TAG and text[0] not in ".-" and _holds_only(text, _TAG_CHARACTERS)


def parse_reference(text: str) -> Reference:
    """Parse a full reference: registry, repository, and a tag, a digest or both."""
    _refuse_user_info(text)
    base, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise InvalidReference(text, "after @ comes sha256: and 64 lower-case hex digits")
    path, tag = split_tag(base)
    if tag is not None and not is_tag(tag):
        raise InvalidReference(text, f"{tag!r} is not a tag: 1 to 128 letters, digits, '_', '.' and '-'")
    if not at and tag is None:
        raise InvalidReference(text, "it has neither a tag nor a digest, and none is assumed")
    source = _parse_source(text, path)
    if source.registry in DOCKER_HUB and "/" not in source.repository:
        raise InvalidReference(
            text, f"on Docker Hub its full name is {source.registry}/library/{source.repository}"
        )
    return Reference(source, tag, Digest(digest) if at else None)


def split_tag(base: str) -> tuple[str, str | None]:
    """Split the text before a digest into repository and tag; a port is no tag."""
    path, colon, tag = base.rpartition(":")
    return (path, tag) if colon and "/" not in tag else (base, None)


@lru_cache(maxsize=8_192)
def parse_source(text: str) -> Source:
    """Parse a repository with its registry, without tag or digest."""
    return _parse_source(text, text)


@lru_cache(maxsize=8_192)
def parse_dependency_source(text: str) -> Source | PartialSource:
    """Parse the source of a dependency; it may lack its registry."""
    _refuse_user_info(text)
    first, slash, _ = text.partition("/")
    if slash and _names_registry(first):
        return _parse_source(text, text)
    _check_repository(text, text)
    return PartialSource(text)


def is_admitted(text: str) -> bool:
    """Return whether the API server accepts a text as the spec.package of a package object."""
    return _ADMITTED.fullmatch(text) is not None


def _refuse_user_info(text: str) -> None:
    if _has_user_info(text):
        raise InvalidReference(text, "it carries user info; credentials come from the docker configuration")


def _has_user_info(text: str) -> bool:
    return "@" in text and re.match(_USER_INFO, text) is not None


def _parse_source(text: str, path: str) -> Source:
    _refuse_user_info(text)
    registry, slash, repository = path.partition("/")
    if "://" in text:
        raise InvalidReference(text, "it starts with a scheme; a reference has none")
    if not slash or not _names_registry(registry):
        raise InvalidReference(text, "it does not start with a registry host, and none is assumed")
    _check_repository(text, repository)
    try:
        return Source(_canonical_host(registry), repository)
    except _InvalidHost as error:
        raise InvalidReference(text, str(error)) from None


def _names_registry(first: str) -> bool:
    return first == "localhost" or "." in first or ":" in first


def _check_repository(text: str, repository: str) -> None:
    if len(repository) > _LONGEST_REPOSITORY or not _REPOSITORY.fullmatch(repository):
        raise InvalidReference(
            text,
            f"{repository!r} is not a repository: at most {_LONGEST_REPOSITORY} lower-case letters and digits, "
            "joined by '/', '.', '_' and '-'",
        )


@lru_cache(maxsize=1_024)
def _canonical_host(host: str) -> str:
    if _is_name(host) and len(host) <= _LONGEST_HOST:
        return host
    match = re.fullmatch(_HOST, host)
    if match is None or len(host) > _LONGEST_HOST:
        raise _InvalidHost(f"{host!r} is not a host name or address with an optional port")
    name = _canonical_name(match["name"].lower())
    port = int(match["port"]) if match["port"] else 443
    if not 0 < port < 65536:
        raise _InvalidHost(f"{port} is not a port")
    return name if port == 443 else f"{name}:{port}"


def _canonical_name(name: str) -> str:
    if name.startswith("[") or _ends_in_number(name):
        return _canonical_address(name)
    if not _is_name(name):
        raise _InvalidHost(f"{name!r} is not a host name")
    return name


def _is_name(text: str) -> bool:
    return all(map(_is_label, text.split("."))) and not _ends_in_number(text)


def _ends_in_number(name: str) -> bool:
    # This is an address, or an unusual spelling of one, which resolvers read differently.
    last = name.rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def _canonical_address(name: str) -> str:
    # Most registries have names.
    import ipaddress

    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        raise _InvalidHost(f"{name!r} is not an address") from None
    if (address.version == 6) != name.startswith("["):
        raise _InvalidHost(f"{name!r} is not an address")
    return f"[{address}]" if address.version == 6 else str(address)


def _is_label(text: str) -> bool:
    return text != "" and "-" not in (text[0], text[-1]) and _holds_only(text, _LABEL_CHARACTERS)


def _holds_only(text: str, characters: str) -> bool:
    # Stripping all allowed characters leaves nothing; faster than a pattern, to compile and to match.
    return not text.strip(characters)
