"""The policies of a run: the folder's own, and the operator's."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from render.app.operator_settings import OperatorSettings
from render.inputs.policies.operator_file import read_operator_policy
from render.inputs.projects import Inputs
from render.lock.model import Lock
from render.lock.policies import locked_signers
from render.policy.judge import Judge
from render.policy.model import Policy
from render.rewrites import Rewrites
from render.settings import Settings

if TYPE_CHECKING:
    from render.app.trust.evidence import KnownSignatures
    from render.xpkg.catalog import Catalog


def read_policies(operator: OperatorSettings, settings: Settings) -> tuple[Policy, ...]:
    """Return the policies that all have to allow a package."""
    operators = read_operator_policy(operator.environ, operator.limits)
    return tuple(policy for policy in (settings.policy, operators) if policy)


def make_judge(
    policies: tuple[Policy, ...],
    inputs: Inputs,
    current: Lock,
    catalog: "Catalog",
    clock: Callable[[], datetime],
    signatures: "KnownSignatures | None",
) -> Judge:
    """Return the judge of the candidates of one folder."""
    if not policies:
        return Judge()
    # Imported late: most folders have no policy.
    from render.app.trust.evidence import Examiner

    locked = {(package.source, package.digest): locked_signers(package) for package in current.installed()}
    examine = Examiner(catalog, signatures).evidence
    return Judge(policies, examine, clock, Rewrites(inputs.rewrites), inputs.settings.mirror, locked)
