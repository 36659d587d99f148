"""Argo CD's way in: environment in, manifests on stdout, all of them or none."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from render.app.render import render_lock
from render.argocd.parameters import announce, apply_parameters, read_parameters
from render.cli.output import Output
from render.deadline import Deadline, parse_seconds
from render.errors import Differs, InvalidInput, RenderError
from render.inputs.projects import Inputs, read_inputs, read_settings
from render.lean import Any
from render.limits import Limits
from render.lock.freshness import require_fresh, require_lock
from render.lock.model import Lock
from render.manifests.text import format_yaml
from render.settings import Settings
from render.system.alarm import run_in_time
from render.system.files import LOCK_FILE

POLICIES = ("frozen", "resolve", "commit")
# Argo CD gives up after 60 seconds, and tells its users nothing of what we would have said.
_SECONDS = 50.0
# So much earlier, or at half of the time, nothing outside is waited for any more.
_EARLIER = 5.0
_PROJECT = Path()


class WrongUsage(InvalidInput):
    """Arguments that plugin.yaml must not have."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "the plugin is called in a wrong way",
            why=why,
            next=f"correct plugin.yaml: xplock plugin generate [--lock-policy {'|'.join(POLICIES)}], or plugin parameters",
        )


class _Notes(Output):
    """What is said on the way: Argo CD shows its users all of it beside an error, which should stand alone."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def _write(self, text: str) -> None:
        self.lines.append(text)


def run_plugin(arguments: Sequence[str], environ: Mapping[str, str], output: Output) -> None:
    """Do what plugin.yaml asks for."""
    match arguments:
        case ["generate", *rest]:
            policy, seconds = _parse_policy(rest, environ), parse_seconds(environ, _SECONDS)
            notes = _Notes()
            # Whoever waits for a registry or for git gives up a little earlier, and says for whom it waited.
            deadline = Deadline(seconds - min(_EARLIER, seconds / 2))
            run_in_time(lambda: output.result(_generate(policy, environ, deadline, notes)), seconds, output)
            # For the log of the sidecar.
            output.repeat(notes.lines)
        case ["parameters"]:
            output.result(announce(_settings_if_readable(environ), _PROJECT, environ))
        case _:
            raise WrongUsage(f"found {' '.join(arguments) or 'no arguments'}")


def _parse_policy(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the lock policy, which is the operator's: an argument in plugin.yaml, or the sidecar's environment."""
    match arguments:
        case []:
            policy = environ.get("XPLOCK_LOCK_POLICY") or "frozen"
        case ["--lock-policy", policy]:
            pass
        case [text] if text.startswith("--lock-policy="):
            policy = text.partition("=")[2]
        case _:
            raise WrongUsage(f"found generate {' '.join(arguments)}")
    if policy not in POLICIES:
        raise WrongUsage(f"{policy!r} is no lock policy")
    return policy


def _generate(policy: str, environ: Mapping[str, str], deadline: Deadline, output: Output) -> str:
    limits = Limits.from_environment(environ)
    inputs = read_inputs(_PROJECT, limits, environ)
    try:
        lock = _read_lock(inputs, limits)
    except Differs as stale:
        # What happens then is the operator's choice; whoever has a lock pays for none of this.
        from render.argocd.policies import answer_without_lock

        lock = answer_without_lock(policy, stale, _PROJECT, environ, deadline, output)
    wanted = apply_parameters(inputs, read_parameters(environ))
    objects: list[dict[str, Any]] = render_lock(lock, wanted, limits, environ)
    return format_yaml(objects)


def _read_lock(inputs: Inputs, limits: Limits) -> Lock:
    """Return the committed lock, unless it is missing or out of date."""
    lock = require_lock(_PROJECT, limits)
    require_fresh(lock, inputs.record, place=LOCK_FILE)
    return lock


def _settings_if_readable(environ: Mapping[str, str]) -> Settings:
    # What is wrong with a folder is told where its manifests are asked for.
    try:
        return read_settings(_PROJECT, Limits.from_environment(environ))
    except RenderError:
        return Settings()
