"""Checking folders, their locks and what is rendered from them."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.checks.model import Checked, CheckedFolder, Finding
from render.checks.policy_rule import note_unused
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.checks.signature_rules import note_open_expressions
from render.crossplane import note_on_crossplane
from render.definitions.rules import Risk
from render.errors import RenderError
from render.lean import TYPE_CHECKING, dataclass, replace
from render.texts import first_names

if TYPE_CHECKING:
    from render.app.reporter import Reporter

# How many folders a note names.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Since:
    """The revision whose locks are compared, and the mildest class that is a finding."""

    revision: str
    risk: Risk = Risk.BLOCKED


@dataclass(frozen=True, slots=True)
class CheckResult:
    """All findings, and how many folders were checked."""

    findings: Sequence[Finding]
    folders: int
    # Which Crossplane is assumed, for folders that do not name one or name a very new one; and entries of their
    # policies that nothing needs; and expressions of rules for signatures that fit too much.
    notes: Sequence[str] = ()
    # Why an upgrade since an earlier commit cannot be judged.
    unknown: RenderError | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the gravest finding."""
        return max((finding.exit_code for finding in self.findings), default=0)


def check_folders(
    folders: Sequence[Path],
    operator: OperatorSettings,
    *,
    same_cluster: bool = False,
    in_order: bool = False,
    since: Since | None = None,
    reporter: "Reporter | None" = None,
) -> CheckResult:
    """Check folders without network; `in_order` says that they are environments, the first one first.

    Only `since` needs git: it compares the definitions with those of an earlier commit, as far as they can be had.
    """
    checked = read_checked(
        folders, operator.limits, operator.environ, same_cluster=same_cluster, in_order=in_order
    )
    notes = [*_note_crossplane(checked.folders), *note_unused(checked), *_note_expressions(checked.folders)]
    result = CheckResult(find_findings(checked), len(checked.folders), notes)
    return _with_upgrades(result, checked, since, operator, reporter) if since else result


def _with_upgrades(
    result: CheckResult,
    checked: Checked,
    since: Since,
    operator: OperatorSettings,
    reporter: "Reporter | None",
) -> CheckResult:
    # Imported late: most calls compare nothing with an earlier commit.
    from render.app.reporter import SilentReporter
    from render.app.upgrades import find_upgrades

    told = reporter or SilentReporter()
    found, unknown = find_upgrades(checked.folders, since.revision, since.risk, operator, told)
    order = {one.name: i for i, one in enumerate(checked.folders)}
    findings = sorted([*result.findings, *found], key=lambda finding: order[finding.folder])
    return replace(result, findings=findings, unknown=unknown)


def _note_crossplane(folders: Iterable[CheckedFolder]) -> list[str]:
    """Return one line for each note, with all folders that it is about."""
    found: dict[str, list[str]] = {}
    for one in folders:
        note = "" if isinstance(one.inputs, RenderError) else note_on_crossplane(one.inputs.settings)
        if note:
            found.setdefault(note, []).append(str(one.folder))
    return [f"{first_names(names, _SHOWN)}: {note}" for note, names in found.items()]


def _note_expressions(folders: Iterable[CheckedFolder]) -> list[str]:
    return [f"{one.folder}: {note}" for one in folders for note in note_open_expressions(one)]
