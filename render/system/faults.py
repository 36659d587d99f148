"""Faults of the machine: no memory, no descriptors, no threads, no space. They are neither bugs nor wrong inputs."""

import errno
import os

from render.errors import RenderError

_ADVICE = {
    errno.EMFILE: "allow more open files: ulimit -n 1024",
    errno.ENFILE: "close other programs, or allow more open files on this machine",
    errno.ENOMEM: "allow more memory: ulimit -v, or the limit of the container",
    errno.EAGAIN: "allow more threads and memory: ulimit -u, ulimit -v, or the limits of the container",
    errno.ENOBUFS: "close other programs",
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "allow larger files: ulimit -f",
    errno.EROFS: "write to another folder, or mount this one so that it can be written to",
    errno.EIO: "check the disk",
    errno.ESTALE: "mount the file system again",
}
# Texts of exceptions without a number: of the dynamic linker, and of Python's threads and random numbers.
_TEXTS = {
    "Too many open files": errno.EMFILE,
    "failed to map segment": errno.ENOMEM,
    "cannot allocate memory": errno.ENOMEM,
    "Cannot allocate memory": errno.ENOMEM,
    "can't start new thread": errno.EAGAIN,
}
_WHY = {
    errno.ENOMEM: "there is not enough memory",
    errno.EAGAIN: "no more threads or processes can be started",
}


class MachineFault(RenderError):
    """The machine cannot do what was asked of it."""

    def __init__(self, number: int, what: str = "") -> None:
        super().__init__(
            what or "the machine cannot do what is needed",
            why=_WHY.get(number) or os.strerror(number).lower(),
            next=_ADVICE[number],
        )


def find_fault(error: BaseException | None, what: str = "") -> MachineFault | None:
    """Return the fault of the machine that an exception reports, itself or through its causes."""
    # A library may wrap an exception several times; a circle of causes is possible.
    for _ in range(10):
        if error is None:
            return None
        number = _find_number(error)
        if number is not None:
            return MachineFault(number, what or _name_file(error))
        error = error.__cause__ or error.__context__
    return None


def raise_fault(error: OSError, what: str) -> None:
    """Raise a MachineFault if an error is one; return otherwise."""
    if error.errno in _ADVICE:
        raise MachineFault(error.errno, what) from None


def _find_number(error: BaseException) -> int | None:
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    if isinstance(error, OSError) and error.errno in _ADVICE:
        return error.errno
    if isinstance(error, ImportError | RuntimeError):
        return next((number for text, number in _TEXTS.items() if text in str(error)), None)
    return None


def _name_file(error: BaseException) -> str:
    name = error.filename if isinstance(error, OSError) else None
    return f"{name} cannot be used" if isinstance(name, str) else ""
