"""What the plugin does when the committed lock is missing or out of date: the operator's choice."""

from collections.abc import Mapping

from render.cli.output import Output
from render.cli.resolving import Resolver
from render.errors import Differs
from render.inputs.projects import Inputs
from render.limits import Limits
from render.lock.format import format_lock
from render.lock.model import Lock
from render.lock.parse import parse_lock


class NotLocked(Differs):
    """A commit whose lock does not answer what the same commit asks for."""

    def __init__(self, stale: Differs, path: str, reason: str = "") -> None:
        folder = f" {path}" if path not in ("", ".") else ""
        super().__init__(
            stale.what,
            why=[*stale.why, *([reason] if reason else [])],
            next=f"run `xplock lock{folder}` in a clone, and commit what it writes",
        )


def answer_without_lock(
    policy: str, stale: Differs, inputs: Inputs, limits: Limits, environ: Mapping[str, str], output: Output
) -> Lock:
    """Return a lock that was resolved just now, or refuse."""
    path = environ.get("ARGOCD_APP_SOURCE_PATH", "")
    if policy == "resolve":
        outcome = Resolver(output, (), offline=False).resolve(inputs.folder)
        # Rendered is what would be read from the file, so that it is the same with a lock and without.
        return parse_lock(format_lock(outcome.after).encode(), limits, place=str(inputs.folder))
    if policy == "commit":
        raise NotLocked(stale, path, _commit(limits, environ))
    raise NotLocked(stale, path)


def _commit(limits: Limits, environ: Mapping[str, str]) -> str:
    """Return why no lock could be committed; one that was, and one that nobody can make, are told by their errors."""
    # Git is for operators who want it.
    from render.commit import LostRace, MovedOn
    from render.git.failures import GitFailed
    from render.git.objects import NoIdentity
    from render.git.remotes import PushRefused
    from render.git.temporary import InvalidUrl
    from render.plugin_commit import commit_lock
    from render.plugin_request import Declined

    try:
        commit_lock(limits, environ)
    except (Declined, GitFailed, InvalidUrl, LostRace, MovedOn, NoIdentity, PushRefused) as error:
        return "; ".join([error.what, *error.why])
