"""Findings → text and JSON."""

from collections.abc import Sequence
from typing import Any

from render.checks.model import Finding
from render.errors import RenderError


def format_findings(findings: Sequence[Finding], folders: int) -> str:
    """Write each finding with its reasons and what to do, and how many there are."""
    lines = [_format_finding(finding) for finding in findings]
    checked = f"{folders:,} folder{'' if folders == 1 else 's'}"
    found = f"{len(findings):,} finding{'' if len(findings) == 1 else 's'}" if findings else "nothing found"
    return "".join(f"{line}\n" for line in [*lines, f"{checked}, {found}"])


def _format_finding(finding: Finding) -> str:
    # As errors look that stop a command.
    head = f"{finding.folder}: {finding.rule}: {finding.message}"
    return str(RenderError(head, why=finding.why, next=finding.next))


def findings_document(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the same as JSON values."""
    return [
        {
            "rule": finding.rule,
            "folder": finding.folder,
            "message": finding.message,
            "why": list(finding.why),
            "next": list(finding.next),
            "exitCode": finding.exit_code,
        }
        for finding in findings
    ]
