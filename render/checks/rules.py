"""All rules, by their names, in the order in which they are told."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from render.checks.locks import inputs_invalid, lock_invalid, lock_missing, lock_stale, not_renderable
from render.checks.model import Checked, Finding
from render.checks.neighbours import (
    needed_elsewhere,
    provided_changed,
    provided_unsuited,
    rendered_twice,
    used_unusable,
)

Rule: TypeAlias = Callable[[Checked], Iterator[Finding]]

RULES: Mapping[str, Rule] = {
    "inputs-invalid": inputs_invalid,
    "lock-missing": lock_missing,
    "lock-invalid": lock_invalid,
    "lock-stale": lock_stale,
    "not-renderable": not_renderable,
    "used-unusable": used_unusable,
    "provided-changed": provided_changed,
    "provided-unsuited": provided_unsuited,
    "needed-elsewhere": needed_elsewhere,
    "rendered-twice": rendered_twice,
}


def find_findings(checked: Checked) -> list[Finding]:
    """Apply every rule; what is found is sorted by folders as they were given, then by rules."""
    found = [finding for rule in RULES.values() for finding in rule(checked)]
    order = {one.name: i for i, one in enumerate(checked.folders)}
    return sorted(found, key=lambda finding: order[finding.folder])
