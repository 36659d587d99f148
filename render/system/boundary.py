"""The boundary of a repository whose author is not trusted: the paths that its files name must stay inside."""

import os
from pathlib import Path

from render.lean import dataclass


@dataclass(frozen=True, slots=True)
class Boundary:
    """A folder that no path may leave, by its real path."""

    folder: Path

    @classmethod
    def around(cls, folder: Path) -> "Boundary":
        """Return the boundary at a folder."""
        return cls(real_path(folder))

    def includes(self, path: Path) -> bool:
        """Return whether a path is inside, with all its links followed."""
        # The text comes first: a path outside is not even looked at, so that nothing can be learned about it.
        written = Path(os.path.normpath(Path.cwd() / path))
        return self._holds(written) and self._holds(real_path(written))

    def _holds(self, path: Path) -> bool:
        return path.is_relative_to(self.folder)


def real_path(path: Path) -> Path:
    """Return a path with all its links followed; the rest of a path that does not exist stays as it is."""
    # Path.resolve raises RuntimeError for links in a circle, up to Python 3.12.
    return Path(os.path.realpath(path))
