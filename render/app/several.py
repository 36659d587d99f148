"""Several folders in one call: those that are used are locked first, and whoever uses them sees what they will be."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from render.app.reporter import Reporter
from render.app.resolving import Asked, Outcome, Resolver
from render.errors import RenderError
from render.folders.members import Member, find_used, in_order, read_members
from render.folders.neighbours import Neighbours, read_neighbours
from render.folders.sharing import refuse_shared


class SeveralFailed(RenderError):
    """Folders that failed; each of their errors was shown already."""

    def __init__(self, failures: Sequence[RenderError], folders: int) -> None:
        super().__init__(
            f"{len(failures)} of {folders} folders could not be locked",
            why="with several folders all locks are written, or none",
            next="correct the errors above",
        )
        self.exit_code = max(error.exit_code for error in failures)


def resolve_folders(resolver: Resolver, folders: Sequence[Path], reporter: Reporter) -> list[Outcome]:
    """Resolve every folder; whatever fails, all of it is told before anything is written."""
    call = _Call(resolver, folders, reporter)
    call.read()
    call.resolve()
    return call.outcomes()


class _Call:
    """The folders of one call, by where they really are."""

    def __init__(self, resolver: Resolver, folders: Sequence[Path], reporter: Reporter) -> None:
        self._resolver = resolver
        self._reporter = reporter
        self._folders: dict[Path, Path] = {}
        for folder in folders:
            self._folders.setdefault(folder.resolve(), folder)
        self._asked: dict[Path, Asked] = {}
        self._found: dict[Path, Outcome] = {}
        self._failures: dict[Path, RenderError] = {}
        self._members: dict[Path, Member] = {}
        # All that each folder uses, and who in this call uses it.
        self._used: dict[Path, set[Path]] = {}
        self._users: dict[Path, list[Path]] = {}

    def read(self) -> None:
        """Read what every folder asks for and has locked, and how they are connected."""
        for path, folder in self._folders.items():
            try:
                self._asked[path] = self._resolver.read(folder)
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
                self._found[path] = self._resolver.answer(self._asked[path], self._around(path))
                self._members[path] = replace(self._members[path], lock=self._found[path].after)
            except RenderError as error:
                self._fail(path, error)

    def outcomes(self) -> list[Outcome]:
        """Return what was found, in the order of the call; or raise what failed."""
        failures = list(self._failures.values())
        if failures:
            raise failures[0] if len(self._folders) == 1 else SeveralFailed(failures, len(self._folders))
        refuse_shared({path: outcome.after for path, outcome in self._found.items()}, self._members)
        return [self._found[path] for path in self._folders]

    def _uses(self, path: Path) -> Sequence[tuple[str, Path]]:
        return self._asked[path].inputs.settings.uses if path in self._asked else ()

    def _around(self, path: Path) -> Neighbours:
        around = read_neighbours(self._folders[path], self._uses(path), self._resolver.limits, self._members)
        users = [
            (str(self._folders[user]), self._asked[user].current.lock)
            for user in self._users.get(path, ())
            if user in self._asked
        ]
        return replace(around, users=tuple(users))

    def _fail(self, path: Path, error: RenderError) -> None:
        self._failures[path] = error
        if len(self._folders) > 1:
            self._reporter.say(f"in {self._folders[path]}:")
            self._reporter.error(error)
