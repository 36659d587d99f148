"""Locking folders: a folder is resolved after those that it uses, and all locks are written or none."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from render.app.reporter import Reporter
from render.app.resolver import Outcome, ReadFolder, Resolver
from render.commands import LockCall, xplock
from render.errors import Differs, RenderError, Unsatisfiable
from render.folders.members import Member, find_used, in_order, read_members
from render.folders.neighbours import Neighbours, read_neighbours
from render.folders.provided import find_unsuited
from render.folders.sharing import refuse_shared
from render.folders.users import find_users, needed_packages
from render.inputs.projects import read_settings
from render.limits import Limits
from render.lock.model import Lock, State
from render.lock.text.file import read_lock, write_lock
from render.references import Source
from render.system.boundary import real_path
from render.system.files import LOCK_FILE
from render.texts import counted, first_lines

# How many contradictions an error lists.
_SHOWN = 20


class SeveralFailed(RenderError):
    """Several folders failed; their errors were reported before."""

    def __init__(self, failures: Sequence[RenderError], folders: int) -> None:
        super().__init__(
            f"{len(failures)} of {folders} folders could not be locked",
            why="with several folders all locks are written, or none",
            next="correct the errors above",
        )
        self.exit_code = max(error.exit_code for error in failures)


class CheckFailed(RenderError):
    """Some of several folders could not be resolved; their errors were reported before."""

    def __init__(self, failures: Sequence[RenderError], outcomes: Sequence[Outcome], folders: int) -> None:
        changed = [outcome for outcome in outcomes if outcome.changes]
        others = f", and {_would_change(changed, folders)}" if changed else ""
        super().__init__(
            f"{len(failures)} of {folders} folders could not be resolved{others}",
            why=_lock_files(changed) or "the locks of the others would not change",
            next="correct the errors above",
        )
        codes = [error.exit_code for error in failures]
        self.exit_code = max([*codes, Differs.exit_code] if changed else codes)


def lock_folders(
    resolver: Resolver, folders: Sequence[Path], reporter: Reporter, *, check: bool = False
) -> list[Outcome]:
    """Resolve every folder; all errors are reported, and nothing is written."""
    run = _Run(resolver, folders, reporter)
    run.read()
    run.resolve()
    return run.outcomes(check=check)


def write_locks(outcomes: Sequence[Outcome], limits: Limits) -> None:
    """Write the locks that change."""
    for outcome in outcomes:
        if outcome.changes:
            write_lock(outcome.folder, outcome.text.decode(), limits=limits)


def lock_texts(outcomes: Sequence[Outcome]) -> dict[Path, bytes]:
    """Return the new text of every folder's lock; one that does not change stays byte for byte."""
    return {one.folder: one.text for one in outcomes}


def require_unchanged(outcomes: Sequence[Outcome], call: LockCall) -> None:
    """Raise if a lock would change, which is worse if its packages no longer accept what other folders provide."""
    changed = [outcome for outcome in outcomes if outcome.changes]
    if not changed:
        return
    would_change = _would_change(changed, len(outcomes))
    advice = f"run `{call.again()}` and commit what it writes"
    unsuited = [line for outcome in changed for line in outcome.unsuited]
    if unsuited:
        what = f"{would_change}, and what they say does not hold any more"
        raise Unsatisfiable(what, why=first_lines(unsuited, _SHOWN), next=advice)
    raise Differs(would_change, why=_lock_files(changed), next=advice)


def _would_change(changed: Sequence[Outcome], folders: int) -> str:
    return f"{len(changed)} of {counted(folders, 'lock')} would change"


def _lock_files(outcomes: Sequence[Outcome]) -> list[str]:
    return [str(one.folder / LOCK_FILE) for one in outcomes]


class _Run:
    """One run over several folders, by their resolved paths."""

    def __init__(self, resolver: Resolver, folders: Sequence[Path], reporter: Reporter) -> None:
        self._resolver = resolver
        self._reporter = reporter
        self._folders: dict[Path, Path] = {}
        for folder in folders:
            self._folders.setdefault(real_path(folder), folder)
        self._read: dict[Path, ReadFolder] = {}
        self._found: dict[Path, Outcome] = {}
        self._failures: dict[Path, RenderError] = {}
        self._members: dict[Path, Member] = {}
        # The folders that each folder uses, and the folders of this run that use it.
        self._used: dict[Path, set[Path]] = {}
        self._users: dict[Path, list[Path]] = {}

    def read(self) -> None:
        """Read the inputs and the lock of every folder, and which folders use which."""
        for path, folder in self._folders.items():
            try:
                self._read[path] = self._resolver.read(folder)
            except RenderError as error:
                self._fail(path, error)
        starts = {path: Member(folder, self._uses(path)) for path, folder in self._folders.items()}
        self._members = read_members(starts, self._resolver.limits)
        for path in self._folders:
            self._used[path] = set(find_used(path, self._members))
            for used in self._used[path]:
                self._users.setdefault(used, []).append(path)

    def resolve(self) -> None:
        """Resolve every folder after those that it uses."""
        for path in in_order(list(self._folders), self._members):
            missing = [other for other in self._failures if other in self._used[path]]
            if path in self._failures:
                continue
            if missing:
                self._reporter.say(
                    f"{self._folders[path]} was not tried: it uses {self._folders[missing[0]]}"
                )
                continue
            try:
                self._found[path] = self._resolver.answer(self._read[path], self._around(path))
                self._members[path] = replace(self._members[path], lock=self._found[path].after)
            except RenderError as error:
                self._fail(path, error)

    def outcomes(self, *, check: bool) -> list[Outcome]:
        """Return the outcomes in the order given; raise if a folder failed."""
        failures, folders = list(self._failures.values()), len(self._folders)
        if failures and folders == 1:
            raise failures[0]
        if failures:
            found = [self._found[path] for path in self._folders if path in self._found]
            raise CheckFailed(failures, found, folders) if check else SeveralFailed(failures, folders)
        refuse_shared({path: outcome.after for path, outcome in self._found.items()}, self._members)
        self._warn_users()
        return [replace(self._found[path], needed=self._needed(path)) for path in self._folders]

    def _needed(self, path: Path) -> dict[Source, list[str]]:
        """Return what other folders need of this one; only packages that are leaving make it worth looking."""
        outcome = self._found[path]
        if not any(package.state is State.ORPHANED for package in outcome.after.packages.values()):
            return {}
        locks: dict[Path, Lock] = {}
        for user in find_users(outcome.folder, self._resolver.limits, self._folders.values()):
            here = self._found.get(user.resolve())
            lock = here.after if here else _read_user(user, self._resolver.limits)
            if lock is not None:
                locks[here.folder if here else user] = lock
        return needed_packages(outcome.folder, locks)

    def _warn_users(self) -> None:
        """Name the folders in reach whose locks no longer hold beside a new lock; only a changed version matters."""
        limits = self._resolver.limits
        changed = {path for path, outcome in self._found.items() if _changes_versions(outcome)}
        users = {
            real_path(user): user
            for path in changed
            for user in find_users(self._folders[path], limits, self._folders.values())
        }
        members = {
            path: replace(one, lock=self._found[path].after)
            for path, one in self._members.items()
            if path in self._found
        }
        for path, user in users.items():
            if path not in self._folders:
                for line in _unsuited(user, limits, dict(members)):
                    advice = f"run: {xplock('lock', folder=user)}"
                    self._reporter.warn(f"the lock of {user} no longer holds: {line}; {advice}")

    def _uses(self, path: Path) -> Sequence[tuple[str, Path]]:
        return self._read[path].inputs.settings.uses if path in self._read else ()

    def _around(self, path: Path) -> Neighbours:
        around = read_neighbours(self._folders[path], self._uses(path), self._resolver.limits, self._members)
        users = [
            (str(self._folders[user]), self._read[user].current.lock)
            for user in self._users.get(path, ())
            if user in self._read
        ]
        return replace(around, using=tuple(users))

    def _fail(self, path: Path, error: RenderError) -> None:
        self._failures[path] = error
        if len(self._folders) > 1:
            self._reporter.say(f"in {self._folders[path]}:")
            self._reporter.error(error)


def _changes_versions(outcome: Outcome) -> bool:
    after = outcome.after.packages
    return any(s not in after or after[s].version != p.version for s, p in outcome.before.packages.items())


def _unsuited(user: Path, limits: Limits, members: dict[Path, Member]) -> list[str]:
    """Return what the lock of a using folder no longer accepts."""
    try:
        lock = read_lock(user, limits)
        around = read_neighbours(user, read_settings(user, limits).uses, limits, members)
    except RenderError:
        # Such a folder has its own error when it is locked.
        return []
    return find_unsuited(lock, around) if lock else []


def _read_user(folder: Path, limits: Limits) -> Lock | None:
    try:
        return read_lock(folder, limits)
    except RenderError:
        # Only the report needs it; `retire` refuses while it cannot be read.
        return None
