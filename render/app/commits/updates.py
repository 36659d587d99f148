"""A branch for updates: where its next commit starts, and whose commits it has."""

from collections.abc import Sequence
from dataclasses import dataclass

from render.errors import Differs
from render.git.objects import changed_paths
from render.git.remotes import Remote
from render.git.repository import Repository
from render.git.revisions import LoggedCommit, is_ancestor, list_commits
from render.git.snapshots import Snapshot
from render.git.trailers import parse_trailers
from render.texts import first_lines, visible
from render.views.commits.committed import delete_command

_SHOWN = 5
_SHOWN_DIGITS = 12


class BranchOfOthers(Differs):
    """A branch that would have to be rewritten, and has changes that xplock did not make."""

    def __init__(self, branch: str, why: Sequence[str], remote: Remote | None, folder: str) -> None:
        super().__init__(
            f"branch {branch} cannot start again from its base: it has changes of others",
            why=first_lines(list(why), _SHOWN),
            next=[
                "bring it up to date yourself (git rebase or git merge), or name another branch: --branch NAME",
                f"if these changes are not needed, delete the branch: {delete_command(branch, remote, folder)}",
            ],
        )


@dataclass(frozen=True, slots=True)
class UpdateBranch:
    """A branch, the commit that it is compared with, and its commits here and on the server."""

    repository: Repository
    name: str
    base: str | None
    tips: Sequence[str]
    remote: Remote | None

    def others(self, tip: str) -> list[str]:
        """Return the commits that xplock did not make, the newest first, each in a line."""
        return [_shown(commit) for commit in self._on_top(tip) if not _is_ours(commit)]

    def find_start(self) -> tuple[str | None, Sequence[str]]:
        """Return the parent of the next commit: the base, unless others have commits on the branch, which follow."""
        others = {tip: found for tip in self.tips if (found := self.others(tip))}
        if not others:
            return self.base, ()
        newest = [tip for tip in others if all(self._has(tip, other) for other in others)]
        if not newest or not self._has(newest[0], self.base):
            raise BranchOfOthers(
                self.name, others[(newest or list(others))[0]], self.remote, str(self.repository.root)
            )
        return newest[0], others[newest[0]]

    def require_only_locks(self, planned: Snapshot) -> None:
        """Raise if the branch has changes, besides locks, that the commit in its place would not have."""
        for tip in self.tips:
            commits = self._on_top(tip)
            if commits:
                locks = {path for one in commits for path in _locks_of(one)}
                first = next(iter(commits[-1].parents), None)
                there = Snapshot(self.repository, tip)
                changed = sorted(changed_paths(self.repository, first, tip) - locks)
                lost = [path for path in changed if there.read(path) != planned.read(path)]
                if lost:
                    lines = [f"{path} was changed there, and is no lock" for path in lost]
                    raise BranchOfOthers(self.name, lines, self.remote, str(self.repository.root))

    def is_left_over(self) -> bool:
        """Return whether the branch has commits that its base does not have."""
        return any(not self._has(self.base, tip) for tip in self.tips)

    def _has(self, commit: str | None, other: str | None) -> bool:
        return other is None or (commit is not None and is_ancestor(self.repository, other, commit))

    def _on_top(self, tip: str) -> list[LoggedCommit]:
        found: list[LoggedCommit] = []
        for commit in list_commits(self.repository, self.base, tip):
            found.append(commit)
            trailers = parse_trailers(commit.message)
            # In a shallow clone, the history of the base seems to belong to the branch.
            if trailers is not None and commit.parents == (trailers.base,):
                break
        return found


def _is_ours(commit: LoggedCommit) -> bool:
    return len(commit.parents) <= 1 and parse_trailers(commit.message) is not None


def _locks_of(commit: LoggedCommit) -> Sequence[str]:
    trailers = parse_trailers(commit.message)
    return list(trailers.inputs) if trailers else []


def _shown(commit: LoggedCommit) -> str:
    return f"{commit.id[:_SHOWN_DIGITS]} {visible(commit.subject)} ({visible(commit.author)})"
