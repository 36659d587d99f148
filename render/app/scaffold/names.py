"""The name of an Application: one that no other folder of the repository has, since they may share one Argo CD."""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

from render.errors import RenderError
from render.limits import Limits
from render.names import dns_label
from render.system.boundary import real_path
from render.system.files import is_file, read_plain
from render.yaml.documents import file_rules, parse_documents

APPLICATION = "argocd/application.yaml"
# The longest name of a CronJob, the shortest limit of all jobs.
_LONGEST_JOB = 52
# A search for folders stays cheap in any repository.
_MOST_FOLDERS = 5_000
_DIGITS, _BEFORE_DIGITS = 8, 36


def job_name(application: str) -> str:
    """Return the name of a folder's CronJob, and of its job in CI."""
    return f"xplock-{application}"[:_LONGEST_JOB].rstrip("-")


def find_others(top: Path, folder: Path, limits: Limits) -> dict[str, Path]:
    """Return the names of the Applications that other folders of a repository have, each with its file."""
    own = real_path(folder / APPLICATION)
    found: dict[str, Path] = {}
    for path in _applications(top):
        name = read_name(path, limits)
        if name is not None and real_path(path) != own:
            found.setdefault(name, path)
    return found


def read_name(path: Path, limits: Limits) -> str | None:
    """Return the name of the Application in a file, if there is one."""
    try:
        documents = parse_documents(read_plain(path, limits.file_bytes) or b"", file_rules(limits))
    except (OSError, RenderError):
        return None
    metadata = documents[0].get("metadata") if documents and isinstance(documents[0], dict) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else None


def find_same(name: str, others: Mapping[str, Path]) -> Path | None:
    """Return the file of another Application with this name, or with the same job."""
    return next((path for other, path in others.items() if job_name(other) == job_name(name)), None)


def choose_name(folder_name: str, path: str, others: Collection[str]) -> str | None:
    """Return the folder's name, or with as many folders above it as make it different; None if it has no letters."""
    parts = [folder_name] if path == "." else PurePosixPath(path).parts
    jobs = {job_name(other) for other in others}
    names = [dns_label("-".join(parts[start:]).lower()) for start in reversed(range(len(parts)))]
    for name in names:
        if name and job_name(name) not in jobs:
            return name
    if not names[0]:
        return None
    digest = hashlib.sha256(path.encode()).hexdigest()[:_DIGITS]
    return dns_label(f"{names[0][:_BEFORE_DIGITS]}-{digest}")


def _applications(top: Path) -> Iterator[Path]:
    for number, (place, below, _) in enumerate(os.walk(top)):
        if number >= _MOST_FOLDERS:
            return
        below[:] = sorted(name for name in below if not name.startswith("."))
        if is_file(Path(place) / APPLICATION):
            yield Path(place) / APPLICATION
