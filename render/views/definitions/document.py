"""What a comparison of definitions found, as JSON values."""

from typing import Any

from render.definitions.model import Comparison, Finding, NotCompared


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values: every finding, the worst first, and what is not compared."""
    return {
        "definitions": [_finding(one) for one in comparison.findings],
        "notCompared": [_not_compared(one) for one in comparison.not_compared],
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "class": one.risk,
        "definition": one.definition,
        "kind": one.kind,
        "version": one.version,
        "path": one.path,
        "before": one.before,
        "after": one.after,
        "package": one.package,
        "from": one.from_version or None,
        "to": one.to_version or None,
        "detail": one.detail,
    }


def _not_compared(one: NotCompared) -> dict[str, Any]:
    return {
        "package": one.package,
        "version": one.version,
        "definition": one.definition or None,
        "reason": one.reason,
        "missing": one.is_missing,
    }
