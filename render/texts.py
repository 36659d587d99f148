"""Text from outside, made safe to show: no terminal sequences, no endless lines, no secrets."""

import re
from collections.abc import Sequence

# Patterns are compiled when they are needed: most runs show nothing.
_SURROGATE = "[\ud800-\udfff]"

SHOWN_CHARACTERS = 500

# C0, DEL, C1, direction marks, line separators, zero-width characters, lone surrogates and tag characters:
# all of these change how text looks, and are not visible themselves.
_HIDDEN = (
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# The scheme has a longest length: without one, text like a.a.a.a takes time by the square of its length.
# A password may hold the characters that surround an address.
_URL = r"(?i)\b([a-z][a-z0-9+.-]{0,30}+://)([^\s/?#]*@)?([^\s?#'\"<>]*)(\?[^\s#'\"<>]*)?"


def visible(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """Return text with every invisible character written out, cut to a readable length."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return re.sub(_HIDDEN, _written_out, text)


def first_lines(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and a line with the number of the others."""
    hidden = len(lines) - most
    return [*lines[:most], *([f"… and {hidden:,} more"] if hidden > 0 else [])]


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first names in one line, and the number of the others."""
    hidden = len(names) - most
    return ", ".join(names[:most]) + (f" and {hidden:,} more" if hidden > 0 else "")


def linked(members: Sequence[object], link: str = " -> ") -> list[str]:
    """Return a chain in one line, or with one member per line: a long line would be cut when it is shown."""
    whole = link.join(map(str, members))
    if len(whole) <= SHOWN_CHARACTERS:
        return [whole]
    return [str(members[0]), *(f"{link.lstrip()}{member}" for member in members[1:])]


def counted(number: int, what: str) -> str:
    """Return a number with its noun, singular or plural: 1 package, 1,000 packages."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def hides_something(text: str) -> bool:
    """Return whether a text has a character that changes how it looks and is not visible itself."""
    return re.search(_HIDDEN, text) is not None


def redact(text: str) -> str:
    """Return text with user info and query values of every URL in it replaced by stars."""
    return re.sub(_URL, _without_secrets, text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return {9: r"\t", 10: r"\n", 13: r"\r"}.get(code, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def _without_secrets(match: re.Match[str]) -> str:
    scheme, user, rest, query = match.groups()
    names = [part.split("=", 1)[0] for part in query[1:].split("&")] if query else []
    hidden = "?" + "&".join(f"{name}=***" for name in names) if names else ""
    return f"{scheme}{'***@' if user else ''}{rest}{hidden}"


def is_encodable(text: str) -> bool:
    """Return whether a text can be encoded: JSON can hold half of a surrogate pair, and UTF-8 cannot."""
    return re.search(_SURROGATE, text) is None


def without_name(text: str, name: str) -> str:
    """Return a text without the name of a folder, to compare it with those of other folders."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", "\0", text)
