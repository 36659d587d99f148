"""What Argo CD asks the plugin about, and whether the operator lets a lock be committed there."""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from render.constraints import InvalidConstraint, parse_constraint
from render.errors import Differs
from render.files import LOCK_FILE, InvalidFile, read_plain
from render.git.names import InvalidBranch, check_branch
from render.git.temporary import Token
from render.texts import hides_something
from render.values import dataclass

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_DEFAULT_BRANCH = ("", "HEAD")
_TOKEN_BYTES = 64 * 1024


class Declined(Differs):
    """A lock that is not committed from here; the reason is a line for people."""


@dataclass(frozen=True, slots=True)
class Request:
    """One Application's source: a commit of a repository, and a folder in it."""

    url: str
    commit: str
    # Nothing stands for the branch that the repository itself prefers.
    branch: str
    # The folder's path from the root: nothing, or with a slash at its end.
    prefix: str

    @property
    def path(self) -> str:
        """The lock's path from the root."""
        return self.prefix + LOCK_FILE


def read_request(environ: Mapping[str, str]) -> Request:
    """Read what Argo CD says about the source; a commit on a branch has to be meant."""
    commit = environ.get("ARGOCD_APP_REVISION", "")
    if not _COMMIT.fullmatch(commit):
        raise Declined(f"no lock is committed for revision {commit!r}, which is not a commit")
    target = environ.get("ARGOCD_APP_SOURCE_TARGET_REVISION", "")
    return Request(
        environ.get("ARGOCD_APP_SOURCE_REPO_URL", ""),
        commit,
        "" if target in _DEFAULT_BRANCH else _parse_branch(target),
        _parse_prefix(environ.get("ARGOCD_APP_SOURCE_PATH", "")),
    )


def require_listed(environ: Mapping[str, str], url: str, branch: str | None = None) -> None:
    """Refuse a repository, or a branch of it, that the operator did not list."""
    listed = [pattern.strip().partition("#") for pattern in environ.get("XPLOCK_COMMIT_TO", "").split(",")]
    for url_pattern, _, branch_pattern in listed:
        if _matches(url_pattern, url) and (_matches(branch_pattern, branch) if branch else branch_pattern):
            return
    raise Declined(
        f"no lock is committed to {url}{f'#{branch}' if branch else ''}: XPLOCK_COMMIT_TO does not list it"
    )


def read_token(environ: Mapping[str, str], url: str) -> Token | None:
    """Return the operator's token; where it is not for, git's own configuration lets us in."""
    name = environ.get("XPLOCK_GIT_TOKEN_FILE", "")
    if not name or not url.startswith("https://"):
        return None
    try:
        # Kubernetes mounts a secret as a link to a link.
        text = (read_plain(Path(name).resolve(), _TOKEN_BYTES) or b"").decode().strip()
    except (InvalidFile, ValueError):
        text = ""
    if not text or hides_something(text):
        raise Declined("the file that XPLOCK_GIT_TOKEN_FILE names holds no token")
    return Token(text)


def _parse_branch(target: str) -> str:
    """Return a branch's name; what Argo CD takes for a commit or a range is none, even if a branch is named so."""
    if not _COMMIT.fullmatch(target) and not _is_range(target):
        try:
            return check_branch(target)
        except InvalidBranch:
            pass
    raise Declined(f"no lock is committed for target revision {target!r}, which is not a branch")


def _is_range(target: str) -> bool:
    try:
        parse_constraint(target)
    except InvalidConstraint:
        return False
    return True


def _parse_prefix(path: str) -> str:
    plain = posixpath.normpath(path or ".")
    if plain.startswith(("/", "../")) or plain == ".." or hides_something(plain):
        raise Declined(f"no lock is committed for path {path!r}, which is not in the repository")
    return "" if plain == "." else f"{plain}/"


def _matches(pattern: str, text: str) -> bool:
    """Tell whether a text is meant; a star stands for anything between two slashes."""
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch("[^/]*".join(parts), text) is not None
