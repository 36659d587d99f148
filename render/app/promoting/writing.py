"""Writing what was promoted: the edited manifests, then the locks; if it cannot be committed, all is put back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from render.app.lock_outcomes import LockRun
from render.app.promoting.promote import Promoter
from render.system.files import LOCK_FILE, is_there, remove_file, replace_file

if TYPE_CHECKING:
    from render.app.commits.committer import Committer, Planned


def write_promotion(
    job: Promoter, done: LockRun, committer: "Committer | None" = None
) -> "Sequence[Planned]":
    """Write the files of every folder that did not fail; with a committer, return the commits of them."""
    paths = [one.folder / name for one in done.outcomes for name in (*job.files[one.folder], LOCK_FILE)]
    with _put_back_on_failure(paths):
        for one in done.outcomes:
            job.write_files(one.folder)
        done.write(job.limits)
        return committer.plan(done.texts(), dry_run=False) if committer else ()


@contextmanager
def _put_back_on_failure(paths: Sequence[Path]) -> Iterator[None]:
    before = {path: path.read_bytes() if is_there(path) else None for path in paths}
    try:
        yield
    except BaseException:
        for path, data in before.items():
            if data is not None:
                replace_file(path, data)
            elif is_there(path):
                remove_file(path)
        raise
