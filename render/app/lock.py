"""Locking folders: each after those that it uses; the locks of one cluster are written together or not at all."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from render.app.lock_outcomes import LockRun
from render.app.reporter import Reporter, report_failures
from render.app.resolving.outcome import Outcome, ReadFolder
from render.commands import xplock
from render.errors import RenderError
from render.folders.members import Member, find_clusters, find_used, in_order, read_members
from render.folders.neighbours import Neighbours, read_neighbours
from render.folders.provided import find_unsuited
from render.folders.sharing import LockedTwice, refuse_shared
from render.folders.users import Users, needed_packages
from render.inputs.projects import read_settings
from render.limits import Limits
from render.lock.model import Lock, State
from render.lock.text.file import read_lock
from render.references import Source
from render.system.boundary import real_path


class Locks(Protocol):
    """What reads a folder, and answers what it asks for: the resolver, or a promotion."""

    @property
    def limits(self) -> Limits: ...
    def read(self, folder: Path) -> ReadFolder: ...
    def answer(self, read: ReadFolder, around: Neighbours) -> Outcome: ...


def lock_folders(resolver: Locks, folders: Sequence[Path], reporter: Reporter) -> LockRun:
    """Resolve every folder; all errors are reported, a single folder's is raised, and nothing is written."""
    run = _Run(resolver, folders, reporter)
    run.read()
    run.resolve()
    return run.result()


class _Run:
    """One run over several folders, by their resolved paths."""

    def __init__(self, resolver: Locks, folders: Sequence[Path], reporter: Reporter) -> None:
        self._resolver = resolver
        self._reporter = reporter
        self._folders: dict[Path, Path] = {}
        for folder in folders:
            self._folders.setdefault(real_path(folder), folder)
        self._read: dict[Path, ReadFolder] = {}
        self._found: dict[Path, Outcome] = {}
        self._failures: dict[Path, RenderError] = {}
        # Folders that wait for one that failed, with that one.
        self._not_tried: dict[Path, Path] = {}
        self._members: dict[Path, Member] = {}
        # The folders that each folder uses, and the folders of this run that use it.
        self._used: dict[Path, set[Path]] = {}
        self._users: dict[Path, list[Path]] = {}

    @cached_property
    def _nearby(self) -> Users:
        return Users(self._resolver.limits, self._folders.values())

    def read(self) -> None:
        """Read the inputs and the lock of every folder, and which folders use which."""
        for path, folder in self._folders.items():
            try:
                self._read[path] = self._resolver.read(folder)
            except RenderError as error:
                self._failures[path] = error
        self._members = self._read_members()
        for path in self._folders:
            self._used[path] = set(find_used(path, self._members))
            for used in self._used[path]:
                self._users.setdefault(used, []).append(path)

    def _read_members(self) -> dict[Path, Member]:
        """Return the folders with those that they use; what one of them uses may not be there."""
        starts = {path: Member(folder, self._uses(path)) for path, folder in self._folders.items()}
        try:
            return read_members(starts, self._resolver.limits)
        except RenderError:
            if len(starts) == 1:
                raise
        for path, start in starts.items():
            try:
                read_members({path: start}, self._resolver.limits)
            except RenderError as error:
                self._failures.setdefault(path, error)
        alone = {
            path: replace(one, uses=()) if path in self._failures else one for path, one in starts.items()
        }
        return read_members(alone, self._resolver.limits)

    def resolve(self) -> None:
        """Resolve every folder after those that it uses."""
        for path in in_order(list(self._folders), self._members):
            missing = [other for other in self._failures if other in self._used[path]]
            if path in self._failures:
                continue
            if missing:
                self._not_tried[path] = missing[0]
                continue
            try:
                self._found[path] = self._resolver.answer(self._read[path], self._around(path))
                self._members[path] = replace(self._members[path], lock=self._found[path].after)
            except RenderError as error:
                self._failures[path] = error

    def result(self) -> LockRun:
        """Return what came of the folders, in the order given; raise if there is one alone, and it failed."""
        self._refuse_shared()
        errors = list(self._failures.values())
        # One error, of a folder alone or of all together, needs no summary.
        if errors and len(errors) == len(self._folders) and all(error is errors[0] for error in errors):
            raise errors[0]
        report_failures(
            {self._folders[path]: error for path, error in self._failures.items()}, self._reporter
        )
        for path, missing in self._not_tried.items():
            self._reporter.say(f"{self._folders[path]} was not tried: it uses {self._folders[missing]}")
        self._hold_back()
        self._warn_users()
        return LockRun(
            tuple(
                replace(self._found[path], needed=self._needed(path))
                for path in self._folders
                if path in self._found
            ),
            tuple(
                (folder, self._failures[path])
                for path, folder in self._folders.items()
                if path in self._failures
            ),
            tuple(self._folders.values()),
        )

    def _refuse_shared(self) -> None:
        """Fail the folders of a cluster that have locked the same package."""
        for paths in self._clusters():
            # Most clusters of a fleet have one folder, which shares nothing.
            if len(paths) == 1:
                continue
            try:
                refuse_shared({path: self._found[path].after for path in paths}, self._members)
            except LockedTwice as error:
                self._failures |= dict.fromkeys(paths, error)

    def _clusters(self) -> list[list[Path]]:
        """Return the resolved folders of each cluster."""
        numbers, groups = find_clusters(self._members), dict[int, list[Path]]()
        for path in self._found:
            groups.setdefault(numbers[path], []).append(path)
        return list(groups.values())

    def _hold_back(self) -> None:
        """Leave out the folders of a cluster in which one failed: their locks may not fit without that one."""
        numbers = find_clusters(self._members)
        failed = {numbers[path]: path for path in reversed(self._failures)}
        for path in [one for one in self._found if numbers[one] in failed]:
            del self._found[path]
            if path not in self._failures:
                other = self._folders[failed[numbers[path]]]
                self._reporter.say(f"{self._folders[path]} stays as it is: it is of one cluster with {other}")

    def _needed(self, path: Path) -> dict[Source, list[str]]:
        """Return what other folders need of this one; only packages that are leaving make it worth looking."""
        outcome = self._found[path]
        if not any(package.state is State.ORPHANED for package in outcome.after.packages.values()):
            return {}
        locks: dict[Path, Lock] = {}
        for user in self._nearby.of(outcome.folder):
            here = self._found.get(user.resolve())
            lock = here.after if here else _read_user(user, self._resolver.limits)
            if lock is not None:
                locks[here.folder if here else user] = lock
        return needed_packages(outcome.folder, locks)

    def _warn_users(self) -> None:
        """Name the folders in reach whose locks no longer hold beside a new lock; only a changed version matters."""
        limits = self._resolver.limits
        changed = {path for path, outcome in self._found.items() if _changes_versions(outcome)}
        users = {real_path(user): user for path in changed for user in self._nearby.of(self._folders[path])}
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
