"""Finds locks in kustomizations: of a folder, of its bases, and of the folders above it."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from render.checks.model import Listing
from render.errors import RenderError
from render.inputs.folders import is_repository, list_kustomizations
from render.lean import TypeAlias, replace
from render.limits import Limits
from render.system.files import LOCK_FILE, is_folder

# An entry of a kustomization, and the file or folder that it names.
_Entry: TypeAlias = tuple[Listing, Path]


class Listings:
    """Finds entries that are locks; reads every folder once, since the folders of a call share their parents."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._entries: dict[Path, tuple[_Entry, ...]] = {}

    def find(self, folder: Path, here: Path) -> tuple[Listing, ...]:
        """Return the entries that name the lock of a folder or of its bases; `here` is the folder without links."""
        own = here / LOCK_FILE
        built = [entry for path in self._walk(here) for entry in self._read(path)]
        above = [entry for path in _above(here) for entry in self._read(path) if entry[1] == own]
        # A folder above can also be a base.
        listed = dict.fromkeys(listing for listing, target in [*built, *above] if target.name == LOCK_FILE)
        return tuple(_as_named(listing, folder, here) for listing in listed)

    def _walk(self, here: Path) -> Iterator[Path]:
        """Yield a folder and its bases, up to the limit, which reading the folder enforces with an error."""
        waiting, seen = [here], {here}
        while waiting and len(seen) <= self._limits.kustomizations:
            path = waiting.pop()
            yield path
            bases = {target for _, target in self._read(path) if is_folder(target)} - seen
            waiting.extend(sorted(bases))
            seen |= bases

    def _read(self, folder: Path) -> tuple[_Entry, ...]:
        if folder not in self._entries:
            self._entries[folder] = tuple(_read_entries(folder, self._limits))
        return self._entries[folder]


def _above(here: Path) -> Sequence[Path]:
    """Return the folders above one, up to the root of its repository; none, if there is no repository."""
    chain = (here, *here.parents)
    top = next((i for i, path in enumerate(chain) if is_repository(path)), 0)
    return chain[1 : top + 1]


def _as_named(listing: Listing, folder: Path, here: Path) -> Listing:
    """Return the entry with the path of its file as the user would write it."""
    way = os.path.relpath(listing.kustomization, here)
    return replace(listing, kustomization=Path(os.path.normpath(folder / way)))


def _read_entries(folder: Path, limits: Limits) -> Iterator[_Entry]:
    try:
        files = list_kustomizations(folder)
        if len(files) != 1:
            return
        # Imported late: most folders have no kustomization.
        from render.inputs.kustomizations.checks import read_paths

        paths = read_paths(files[0], limits)
    except RenderError:
        # Reading the folder reports the same error.
        return
    for key, text in paths:
        yield Listing(files[0], key, text), Path(os.path.normpath(folder / text))
