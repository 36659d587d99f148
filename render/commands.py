"""Commands to paste, as advice names them: every word is quoted for a shell."""

from pathlib import PurePath

from render.lean import dataclass, replace


def shell(*words: str | PurePath) -> str:
    """Return a command; a word that the shell would split, expand or read as a comment is quoted."""
    # Imported late: only advice needs it, and every command imports this file.
    from shlex import join

    return join(map(str, words))


def xplock(*words: str | PurePath, folder: str | PurePath = ".", option: str = "") -> str:
    """Return a command of xplock for a folder, which is its last word or the value of an option.

    The current folder is what a command uses anyway, so it is left out.
    """
    where = [] if str(folder) == "." else [option, as_path(folder)] if option else [as_path(folder)]
    return shell("xplock", *words, *where)


def git(*words: str | PurePath, folder: str | PurePath = ".") -> str:
    """Return a command of git for the repository of a folder: the current folder may be in none, or in another one."""
    where = [] if str(folder) == "." else ["-C", folder]
    return shell("git", *where, *words)


def as_path(path: str | PurePath) -> str:
    """Return a path as a word of a command; one that starts with a dash would be read as an option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text


@dataclass(frozen=True, slots=True)
class LockCall:
    """A call of `xplock lock`, which advice repeats with another option."""

    folders: tuple[str, ...] = (".",)
    # The values of -P.
    upgrades: tuple[str, ...] = ()
    # All other options, as they were written.
    options: tuple[str, ...] = ()

    def again(self, *options: str) -> str:
        """Return the command of this call, with more options."""
        upgrades = [word for upgrade in self.upgrades for word in ("-P", upgrade)]
        folders = () if self.folders == (".",) else map(as_path, self.folders)
        return shell("xplock", "lock", *self.options, *upgrades, *options, *folders)

    def plain(self) -> str:
        """Return the command that upgrades nothing."""
        kept = tuple([option for option in self.options if option != "-U"])
        return replace(self, upgrades=(), options=kept).again()

    def of(self, *folders: str) -> "LockCall":
        """Return the same call for other folders, each once."""
        return replace(self, folders=tuple(dict.fromkeys(folders)))

    def upgrading(self, source: str, version: str = "") -> str:
        """Return the command that gives a package this version, or its newest one, instead of any other."""
        return self.with_upgrade(source, version).again()

    def with_upgrade(self, source: str, version: str = "") -> "LockCall":
        """Return the call that gives a package this version, or its newest one, instead of any other."""
        wanted = f"{source}={version}" if version else source
        others = self.without_upgrade(source)
        return replace(others, upgrades=(*others.upgrades, wanted))

    def without_upgrade(self, source: str) -> "LockCall":
        """Return the call that leaves a package as it is."""
        others = [text for text in self.upgrades if not f"/{source}".endswith(f"/{text.partition('=')[0]}")]
        return replace(self, upgrades=tuple(others))
