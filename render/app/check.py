"""Checking folders and telling what was found, in any form; click is not needed for it."""

import os
from collections.abc import Sequence
from pathlib import Path

from render.checks.formats import count_findings, findings_document, format_findings
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.cli.output import Output
from render.limits import Limits


def check_folders(
    folders: Sequence[Path], output: Output, form: str = "text", *, same_cluster: bool = False
) -> int:
    """Check folders, write what was found, and return the exit code: that of the gravest finding."""
    limits = Limits.from_environment(os.environ)
    checked = read_checked(folders, limits, os.environ, same_cluster=same_cluster)
    findings = find_findings(checked)
    count = len(checked.folders)
    match form:
        case "json":
            output.result_json(findings_document(findings))
        case "sarif":
            # Each of these two forms is for those who ask for it.
            from render.checks.formats import sarif_document

            output.result_json(sarif_document(findings))
        case "github":
            from render.checks.formats import format_annotations

            output.result(f"{format_annotations(findings)}{count_findings(findings, count)}\n")
        case _:
            output.result(format_findings(findings, count, output.stand_out))
    return max((finding.exit_code for finding in findings), default=0)
