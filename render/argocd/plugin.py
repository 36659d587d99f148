"""Argo CD's way in: environment in, manifests on stdout, all of them or none."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.render import read_fresh_lock, require_operator_allows
from render.argocd.boundary import find_repository
from render.argocd.parameters import announce, apply_parameters, read_parameters
from render.errors import Differs, InvalidInput, RenderError
from render.inputs.projects import read_inputs, read_settings
from render.lean import TYPE_CHECKING
from render.limits import Limits
from render.manifests.objects import render_lock
from render.manifests.text import format_yaml
from render.settings import Settings
from render.system.alarm import run_in_time
from render.system.deadline import Deadline, parse_seconds

if TYPE_CHECKING:
    from render.app.reporter import Console

POLICIES = ("frozen", "resolve", "commit")
# Argo CD gives up after 60 seconds and then shows its users nothing that the plugin wrote.
_SECONDS = 50.0
# Waiting for registries and git ends this much earlier, or at half of the time, so that the error can name them.
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


def run_plugin(arguments: Sequence[str], environ: Mapping[str, str], console: "Console") -> None:
    """Run the plugin command that plugin.yaml names."""
    match arguments:
        case ["generate", *rest]:
            generate(_parse_policy(rest), environ, console)
        case ["parameters"]:
            write_parameters(environ, console)
        case _:
            raise WrongUsage(f"found {' '.join(arguments) or 'no arguments'}")


def generate(policy: str | None, environ: Mapping[str, str], console: "Console") -> None:
    """Write the manifests of the current folder, all of them or none, within the operator's deadline."""
    policy, seconds = _require_policy(policy, environ), parse_seconds(environ, _SECONDS)
    deadline = Deadline(seconds - min(_EARLIER, seconds / 2))
    notes = run_in_time(lambda: _generate(policy, environ, deadline, console), seconds, console.error)
    # For the log of the sidecar. Not before: Argo CD shows stderr beside an error, which should stand alone.
    console.repeat(notes)


def write_parameters(environ: Mapping[str, str], console: "Console") -> None:
    """Write the parameters that an Application may set, in the form that Argo CD shows."""
    console.result(announce(_settings_if_readable(environ), _PROJECT, environ))


def _parse_policy(arguments: Sequence[str]) -> str | None:
    match arguments:
        case []:
            return None
        case ["--lock-policy", policy]:
            return policy
        case [text] if text.startswith("--lock-policy="):
            return text.partition("=")[2]
    raise WrongUsage(f"found generate {' '.join(arguments)}")


def _require_policy(policy: str | None, environ: Mapping[str, str]) -> str:
    """Return the lock policy, which only the operator sets: in plugin.yaml, or in the sidecar's environment."""
    chosen = environ.get("XPLOCK_LOCK_POLICY") or "frozen" if policy is None else policy
    if chosen not in POLICIES:
        raise WrongUsage(f"{chosen!r} is no lock policy")
    return chosen


def _generate(policy: str, environ: Mapping[str, str], deadline: Deadline, console: "Console") -> list[str]:
    """Write the manifests, and return lines for the log."""
    notes: list[str] = []
    operator = OperatorSettings.from_environment(environ, find_repository(_PROJECT, environ))
    inputs = read_inputs(_PROJECT, operator.limits, environ, operator.boundary)
    try:
        lock = read_fresh_lock(inputs, operator.limits)
    except Differs as stale:
        # Imported late: a folder with a fresh lock needs no policy.
        from render.argocd.policies import answer_without_lock

        lock, notes = answer_without_lock(policy, stale, _PROJECT, operator, deadline)
    require_operator_allows(lock, inputs, operator)
    wanted = apply_parameters(inputs, read_parameters(environ))
    console.result(format_yaml(render_lock(lock, wanted, operator.limits, environ)))
    return notes


def _settings_if_readable(environ: Mapping[str, str]) -> Settings:
    # `generate` reports what is wrong with a folder.
    try:
        return read_settings(_PROJECT, Limits.from_environment(environ), find_repository(_PROJECT, environ))
    except RenderError:
        return Settings()
