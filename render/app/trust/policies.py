"""The policies of a run: the folder's own, and the operator's."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from render.app.operator_settings import OperatorSettings
from render.errors import RenderError
from render.inputs.policies.operator_file import read_operator_policy
from render.inputs.projects import Inputs
from render.lock.model import Lock
from render.lock.policies import locked_signers
from render.policy.judge import Judge
from render.policy.model import Policy
from render.references import Digest, Reference, Source
from render.rewrites import Rewrites
from render.settings import PinMode, Settings

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
    clock: Callable[[], datetime],
    signatures: "KnownSignatures | None",
    catalog: "Catalog",
    direct: "Catalog | None",
) -> Judge:
    """Return the judge of the candidates of one folder; `direct` is a catalog without the rewrites of its project."""
    if not policies:
        return Judge()
    # Imported late: most folders have no policy.
    from render.app.trust.evidence import Examiner

    locked = {(package.source, package.digest): locked_signers(package) for package in current.installed()}
    examine = Examiner(catalog, signatures).evidence
    return Judge(
        policies,
        examine,
        clock,
        rewrites=Rewrites(inputs.rewrites),
        mirror=inputs.settings.mirror,
        unpinned=inputs.settings.pin is PinMode.TAG,
        # Offline, tags are believed.
        named=_ask_once(direct) if direct else None,
        locked=locked,
    )


def _ask_once(catalog: "Catalog") -> Callable[[Source, str], Digest | None]:
    @cache
    def named(source: Source, tag: str) -> Digest | None:
        try:
            return catalog.digest(Reference(source, tag))
        except RenderError:
            # Gone, or out of reach, as it may be behind a mirror: an exception can name the digest.
            return None

    return named
