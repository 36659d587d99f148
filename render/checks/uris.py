"""Files as programs of others look for them: from the current folder, which is that of the repository."""

import os
from pathlib import Path
from urllib.parse import quote


def relative_path(file: Path) -> str:
    """Return a file as seen from the current folder."""
    return Path(os.path.relpath(file)).as_posix()


def relative_uri(file: Path) -> str:
    """Return the same as part of a URI."""
    return quote(relative_path(file), errors="surrogateescape")
