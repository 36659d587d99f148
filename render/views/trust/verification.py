"""The findings of `verify` as text and JSON."""

from collections.abc import Sequence
from typing import Any

from render.lock.graph import Target
from render.lock.model import Provided, State
from render.lock.online.verify import VerifyFinding
from render.texts import counted, redact, visible


def format_findings(folder: str, packages: int, findings: Sequence[VerifyFinding]) -> str:
    """Write the findings, and how many packages are as they were locked."""
    lines = []
    for finding in findings:
        package = finding.package
        lines.append(f"{_named(package)}: {finding.trouble}")
        lines += [f"  {visible(redact(detail))}" for detail in finding.details]
    # Two objects can install one source, if one of them is deactivated.
    wrong = len({(finding.package.kind, finding.package.object_name) for finding in findings})
    summary = f"{packages - wrong:,} of {counted(packages, 'package')} as locked"
    return "".join(f"{line}\n" for line in [*lines, f"{folder}: {summary}"])


def findings_document(folder: str, packages: int, findings: Sequence[VerifyFinding]) -> dict[str, Any]:
    """Return the findings as JSON values."""
    return {
        "folder": folder,
        "packages": packages,
        "findings": [
            {
                "source": str(finding.package.source),
                "object": finding.package.object_name,
                "state": "provided" if isinstance(finding.package, Provided) else finding.package.state,
                "version": finding.package.version,
                "digest": finding.package.digest,
                "trouble": finding.trouble,
                "details": [redact(detail) for detail in finding.details],
            }
            for finding in findings
        ],
    }


def _named(package: Target) -> str:
    return f"{package.source} {visible(package.version)}{_mark(package)}"


def _mark(package: Target) -> str:
    if isinstance(package, Provided):
        return f" (provided by {visible(package.folder)})"
    return " (deactivated)" if package.state is State.DEACTIVATED else ""
