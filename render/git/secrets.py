"""Secrets in git's configuration, which git's own words may repeat without the URL around them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import unquote

from render.git.repository import Repository, read_configuration

# As in `render.texts`, which stars what is written as a URL.
_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30})://(?:([^\s/?#]*)@)?[^\s?#]*(?:\?(\S*))?")
# Shorter ones would be found everywhere, and protect nothing.
_SHORTEST = 4


def hide_secrets(repository: Repository) -> Repository:
    """Return the repository with everything in its configuration marked that nobody may see."""
    found = {secret for key, value in read_configuration(repository).items() for secret in _find(key, value)}
    every = found | {unquote(secret) for secret in found}
    # The longest first: one may be a part of another.
    hidden = sorted(
        (secret for secret in every if len(secret) >= _SHORTEST), key=lambda text: (-len(text), text)
    )
    return replace(repository, hidden=(*repository.hidden, *hidden))


def _find(key: str, value: str) -> Iterator[str]:
    if key.endswith(".extraheader"):
        yield value.rpartition(" ")[2]
    for scheme, user, query in _URL.findall(f"{key}\n{value}"):
        name, _, password = user.partition(":")
        # A token may stand in the user's place, but for ssh, where that is a name.
        yield from (password, name if scheme.lower() == "https" else "")
        yield from (part.partition("=")[2] for part in query.split("&"))
