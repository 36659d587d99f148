"""From a folder and its lock to objects: the one job that `render` and the plugin share.

It imports nothing of resolving, registries or git, since rendering has to be fast.
"""

from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.inputs.projects import Inputs, read_inputs
from render.lean import Any
from render.limits import Limits
from render.lock.freshness import require_fresh, require_lock
from render.lock.model import Lock
from render.manifests.objects import render_lock
from render.system.files import LOCK_FILE


def render_folder(folder: Path, operator: OperatorSettings) -> list[dict[str, Any]]:
    """Return the objects of a folder, in their order; requires a lock that is up to date."""
    inputs = read_inputs(folder, operator.limits, operator.environ)
    lock = read_fresh_lock(inputs, operator.limits)
    require_operator_allows(lock, inputs, operator)
    return render_lock(lock, inputs, operator.limits, operator.environ)


def require_operator_allows(lock: Lock, inputs: Inputs, operator: OperatorSettings) -> None:
    """Raise if the operator has a policy, and it refuses what is locked."""
    if operator.has_policy:
        # Imported late: most operators have none.
        from render.inputs.policies.operator_file import read_operator_policy
        from render.lock.policies import require_allowed

        policy = read_operator_policy(operator.environ, operator.limits)
        require_allowed(lock, (policy,) if policy else (), inputs)


def read_fresh_lock(inputs: Inputs, limits: Limits) -> Lock:
    """Read the lock of a folder; raise if it is missing or does not answer the inputs."""
    lock = require_lock(inputs.folder, limits)
    require_fresh(lock, inputs, place=str(inputs.folder / LOCK_FILE))
    return lock
