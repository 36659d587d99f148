"""A diagnosis as JSON."""

from typing import Any

from render.live.doctor.model import Diagnosis, Finding, ObjectKey


def diagnosis_document(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return it as JSON values."""
    return {
        "packages": diagnosis.packages,
        "revisions": diagnosis.revisions,
        "stuck": len(diagnosis.stuck),
        "findings": [_finding(finding) for finding in diagnosis.findings],
        "missing": list(diagnosis.missing),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "state": finding.state.value,
        "number": finding.state.number,
        "stuck": finding.is_stuck,
        "what": finding.what,
        "cause": list(finding.why),
        "objects": [_object(key) for key in finding.objects],
        "touch": _object(finding.touch) if finding.touch else None,
        "command": list(finding.run),
        "care": finding.care or None,
        "then": finding.then or None,
        "consequences": [_object(key) for key in finding.consequences],
    }


def _object(key: ObjectKey) -> dict[str, str]:
    return {"kind": key[0], "name": key[1]}
