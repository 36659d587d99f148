"""What `verify` found, for people and programs."""

from collections.abc import Sequence
from typing import Any

from render.lock.verify import VerifyFinding
from render.texts import visible


def format_findings(folder: str, packages: int, findings: Sequence[VerifyFinding]) -> str:
    """Write what is not as it was locked, and how much is."""
    lines = []
    for finding in findings:
        package = finding.package
        lines.append(f"{package.source} {visible(package.version)}: {finding.trouble}")
        lines += [f"  {visible(detail)}" for detail in finding.details]
    wrong = len({finding.package.source for finding in findings})
    summary = f"{packages - wrong} of {packages} packages are as they were locked"
    return "".join(f"{line}\n" for line in [*lines, f"{folder}: {summary}"])


def findings_document(folder: str, packages: int, findings: Sequence[VerifyFinding]) -> dict[str, Any]:
    """Return the same as JSON values."""
    return {
        "folder": folder,
        "packages": packages,
        "findings": [
            {
                "source": str(finding.package.source),
                "version": finding.package.version,
                "digest": finding.package.digest,
                "trouble": finding.trouble,
                "details": list(finding.details),
            }
            for finding in findings
        ],
    }
