"""Protocol Buffers, as much as the tests need to talk to Argo CD: fields by number, no generated code."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = str | bytes | bool | int
# A message is its fields by number; a list is a repeated field.
Message: TypeAlias = Mapping[int, "Value | Message | Sequence[Value | Message]"]

_VARINT, _BYTES = 0, 2


def encode(message: Message) -> bytes:
    """Write a message."""
    parts = []
    for number, value in message.items():
        for item in value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]:
            parts.append(_encode_field(number, item))
    return b"".join(parts)


def decode(data: bytes) -> dict[int, list[bytes | int]]:
    """Read the fields of a message; the caller decodes nested messages, since only it knows their types."""
    fields: dict[int, list[bytes | int]] = {}
    rest = memoryview(data)
    while rest:
        key, rest = _read_varint(rest)
        if key & 7 == _VARINT:
            number, rest = _read_varint(rest)
            fields.setdefault(key >> 3, []).append(number)
        elif key & 7 == _BYTES:
            length, rest = _read_varint(rest)
            fields.setdefault(key >> 3, []).append(bytes(rest[:length]))
            rest = rest[length:]
        else:
            raise ValueError(f"a field of wire type {key & 7}")
    return fields


def texts(data: bytes, number: int) -> list[str]:
    """Return a repeated text of a message."""
    return [item.decode() for item in decode(data).get(number, []) if isinstance(item, bytes)]


def _encode_field(number: int, value: "Value | Message") -> bytes:
    if isinstance(value, bool | int):
        return _varint(number << 3 | _VARINT) + _varint(int(value))
    body = value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else encode(value)
    return _varint(number << 3 | _BYTES) + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    return bytes(_septets(number))


def _septets(number: int) -> Iterator[int]:
    while number > 0x7F:
        yield number & 0x7F | 0x80
        number >>= 7
    yield number


def _read_varint(data: memoryview) -> tuple[int, memoryview]:
    number = 0
    for i, byte in enumerate(data):
        number |= (byte & 0x7F) << (7 * i)
        if not byte & 0x80:
            return number, data[i + 1 :]
    raise ValueError("a number without an end")
