"""xplock diff: what differs between two locks, or between a lock and a cluster."""

import os
import sys
from pathlib import Path

import click

from render.cli.options import output_option
from render.cli.output import Output
from render.errors import Differs, InvalidInput
from render.limits import LimitExceeded, Limits
from render.live.diff import diff_live
from render.live.lock import LiveLock, parse_live_lock
from render.lock.diff import LockDiff, diff_locks
from render.lock.file import read_lock
from render.lock.model import Lock
from render.lock.parse import parse_lock
from render.system.files import LOCK_FILE, is_file, is_folder, read_plain
from render.versions import Version, parse_version
from render.views.diff import diff_document, format_diff, format_markdown

_STDIN = "-"


def _parse_crossplane(_context: click.Context, _option: click.Parameter, text: str | None) -> Version | None:
    return parse_version(text) if text else None


@click.command(
    epilog="Examples: xplock diff main; xplock diff old.yaml new.yaml -o markdown; "
    "kubectl get lock lock -o yaml | xplock diff -"
)
@click.argument("old", metavar="[A]", default="HEAD")
@click.argument("new", metavar="[B]", required=False)
@click.option(
    "-C",
    "--dir",
    "folder",
    default=Path(),
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The project folder whose lock is meant.",
)
@click.option("--exit-code", is_flag=True, help="Exit 3 if there is a difference.")
@click.option(
    "--crossplane-version",
    "crossplane",
    callback=_parse_crossplane,
    metavar="VERSION",
    help="The cluster's Crossplane; below v2.4 the names of revisions are compared too.",
)
@output_option("text", "json", "markdown")
@click.pass_obj
def diff(
    output: Output,
    old: str,
    new: str | None,
    folder: Path,
    exit_code: bool,
    crossplane: Version | None,
    form: str,
) -> None:
    """Show what changed from A to B.

    Each is a lock file, a folder with one, or a Git revision; A may be - for a cluster's Lock on stdin. Without B it
    is the lock in the folder; without A the one of the last commit.
    """
    if new == _STDIN:
        raise InvalidInput(
            "a cluster's Lock is what is compared with, and comes first",
            why="what a folder asks for is where the cluster is going",
            next=f"write: xplock diff - {'' if old == _STDIN else old}".rstrip(),
        )
    reader = _Reader(folder, Limits.from_environment(os.environ))
    before = reader.read_live() if old == _STDIN else reader.read(old)
    found = _compare(before, reader.read(new or str(folder)), crossplane)
    if form == "json":
        output.result_json(diff_document(found))
    else:
        output.result(format_markdown(found) if form == "markdown" else format_diff(found))
    if exit_code and not found.equal:
        raise Differs(f"{old} and {new or folder / LOCK_FILE} differ")


def _compare(old: Lock | LiveLock, new: Lock, crossplane: Version | None) -> LockDiff:
    return diff_live(new, old, crossplane) if isinstance(old, LiveLock) else diff_locks(old, new)


class _Reader:
    """Finds the lock that an argument means."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits

    def read_live(self) -> LiveLock:
        """Read a cluster's Lock from stdin."""
        return parse_live_lock(sys.stdin.buffer.read(self._limits.lock_bytes + 1), self._limits)

    def read(self, text: str) -> Lock:
        """Read a file, a folder's lock, or one out of Git."""
        path = Path(text)
        if is_folder(path):
            return read_lock(path, self._limits) or Lock()
        if is_file(path):
            return self._read_file(path)
        return self._read_revision(text)

    def _read_file(self, path: Path) -> Lock:
        data = read_plain(path, self._limits.lock_bytes)
        if data is None:
            raise LimitExceeded(f"{path} is too large", "lock_bytes", self._limits)
        return parse_lock(data, self._limits, place=str(path))

    def _read_revision(self, revision: str) -> Lock:
        # GitPython is for those who need it.
        from render.git.revisions import read_at

        data = read_at(self._folder, revision, LOCK_FILE, limits=self._limits)
        # Not there yet at that revision: then everything is new.
        return parse_lock(data, self._limits, place=f"{revision}:{LOCK_FILE}") if data is not None else Lock()
