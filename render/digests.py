"""SHA-256 of short texts and of plain values, without slow imports."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from render.lean import Any

_ESCAPED = frozenset('"\\')
_WORDS = {None: "null", True: "true", False: "false"}


def sha256_hex(text: str) -> str:
    """Return the SHA-256 of a text, as hex digits."""
    digits: str = _sha256(text.encode()).hexdigest()
    return digits


def digest_value(value: object) -> str:
    """Return the digest of a plain value's canonical JSON form."""
    return "sha256:" + sha256_hex(format_canonical(value))


def format_canonical(value: object) -> str:
    """Write a plain value as JSON: on one line, without blanks, and with sorted keys."""
    if isinstance(value, Mapping):
        entries = [f"{_format_leaf(key)}:{format_canonical(value[key])}" for key in sorted(value)]
        return f"{{{','.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(format_canonical, value))}]"
    return _format_leaf(value)


def _format_leaf(value: object) -> str:
    if isinstance(value, str) and value.isascii() and value.isprintable() and not _ESCAPED & set(value):
        return f'"{value}"'
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return str(value)
    # Most texts need no escapes, and importing json takes longer than writing all of them.
    import json

    return json.dumps(value, allow_nan=False)


def _find_sha256() -> Callable[[bytes], Any]:
    # Python's own implementation, under its names since 3.12 and before; hashlib would load all of OpenSSL.
    for module in ("_sha2", "_sha256"):
        with suppress(ImportError, AttributeError):
            found: Callable[[bytes], Any] = __import__(module).sha256
            return found
    import hashlib

    return hashlib.sha256


_sha256 = _find_sha256()
