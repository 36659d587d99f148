"""Argo CD's way in: environment in, manifests on stdout, all of them or none."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from render.cli.output import Output
from render.errors import Differs, InvalidInput, RenderError
from render.files import LOCK_FILE
from render.inputs.projects import Inputs, read_inputs
from render.limits import Limits
from render.lock.model import Lock
from render.lock.staleness import require_fresh, require_lock
from render.manifests.text import format_yaml
from render.parameters import announce, apply_parameters, read_parameters
from render.rendering import render_lock

POLICIES = ("frozen", "resolve", "commit")
# Argo CD gives up after 60 seconds, and tells its users nothing of what we would have said.
_SECONDS = 50.0
# The part of it that anything outside is waited for; and how long tidying up may take.
_WAITING, _LAST_SECONDS = 0.9, 1.5
_PROJECT = Path()


class WrongUsage(InvalidInput):
    """Arguments that plugin.yaml must not have."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "the plugin is called in a wrong way",
            why=why,
            next=f"correct plugin.yaml: xplock plugin generate [--lock-policy {'|'.join(POLICIES)}], or plugin parameters",
        )


class OutOfTime(RenderError):
    """The deadline of the whole call."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no manifests after {seconds:g} seconds",
            why="Argo CD gives up a little later, without telling why",
            next="lock ahead of time: run `xplock lock` and commit what it writes",
        )


class Stopped(RenderError):
    """Somebody ended the call."""

    def __init__(self) -> None:
        super().__init__("stopped before the manifests were ready")


def run_plugin(arguments: Sequence[str], environ: Mapping[str, str], output: Output) -> None:
    """Do what plugin.yaml asks for."""
    match arguments:
        case ["generate", *rest]:
            policy = _parse_policy(rest, environ)
            _start_clock(_parse_seconds(environ), output)
            manifests = _generate(policy, environ, output)
            signal.setitimer(signal.ITIMER_REAL, 0)
            output.result(manifests)
        case ["parameters"]:
            output.result(announce(_inputs_if_readable(environ)))
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


def _parse_seconds(environ: Mapping[str, str]) -> float:
    text = environ.get("XPLOCK_DEADLINE") or str(_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise InvalidInput(
            "XPLOCK_DEADLINE is not a number of seconds",
            why=f"found {text!r}",
            next="write a number such as 50",
        )
    return seconds


def _start_clock(seconds: float, output: Output) -> None:
    """Have the call ended from inside, while there is still somebody to tell why."""
    # Whoever waits for a registry or for git gives up a little earlier, and says for whom it waited.
    os.environ["XPLOCK_DEADLINE"] = f"{seconds * _WAITING:g}"
    signal.signal(signal.SIGALRM, lambda *_: _stop(OutOfTime(seconds), output))
    signal.signal(signal.SIGTERM, lambda *_: _stop(Stopped(), output))
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop(error: RenderError, output: Output) -> NoReturn:
    """End the call in order, or a moment later without any."""

    def leave(*_: object) -> None:
        output.error(error)
        sys.stderr.flush()
        os._exit(error.exit_code)

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, leave)
    signal.setitimer(signal.ITIMER_REAL, _LAST_SECONDS)
    raise error


def _generate(policy: str, environ: Mapping[str, str], output: Output) -> str:
    limits = Limits.from_environment(environ)
    inputs = read_inputs(_PROJECT, limits, environ)
    lock = _find_lock(policy, inputs, limits, environ, output)
    wanted = apply_parameters(inputs, read_parameters(environ))
    objects: list[dict[str, Any]] = render_lock(lock, wanted, limits, environ)
    return format_yaml(objects)


def _find_lock(
    policy: str, inputs: Inputs, limits: Limits, environ: Mapping[str, str], output: Output
) -> Lock:
    """Return the committed lock; what happens if it is missing or out of date is the operator's choice."""
    try:
        lock = require_lock(_PROJECT, limits)
        require_fresh(lock, inputs.record, place=LOCK_FILE)
    except Differs as stale:
        # Whoever has a lock pays for none of this.
        from render.lock_policies import answer_without_lock

        return answer_without_lock(policy, stale, inputs, limits, environ, output)
    return lock


def _inputs_if_readable(environ: Mapping[str, str]) -> Inputs | None:
    # What is wrong with a folder is told where its manifests are asked for.
    try:
        return read_inputs(_PROJECT, Limits.from_environment(environ), environ)
    except RenderError:
        return None
