"""The command that retires packages, as advice prints it, and packages in its words."""

from collections.abc import Iterable

from render.commands import as_path, shell
from render.lock.model import LockedPackage

_SHOWN_NAMES = 3
# Errors cut long lines, and half a command cannot be pasted.
_LONGEST_LINE = 400
_SHOWN_DIGEST = len("sha256:") + 12


def describe(package: LockedPackage) -> str:
    """Return a package in two words: its source and its version."""
    version = f"{package.digest[:_SHOWN_DIGEST]}…" if package.by_digest else package.version
    return f"{package.display_source} {version}"


def list_packages(packages: Iterable[LockedPackage]) -> str:
    """Return packages as a list in a sentence, or their number."""
    names = sorted({describe(package) for package in packages})
    return " and ".join(names) if len(names) <= _SHOWN_NAMES else f"{len(names):,} packages"


def retire_command(packages: Iterable[LockedPackage], folders: Iterable[str], *, synced: bool = False) -> str:
    """Return the command that takes packages of some folders one step further."""
    return " ".join(_words(packages, folders, synced=synced))


def retire_advice(
    text: str, packages: Iterable[LockedPackage], folders: Iterable[str], *, synced: bool = False
) -> list[str]:
    """Return the same command as advice; a long one on several lines, as a shell accepts it."""
    words = _words(packages, folders, synced=synced)
    line = f"{text}: {' '.join(words)}"
    if len(line) <= _LONGEST_LINE:
        return [line]
    return [f"{text}:", *[f"  {word} \\" for word in words[:-1]], f"  {words[-1]}"]


def _words(packages: Iterable[LockedPackage], folders: Iterable[str], *, synced: bool) -> list[str]:
    named, names = list(packages), list(folders)
    sources = sorted({str(package.display_source) for package in named})
    where = [shell("-C", as_path(name)) for name in names] if names != ["."] else []
    # The first step was refused without this flag, so the user has agreed; the second step is refused without it, too.
    agreed = any(package.unclaimed and (synced or package.released) for package in named)
    flags = {"--synced": synced, "--delete-objects": agreed}
    return ["xplock retire", *sources, *where, *(flag for flag, given in flags.items() if given)]
