"""Secrets in git's configuration, which git's own words may repeat without the URL around them."""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import unquote

from render.git.repository import Repository, list_configuration

# As in `render.texts`, which stars what is written as a URL.
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30})://(?:([^\s/?#]*)@)?[^\s?#]*(?:\?(\S*))?")
# Shorter ones would be found everywhere, and protect nothing; nor would a header's words like Bearer.
_SHORTEST, _SHORTEST_WORD = 4, 8


def hide_secrets(repository: Repository, *, environment: Mapping[str, str] | None = None) -> Repository:
    """Return the repository with everything in its configuration marked that nobody may see."""
    settings = list_configuration(repository, environment)
    found = {secret for key, value in settings for secret in _find(key, value)}
    every = found | {unquote(secret) for secret in found}
    # The longest first: one may be a part of another.
    hidden = sorted(
        (secret for secret in every if len(secret) >= _SHORTEST), key=lambda text: (-len(text), text)
    )
    return replace(repository, hidden=(*repository.hidden, *hidden))


def _find(key: str, value: str) -> Iterator[str]:
    if key.endswith(".extraheader"):
        yield from _find_in_header(value)
    for scheme, user, query in _URL.findall(f"{key}\n{value}"):
        name, _, password = user.partition(":")
        yield password
        # A token may stand in the user's place, but for ssh, where that is a name. The server sees both encoded.
        if name and scheme.lower() == "https":
            yield from (name, b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode())
        yield from (part.partition("=")[2] for part in query.split("&"))


def _find_in_header(header: str) -> Iterator[str]:
    name, colon, value = header.partition(":")
    said = (value if colon else name).strip()
    *others, last = said.split() or [""]
    yield from (said, last, *(word for word in others if len(word) >= _SHORTEST_WORD))
    # A server knows what is meant, and may say that.
    user, _, password = _decode(last).partition(":")
    yield from (f"{user}:{password}", password) if password else ()


def _decode(word: str) -> str:
    try:
        return b64decode(word, validate=True).decode()
    except ValueError:
        return ""
