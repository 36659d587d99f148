"""The policies of a run: the folder's own, and the operator's."""

from collections.abc import Callable
from datetime import datetime
from threading import Lock as Mutex
from typing import TYPE_CHECKING

from render.app.operator_settings import OperatorSettings
from render.inputs.policies.operator_file import read_operator_policy
from render.inputs.projects import Inputs
from render.lock.model import Lock
from render.packages import Package
from render.policy.judge import Judge
from render.policy.model import Evidence, Policy
from render.references import Digest
from render.rewrites import Rewrites
from render.settings import Settings

if TYPE_CHECKING:
    from render.xpkg.catalog import Catalog


def read_policies(operator: OperatorSettings, settings: Settings) -> tuple[Policy, ...]:
    """Return the policies that all have to allow a package."""
    operators = read_operator_policy(operator.environ, operator.limits)
    return tuple(policy for policy in (settings.policy, operators) if policy)


class Examiner:
    """Fetches the evidence about packages, each once."""

    def __init__(self, catalog: "Catalog") -> None:
        self._catalog = catalog
        self._known: dict[Digest, Evidence] = {}
        self._mutex = Mutex()

    def evidence(self, package: Package) -> Evidence:
        """Return the evidence about a package."""
        with self._mutex:
            known = self._known.get(package.digest)
        if known is None:
            known = self._catalog.evidence(package)
            with self._mutex:
                self._known[package.digest] = known
        return known


def make_judge(
    policies: tuple[Policy, ...],
    inputs: Inputs,
    current: Lock,
    catalog: "Catalog",
    clock: Callable[[], datetime],
) -> Judge:
    """Return the judge of the candidates of one folder."""
    locked = {(package.source, package.digest) for package in current.installed()}
    return Judge(policies, Examiner(catalog).evidence, clock, Rewrites(inputs.rewrites), locked)
