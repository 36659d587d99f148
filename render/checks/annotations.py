"""Findings → commands of a GitHub workflow, which shows them beside the lines of a pull request."""

from collections.abc import Sequence

from render.checks.model import Finding
from render.checks.uris import relative_path
from render.texts import visible

_LONGEST_PATH = 4_096


def format_annotations(findings: Sequence[Finding]) -> str:
    """Write one command a line; nothing of a finding can end its command, or begin another."""
    return "".join(f"{_format_command(finding)}\n" for finding in findings)


def _format_command(finding: Finding) -> str:
    properties = {
        "file": visible(relative_path(finding.place.file), limit=_LONGEST_PATH),
        "line": str(finding.place.line),
        "title": f"xplock {finding.rule}",
    }
    listed = ",".join(f"{key}={_escape_property(text)}" for key, text in properties.items())
    # Invisible characters are written out, as in every text; line breaks are ours.
    return f"::error {listed}::{_escape(finding.text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
