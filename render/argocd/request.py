"""The Application that Argo CD renders, and whether the operator allows to commit its lock."""

import posixpath
import re
from collections.abc import Mapping

from render.errors import Differs
from render.git.credentials import InvalidAuthoritiesFile, InvalidTokenFile, Token
from render.git.credentials import read_authorities as read_git_authorities
from render.git.credentials import read_token as read_git_token
from render.git.names import InvalidBranch, check_branch
from render.lean import dataclass
from render.limits import Limits
from render.system.files import LOCK_FILE
from render.texts import hides_something
from render.versions.constraints import InvalidConstraint, parse_constraint

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEADS = "refs/heads/"
_DEFAULT_BRANCH = ("", "HEAD")
# Spellings that git or its server resolve to another path: an encoded slash, dots, two slashes in a row.
_DETOUR = re.compile(r"[%\\]|/\.{0,2}(?:/|$)|:\.\.?(?:/|$)")


class Declined(Differs):
    """The lock is not committed; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class Request:
    """One Application's source: a commit of a repository, and a folder in it."""

    url: str
    commit: str
    # Empty: the default branch of the repository.
    branch: str
    # The folder's path from the root: empty, or with a slash at its end.
    prefix: str

    @property
    def path(self) -> str:
        """The lock's path from the root."""
        return self.prefix + LOCK_FILE


def read_request(environ: Mapping[str, str]) -> Request:
    """Read the source of the Application from Argo CD's variables; raise unless it is a commit on a branch."""
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
    """Raise for a repository, or a branch of it, that the operator did not list."""
    listed = [pattern.strip().partition("#") for pattern in environ.get("XPLOCK_COMMIT_TO", "").split(",")]
    for url_pattern, _, branch_pattern in listed:
        if _matches(url_pattern, url) and (_matches(branch_pattern, branch) if branch else branch_pattern):
            return
    raise Declined(
        f"no lock is committed to {url}{f'#{branch}' if branch else ''}: XPLOCK_COMMIT_TO does not list it"
    )


def read_token(environ: Mapping[str, str], url: str, limits: Limits) -> Token | None:
    """Return the operator's token if it is for this URL; without one, git uses its own configuration."""
    try:
        return read_git_token(environ, [url], limits)
    except InvalidTokenFile as error:
        raise Declined(error.what) from None


def read_authorities(environ: Mapping[str, str], limits: Limits) -> bytes | None:
    """Return the operator's certificate authorities; None if git trusts only its own."""
    try:
        data = read_git_authorities(environ, limits)
    except InvalidAuthoritiesFile as error:
        raise Declined(error.what) from None
    # Python reads SSL_CERT_FILE by itself; git has to be given its authorities.
    return b"" if data is None and environ.get("SSL_CERT_FILE") else data


def _parse_branch(target: str) -> str:
    """Return the name of a branch; raise for a text that Argo CD takes for a commit or a range."""
    if not _COMMIT.fullmatch(target) and not _is_range(target):
        try:
            return check_branch(target.removeprefix(_HEADS))
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
    """Return whether a pattern matches a text; a star matches within one path segment."""
    if _DETOUR.search(text.partition("://")[2] or text):
        return pattern == text
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch("[^/]*".join(parts), text) is not None
