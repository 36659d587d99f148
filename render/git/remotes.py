"""Remotes: choosing one, fetching a branch, and pushing, never over a commit that was not looked at."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from render.errors import InvalidInput, RenderError
from render.git.failures import find_branch_conflict, shown_lines
from render.git.repository import Repository, read_configuration
from render.git.revisions import resolve_commit

_HEADS = "refs/heads/"
# A fetch must not start garbage collection in the user's repository.
_QUIET_FETCH = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap=")
_WITHOUT_BLOBS = "--filter=blob:none"
# Otherwise the fetched commits are complete, in a user's partial clone too: nothing is fetched when they are read.
_COMPLETE = "--no-filter"
_PUSH = ("push", "--porcelain", "--no-follow-tags", "--no-recurse-submodules")
_REMOTE_URL = re.compile(r"remote\.(.+)\.url", re.DOTALL)
_REJECTED = re.compile(r"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_MOVED = re.compile(r"^[ *+]\t[^\t]*\t(?:([0-9a-f]+)\.\.|\[new )", re.MULTILINE)
# A server's reasons when another push came first.
_RACE = re.compile(
    r"fetch first|non-fast-forward|stale info|lock|failed to update ref|incorrect old value|already exists"
)


class UnknownRemote(InvalidInput):
    """A remote that is not configured, or no remote to choose."""

    def __init__(self, name: str | None, known: Sequence[str]) -> None:
        super().__init__(
            f"{name!r} is not a remote of this repository"
            if name is not None
            else "there is no remote to push to",
            why=f"the remotes are {', '.join(known)}" if known else "the repository has no remotes",
            next="name one of them: --remote NAME" if known else "add one with `git remote add`",
        )


class Remote(NamedTuple):
    """A configured remote, and the branch there."""

    name: str
    branch: str


class PushRefused(RenderError):
    """A server that rejects a commit, although no other push came first."""

    def __init__(self, repository: Repository, remote: Remote, why: Sequence[str]) -> None:
        # The remote of a temporary repository has a name that users do not know.
        server = repository.name or remote.name
        super().__init__(
            f"{server} rejects the push to branch {remote.branch}",
            why=why,
            next=f"check the rules for pushes on {server}, or push to another branch",
        )


class PushAnswer(NamedTuple):
    """A server's answer to a push."""

    accepted: bool
    # Whether the branch was moved, and its commit before, if it existed.
    moved: bool = False
    before: str = ""
    # The reasons for a rejection, and whether another push may have come first.
    why: tuple[str, ...] = ()
    race: bool = False


def choose_remote(repository: Repository, branch: str, name: str | None) -> Remote:
    """Return where a branch is pushed to: the named remote, the branch's own, or the only one."""
    settings = read_configuration(repository)
    known = [found[1] for found in map(_REMOTE_URL.fullmatch, sorted(settings)) if found]
    keys = (f"branch.{branch}.pushremote", "remote.pushdefault", f"branch.{branch}.remote")
    usual = [settings[key] for key in keys if settings.get(key) in known]
    only = known if len(known) == 1 else ["origin"]
    chosen = name if name is not None else [*usual, *only][0]
    if chosen not in known:
        raise UnknownRemote(name, known)
    upstream = settings.get(f"branch.{branch}.merge", "")
    tracked = settings.get(f"branch.{branch}.remote") == chosen and upstream.startswith(_HEADS)
    return Remote(chosen, upstream.removeprefix(_HEADS) if tracked else branch)


def read_urls(repository: Repository, remote: Remote) -> list[str]:
    """Return all URLs that a remote is fetched from and pushed to, after rewrites of git's configuration."""
    ways = ((), ("--push",))
    outputs = [repository.run("remote", "get-url", "--all", *way, "--", remote.name) for way in ways]
    return sorted({url for output in outputs for url in output.decode(errors="replace").splitlines()})


def fetch_tip(
    repository: Repository, remote: Remote, *, depth: int | None = None, known: str | None = None
) -> str | None:
    """Fetch the tip of a remote branch and return it; `known` is its tip before."""
    ref = _HEADS + remote.branch
    depths = [f"--depth={depth}"] if depth else []
    # A repository without branches offers no commits in the negotiation, and would get everything again.
    offers = [f"--negotiation-tip={known}"] if known else []
    blobs = _WITHOUT_BLOBS if repository.partial else _COMPLETE
    command = (*_FETCH, blobs, *depths, *offers, "--", remote.name, ref)
    errors = ""
    # Between listing and fetching, the branch may have moved.
    for _ in range(repository.limits.push_attempts):
        tip = list_refs(repository, remote.name, ref).get(ref)
        if tip is None or resolve_commit(repository, tip):
            return tip
        answer = repository.ask(*command, options=_QUIET_FETCH, expected=(0, 1, 128), network=True)
        errors = answer.errors
        if resolve_commit(repository, tip):
            if answer.status:
                # The commit arrived without all of its objects: the disk is full, or the connection broke.
                break
            return tip
    raise repository.failure(errors)


def fetch_objects(repository: Repository, remote: Remote, ids: Sequence[str]) -> None:
    """Fetch single objects by their ids, as git itself does in a partial clone."""
    options = (*_QUIET_FETCH, "-c", "fetch.negotiationAlgorithm=noop")
    command = (*_FETCH, _WITHOUT_BLOBS, "--stdin", "--", remote.name)
    data = "".join(f"{name}\n" for name in ids).encode()
    repository.run(*command, data=data, options=options, network=True)


def push_commit(
    repository: Repository, remote: Remote, commit: str, *, hooks: bool = False, instead_of: str | None = None
) -> PushAnswer:
    """Push a commit to a branch, which moves only if it is an ancestor of it, or is at the commit to be replaced."""
    ref = _HEADS + remote.branch
    lease = [f"--force-with-lease={ref}:{instead_of}"] if instead_of else []
    command = (*_PUSH, *lease, "--", remote.name, f"{commit}:{ref}")
    answer = repository.ask(*command, hooks=hooks, network=True)
    output = answer.output.decode(errors="replace")
    if answer.status == 0:
        moved = _MOVED.search(output)
        return PushAnswer(accepted=True, moved=bool(moved), before=(moved and moved[1]) or "")
    reasons = _REJECTED.findall(output)
    if not reasons:
        raise repository.failure(answer.errors)
    if conflict := find_branch_conflict(repository.name or remote.name, answer.errors):
        raise conflict
    from_server = [line for line in answer.errors.splitlines() if line.startswith("remote: ")]
    why = tuple(map(repository.without_secrets, [*reasons, *shown_lines("\n".join(from_server))]))
    if _MOVED.search(output):
        # A remote may have several push URLs. A retry would find our commit at one of them and take it for another's.
        raise PushRefused(
            repository, remote, ("one of its URLs accepted the push, another one rejected it", *why)
        )
    return PushAnswer(accepted=False, why=why, race=any(map(_RACE.search, reasons)))


def list_refs(
    repository: Repository, remote: str, *refs: str, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the refs of a remote and their commits; with patterns, only refs that end like one of them."""
    output = repository.run("ls-remote", "--", remote, *refs, environment=environment, network=True)
    pairs = [line.partition("\t") for line in output.decode(errors="replace").splitlines()]
    return {ref: commit for commit, tab, ref in pairs if tab}


def find_default_branch(repository: Repository, remote: str) -> str | None:
    """Return the default branch of a remote."""
    output = repository.run("ls-remote", "--symref", "--", remote, "HEAD", network=True)
    found = re.search(rf"^ref: {_HEADS}(\S+)\tHEAD$", output.decode(errors="replace"), re.MULTILINE)
    return found[1] if found else None
