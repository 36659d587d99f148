"""Blobs on their way: no receiver gets the last byte of something wrong."""

from collections.abc import Iterator

import pytest

from render.references import Source
from render.registry.copying.checked import checked
from render.registry.http.bodies import SizeMismatch
from render.registry.http.troubles import Transient
from render.registry.oci import Descriptor, TamperedContent, digest_of

SOURCE = Source("xpkg.example.org", "acme/app")
DATA = b"0123456789"
DESCRIPTOR = Descriptor("application/octet-stream", digest_of(DATA), len(DATA))


def pieces(data: bytes, size: int = 3) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def received(data: bytes, error: type[Exception]) -> bytes:
    """Return what arrives before an error."""
    got = b""
    with pytest.raises(error):
        for piece in checked(SOURCE, DESCRIPTOR, pieces(data), lambda _: None):
            got += piece
    return got


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_what_is_right_passes_as_it_is(size: int) -> None:
    counted: list[int] = []

    assert b"".join(checked(SOURCE, DESCRIPTOR, pieces(DATA, size), counted.append)) == DATA
    assert sum(counted) == len(DATA)


def test_nothing_is_right_if_nothing_is_expected() -> None:
    nothing = Descriptor("application/octet-stream", digest_of(b""), 0)

    assert list(checked(SOURCE, nothing, iter(()), lambda _: None)) == []


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"0123456780", TamperedContent), (DATA + b"x", SizeMismatch), (DATA[:-1], Transient), (b"", Transient)],
)
def test_what_is_wrong_never_arrives_as_a_whole(data: bytes, error: type[Exception]) -> None:
    assert len(received(data, error)) < len(DATA)
