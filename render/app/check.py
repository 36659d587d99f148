"""Checking folders, their locks and what is rendered from them."""

from collections.abc import Sequence
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.checks.model import Finding
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.crossplane import assumed_crossplane
from render.errors import RenderError
from render.lean import dataclass


@dataclass(frozen=True, slots=True)
class CheckResult:
    """All findings, and how many folders were checked."""

    findings: Sequence[Finding]
    folders: int
    # Which Crossplane is assumed for folders that do not say it.
    assumptions: Sequence[str] = ()

    @property
    def exit_code(self) -> int:
        """The exit code of the gravest finding."""
        return max((finding.exit_code for finding in self.findings), default=0)


def check_folders(
    folders: Sequence[Path], operator: OperatorSettings, *, same_cluster: bool = False
) -> CheckResult:
    """Check folders without network or git."""
    checked = read_checked(folders, operator.limits, operator.environ, same_cluster=same_cluster)
    assumed = [
        assumed_crossplane(one.folder, one.inputs.settings)
        for one in checked.folders
        if not isinstance(one.inputs, RenderError)
    ]
    return CheckResult(find_findings(checked), len(checked.folders), [text for text in assumed if text])
