"""Certificate authorities for git: the operator's besides the usual ones, unless git is told whom to trust."""

import ssl
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from render.errors import InvalidInput
from render.files import InvalidFile, read_plain
from render.git.failures import GitFailed
from render.git.repository import Repository, read_configuration
from render.limits import LimitExceeded, Limits
from render.mounted import read_mounted
from render.scratch import writing

# What scratch folders for git hold.
FILES = "git's files"

_VARIABLE = "XPLOCK_CA_BUNDLE"
_FILE = "xplock-authorities.pem"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


class NoCertificates(InvalidInput):
    """A file that should hold certificates and does not."""

    def __init__(self) -> None:
        super().__init__(
            f"the file that {_VARIABLE} names holds no certificates",
            why="it is missing, or not in the form that begins with -----BEGIN CERTIFICATE-----",
            next=f"put them there; or unset {_VARIABLE}, where the usual authorities are enough",
        )


def read_authorities(environ: Mapping[str, str], limits: Limits) -> bytes | None:
    """Return the operator's certificate authorities, if there are any."""
    if not environ.get(_VARIABLE):
        return None
    data = read_mounted(environ, _VARIABLE, "authorities_bytes", limits)
    if _CERTIFICATE not in data:
        raise NoCertificates
    return data


def with_authorities(
    repository: Repository,
    authorities: bytes,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> Repository:
    """Let git trust authorities besides the usual ones, by a file in a folder that is gone later."""
    if "http.sslcainfo" in read_configuration(repository, environment):
        return repository
    known = ssl.get_default_verify_paths()
    usual = [_read_usual(Path(known.cafile), repository)] if known.cafile else []
    file = folder / _FILE
    with writing(FILES):
        file.write_bytes(b"\n".join([*usual, authorities]))
    more = ("-c", f"http.sslCAPath={known.capath}") if known.capath else ()
    return replace(repository, options=(*repository.options, "-c", f"http.sslCAInfo={file}", *more))


def _read_usual(file: Path, repository: Repository) -> bytes:
    """Return the certificate authorities that Python trusts: those in SSL_CERT_FILE, or else the machine's."""
    limits = repository.limits
    try:
        data = read_plain(file.resolve(), limits.authorities_bytes)
    except InvalidFile as error:
        why = f"the usual certificate authorities cannot be read: {error.why[0]}"
        raise GitFailed(repository.where, why, next="check SSL_CERT_FILE") from None
    if data is None:
        raise LimitExceeded("the usual certificate authorities are too large", "authorities_bytes", limits)
    return data
