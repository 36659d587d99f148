"""Names of objects and revisions: what Kubernetes accepts, and what Crossplane derives."""

import re
from functools import lru_cache

from render.references import DOCKER_HUB, Digest, PartialSource, Source

# Kubernetes: a package object has a name like a host name without dots, other objects may have dots.
DNS_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
DNS_LABEL_MEANING = "a DNS label: at most 63 lower-case letters, digits and '-'"
_PART = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
DNS_NAME = rf"(?!.{{254}}){_PART}(?:\.{_PART})*"

_LONGEST_LABEL = 63
_PACKAGE_PART = 50
_HASH_PART = 12
_DASHES = bytes.maketrans(b"./:", b"---")
_DROPPED = bytes(set(range(256)) - set(b"abcdefghijklmnopqrstuvwxyz0123456789./:-"))


def is_dns_label(text: str) -> bool:
    """Return whether a text can name a package object, and any other one."""
    return re.fullmatch(DNS_LABEL, text) is not None


def is_dns_name(text: str) -> bool:
    """Return whether a text can name an object of a kind that allows dots."""
    return re.fullmatch(DNS_NAME, text) is not None


def dns_label(text: str) -> str:
    """Turn any text into a DNS label by Crossplane's rules; the result can be empty."""
    return _label(_utf8(text))


@lru_cache(maxsize=8_192)
def object_name(source: Source | PartialSource) -> str:
    """Return the name that Crossplane gives to a package it installs as a dependency."""
    return dns_label(_repository_as_pulled(source))


def friendly_id(name: str, hash_text: str) -> str:
    """Join a name and a hash into a label, both cut to their share of it."""
    return _label(_utf8(name)[:_PACKAGE_PART] + b"-" + _utf8(hash_text)[:_HASH_PART])


def revision_name(package_name: str, digest: Digest) -> str:
    """Return the name of a package's revision up to Crossplane v2.3."""
    return friendly_id(package_name, digest.removeprefix("sha256:"))


def _utf8(text: str) -> bytes:
    return text.encode(errors="replace")


def _label(data: bytes) -> str:
    # Positions count bytes of the input: a dropped character still uses some of the 63.
    return data[:_LONGEST_LABEL].translate(_DASHES, _DROPPED).decode().strip("-")


def _repository_as_pulled(source: Source | PartialSource) -> str:
    # Crossplane parses a dependency with Docker Hub as its default, where single names are below library/.
    on_docker_hub = isinstance(source, PartialSource) or source.registry in DOCKER_HUB
    prefix = "library/" if on_docker_hub and "/" not in source.repository else ""
    return prefix + source.repository
