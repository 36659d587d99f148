"""Findings → SARIF 2.1.0, which code scanning services and editors read."""

from collections.abc import Sequence
from typing import Any

from render import __version__
from render.checks.explaining import Explanation, read_explanations
from render.checks.model import Finding
from render.checks.uris import relative_uri

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_VERSION = "2.1.0"
# The name that SARIF gives to the folder of the repository.
_ROOT = "%SRCROOT%"
# What is found stops something: there are no milder findings.
_LEVEL = "error"


def sarif_document(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a log with one run: every rule, and what was found."""
    rules = read_explanations()
    driver = {"name": "xplock", "version": __version__, "rules": [_rule(rule) for rule in rules]}
    numbers = {rule.name: i for i, rule in enumerate(rules)}
    results = [_result(finding, numbers[finding.rule]) for finding in findings]
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
    # What looks like a link would be one.
    text = finding.text.replace("](", "] (")
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": _LEVEL,
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
    }
