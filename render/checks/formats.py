"""Findings as text, JSON, GitHub annotations and SARIF."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

from render import __version__
from render.checks.explaining import Explanation, read_definition_explanations, read_explanations
from render.checks.model import Finding
from render.digests import sha256_hex
from render.lean import Any
from render.texts import counted, first_names, redact, visible, without_name

_LONGEST_PATH = 4_096
# How many folders with the same finding are named.
_SHOWN = 20


def format_findings(
    findings: Sequence[Finding], folders: int, stand_out: Callable[[str], str] = lambda text: text
) -> str:
    """Write each finding and their number; `stand_out` highlights the name of a rule."""
    lines = [
        _format_finding(finding, stand_out) + _format_others(others) for finding, others in _alike(findings)
    ]
    return "".join(f"{line}\n" for line in [*lines, count_findings(findings, folders)])


def count_findings(findings: Sequence[Finding], folders: int) -> str:
    """Return how many folders were checked, and how many findings there are."""
    found = counted(len(findings), "finding") if findings else "nothing found"
    return f"{counted(folders, 'folder')}, {found}"


def _alike(findings: Sequence[Finding]) -> list[tuple[Finding, list[str]]]:
    """Return each finding once, with the other folders that have the same."""
    found: dict[object, tuple[Finding, list[str]]] = {}
    for finding in findings:
        same = found.setdefault(_without_folder(finding), (finding, []))
        if same[0] is not finding:
            same[1].append(finding.folder)
    return list(found.values())


def _without_folder(finding: Finding) -> object:
    """Return what a finding says, whatever its folder is called."""
    texts = (finding.message, *finding.why, "", *finding.next)
    return finding.rule, finding.exit_code, tuple(without_name(text, finding.folder) for text in texts)


def _format_others(folders: Sequence[str]) -> str:
    if not folders:
        return ""
    return f"\n  also in {visible(redact(first_names(folders, _SHOWN)), limit=_LONGEST_PATH)}"


def _format_finding(finding: Finding, stand_out: Callable[[str], str]) -> str:
    return f"{visible(redact(finding.folder))}: {stand_out(finding.rule)}: {finding.text}"


def findings_document(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return findings as JSON values."""
    return [
        {
            "rule": finding.rule,
            "folder": finding.folder,
            "file": str(finding.place.file),
            "line": finding.place.line,
            # CI keeps these texts in its logs.
            "message": redact(finding.message),
            "why": [redact(line) for line in finding.why],
            "next": [redact(line) for line in finding.next],
            "exitCode": finding.exit_code,
        }
        for finding in findings
    ]


def relative_path(file: Path) -> str:
    """Return the path of a file from the current folder."""
    return Path(os.path.relpath(file)).as_posix()


def relative_uri(file: Path) -> str:
    """Return the path of a file from the current folder as part of a URI."""
    return quote(relative_path(file), errors="surrogateescape")


def format_annotations(findings: Sequence[Finding]) -> str:
    """Write one workflow command for each problem; no text of a finding can end its command or start another."""
    return "".join(f"{_format_command(problem)}\n" for finding in findings for problem in finding.split())


def _format_command(finding: Finding) -> str:
    properties = {
        "file": visible(relative_path(finding.place.file), limit=_LONGEST_PATH),
        "line": str(finding.place.line),
        "title": f"xplock {finding.rule}",
    }
    listed = ",".join(f"{key}={_escape_property(text)}" for key, text in properties.items())
    # The text has its invisible characters written out already; its line breaks are ours.
    return f"::error {listed}::{_escape(finding.text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_VERSION = "2.1.0"
# SARIF's name for the root of the repository.
_ROOT = "%SRCROOT%"
# Every finding stops a command, so there are no milder levels.
_LEVEL = "error"
# The number in the name belongs to the parts that are hashed.
_FINGERPRINT = "xplockFinding/v1"
_LINE_NUMBER = r"\bline [0-9]+: "


def sarif_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a SARIF log with one run: all rules of `check`, those about definitions that found something, and one result for each problem."""
    named = {finding.rule for finding in findings}
    rules = [
        *read_explanations(),
        *(rule for rule in read_definition_explanations() if rule.name in named),
    ]
    driver = {"name": "xplock", "version": __version__, "rules": [_rule(rule) for rule in rules]}
    numbers = {rule.name: i for i, rule in enumerate(rules)}
    results = [_result(each, numbers[each.rule]) for finding in findings for each in finding.split()]
    return {
        "$schema": _SCHEMA,
        "version": _VERSION,
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _rule(rule: Explanation) -> dict[str, Any]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.text, "markdown": rule.text},
        "defaultConfiguration": {"level": _LEVEL},
    }


def _result(finding: Finding, number: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": relative_uri(finding.place.file), "uriBaseId": _ROOT},
        "region": {"startLine": finding.place.line},
    }
    # SARIF viewers would turn this into a link, and look for arguments between single braces.
    text = finding.text.replace("](", "] (").replace("{", "{{").replace("}", "}}")
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": _LEVEL,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {_FINGERPRINT: _fingerprint(finding)},
    }


def _fingerprint(finding: Finding) -> str:
    """Return what a finding is recognised by; it stays the same if only lines move."""
    texts = (re.sub(_LINE_NUMBER, "", redact(text)) for text in (finding.message, *finding.why))
    parts = [finding.rule, relative_uri(finding.place.file), *texts]
    return sha256_hex(json.dumps(parts))
