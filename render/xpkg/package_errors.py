"""Errors about the content of a package, with the name of the package."""

from collections.abc import Iterator
from contextlib import contextmanager

from render.errors import RenderError, UnusableContent
from render.limits import LimitExceeded
from render.references import Source


class UnsupportedCompression(RenderError):
    """A layer that this Python cannot decompress."""


# Other failures, such as an unreachable registry or the end of the time limit, are not the fault of a package.
_ABOUT_CONTENT = (UnusableContent, LimitExceeded, UnsupportedCompression)


@contextmanager
def naming_package(name: str, source: Source) -> Iterator[None]:
    """Put the name of a package in front of every error about its content that does not have its source."""
    try:
        yield
    except _ABOUT_CONTENT as error:
        if str(source) not in error.what:
            error.what = f"{name}: {error.what}"
        raise
