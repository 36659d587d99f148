"""Findings → text for people, and JSON."""

from collections.abc import Callable, Sequence

from render.checks.model import Finding
from render.hints import Any
from render.texts import counted, redact, visible


def format_findings(
    findings: Sequence[Finding], folders: int, stand_out: Callable[[str], str] = lambda text: text
) -> str:
    """Write each finding with its reasons and what to do, and how many there are; what matters may stand out."""
    lines = [_format_finding(finding, stand_out) for finding in findings]
    return "".join(f"{line}\n" for line in [*lines, count_findings(findings, folders)])


def count_findings(findings: Sequence[Finding], folders: int) -> str:
    """Return how much was checked, and how much was found."""
    found = counted(len(findings), "finding") if findings else "nothing found"
    return f"{counted(folders, 'folder')}, {found}"


def _format_finding(finding: Finding, stand_out: Callable[[str], str]) -> str:
    return f"{visible(redact(finding.folder))}: {stand_out(finding.rule)}: {finding.text}"


def findings_document(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the same as JSON values."""
    return [
        {
            "rule": finding.rule,
            "folder": finding.folder,
            "file": str(finding.place.file),
            "line": finding.place.line,
            # A log keeps these, too.
            "message": redact(finding.message),
            "why": [redact(line) for line in finding.why],
            "next": [redact(line) for line in finding.next],
            "exitCode": finding.exit_code,
        }
        for finding in findings
    ]
