"""JSON, base64 and PEM, read strictly: where two readers could differ, the text is refused."""

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from render.signatures.refusals import Reason, Refused

_BLANKS = " \t\r\n"
_PEM = re.compile(
    rf"[{_BLANKS}]*-----BEGIN ([A-Z0-9 ]{{1,40}})-----[ \t\r]*\n([A-Za-z0-9+/={_BLANKS}]*)-----END \1-----",
    re.ASCII,
)
# Above this, JSON readers disagree about a number.
_LARGEST = 1 << 53


def read_object(data: bytes | str, known: Iterable[str], what: str) -> dict[str, Any]:
    """Return a JSON object; `known` are keys that a reader in Go would take in any case."""
    folded = {key.casefold(): key for key in known}

    def unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a key stands in an object twice")
        odd = [key for key in found if folded.get(key.casefold(), key) != key]
        if odd:
            raise ValueError(f"the key {folded[odd[0].casefold()]} is spelled {odd[0]!r}")
        return found

    try:
        text = data.decode() if isinstance(data, bytes) else data
        value = json.loads(
            text,
            object_pairs_hook=unambiguous,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_whole,
        )
    except (ValueError, RecursionError) as error:
        raise Refused(Reason.UNREADABLE, f"{what} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise Refused(Reason.UNREADABLE, f"{what} is not a JSON object")
    return value


def dig(value: Any, *way: str | int) -> Any:
    """Return what is at the end of a way through objects and lists; None if the way ends before."""
    for step in way:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def text_at(value: Any, what: str, *way: str | int) -> str:
    """Return the text at the end of a way."""
    found = dig(value, *way)
    if not isinstance(found, str):
        raise Refused(Reason.UNREADABLE, f"{what} has no text at {'.'.join(map(str, way))}")
    return found


def number_at(value: Any, what: str, *way: str | int) -> int:
    """Return the whole number at the end of a way."""
    found = dig(value, *way)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < _LARGEST:
        raise Refused(Reason.UNREADABLE, f"{what} has no number at {'.'.join(map(str, way))}")
    return found


def written_number_at(value: Any, what: str, *way: str | int) -> int:
    """Return a whole number that is written as a text, as bundles do it."""
    found = text_at(value, what, *way)
    if not re.fullmatch(r"[0-9]{1,16}", found, re.ASCII) or int(found) >= _LARGEST:
        raise Refused(Reason.UNREADABLE, f"{what} has no number at {'.'.join(map(str, way))}")
    return int(found)


def unbase64(text: str, what: str) -> bytes:
    """Decode base64 in its one canonical form."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if base64.b64encode(data).decode() != text:
        raise Refused(Reason.UNREADABLE, f"{what} is not base64")
    return data


def pem_blocks(text: str) -> list[tuple[str, bytes]]:
    """Return the label and the bytes of every PEM block; a text between them is refused."""
    found, at = [], 0
    while match := _PEM.match(text, at):
        found.append((match[1], unbase64("".join(match[2].split()), "a PEM block")))
        at = match.end()
    if not found or text[at:].strip(_BLANKS):
        raise Refused(Reason.UNREADABLE, "it is not in PEM form")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _whole(text: str) -> int:
    # Go reads each number of an unknown field as a float, too.
    _finite(text)
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number
