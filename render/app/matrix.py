"""The locks of several folders side by side: one row for each source, one column for each folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from render.app.reporter import Reporter, report_failures
from render.errors import RenderError
from render.limits import Limits
from render.lock.fleets import Standing, standing_of, wanted_of
from render.lock.freshness import StaleLock, check_closure, require_lock
from render.lock.model import Lock, LockedPackage
from render.lock.text.file import read_lock_bytes
from render.lock.text.parse import parse_lock
from render.references import Source
from render.system.files import LOCK_FILE


@dataclass(frozen=True, slots=True)
class Matrix:
    """The packages of several folders, and how they stand beside those of one of them."""

    reference: Path
    # In the order of the call, the reference first.
    folders: tuple[Path, ...]
    # Sorted by source; a folder that does not have a package has no entry.
    rows: Mapping[Source, Mapping[Path, LockedPackage]]
    failures: Mapping[Path, RenderError] = field(default_factory=dict)

    def standing(self, source: Source, folder: Path) -> Standing | None:
        """Return how a folder stands beside the reference; None, if one of them does not have the package."""
        row = self.rows[source]
        if folder not in row or self.reference not in row:
            return None
        return standing_of(row[folder], row[self.reference])

    def differing(self) -> list[Source]:
        """Return the sources that not all folders have alike."""
        return [
            source
            for source in self.rows
            if any(self.standing(source, folder) is not Standing.EQUAL for folder in self.folders)
        ]

    def behind(self) -> dict[Path, int]:
        """Return the folders that lack something of the reference, with the number of packages."""
        counts = {
            folder: sum(one.lacks_something for source in self.rows if (one := self.standing(source, folder)))
            for folder in self.folders
        }
        return {folder: count for folder, count in counts.items() if count}


def make_matrix(
    folders: Sequence[Path], reference: Path | None, limits: Limits, reporter: Reporter
) -> Matrix:
    """Read the locks of folders; a folder without a usable lock is reported, and has no column."""
    first = reference if reference is not None else folders[0]
    known: dict[bytes, Lock] = {}
    locks: dict[Path, Lock] = {}
    failures: dict[Path, RenderError] = {}
    for folder in dict.fromkeys([first, *folders]):
        try:
            locks[folder] = _read(folder, limits, known)
        except RenderError as error:
            # Without it, there is nothing to compare with.
            if folder == first:
                raise
            failures[folder] = error
    report_failures(failures, reporter)
    wanted = {folder: wanted_of(lock) for folder, lock in locks.items()}
    sources = sorted({source for packages in wanted.values() for source in packages}, key=str)
    rows = {
        source: {folder: packages[source] for folder, packages in wanted.items() if source in packages}
        for source in sources
    }
    return Matrix(first, tuple(locks), rows, failures)


def _read(folder: Path, limits: Limits, known: dict[bytes, Lock]) -> Lock:
    """Read a lock that does not contradict itself; many folders have the same bytes."""
    data = read_lock_bytes(folder, limits)
    if data is None:
        return require_lock(folder, limits)
    if data not in known:
        lock = parse_lock(data, limits, place=str(folder / LOCK_FILE))
        problems = check_closure(lock)
        if problems:
            raise StaleLock(str(folder / LOCK_FILE), problems)
        known[data] = lock
    return known[data]
