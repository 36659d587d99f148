"""All rules by name, in the order of the report."""

from collections.abc import Callable, Iterator, Mapping

from render.checks.drift_rule import drift
from render.checks.family_rule import family_scattered
from render.checks.folder_rules import (
    inputs_invalid,
    lock_invalid,
    lock_listed,
    lock_missing,
    lock_stale,
    not_renderable,
)
from render.checks.model import Checked, Finding
from render.checks.policy_rule import policy_refused
from render.checks.rendered_rules import rendered_inconsistent
from render.checks.signature_rules import rule_accepts_anyone, verification_lost
from render.lean import TypeAlias

Rule: TypeAlias = Callable[[Checked], Iterator[Finding]]

_FOLDER_RULES: Mapping[str, Rule] = {
    "inputs-invalid": inputs_invalid,
    "lock-missing": lock_missing,
    "lock-invalid": lock_invalid,
    "lock-stale": lock_stale,
    "lock-listed": lock_listed,
    "not-renderable": not_renderable,
    "rendered-inconsistent": rendered_inconsistent,
    "family-scattered": family_scattered,
    "policy-refused": policy_refused,
    "rule-accepts-anyone": rule_accepts_anyone,
    "verification-lost": verification_lost,
    "drift": drift,
}


def load_rules() -> dict[str, Rule]:
    """Return every rule by its name."""
    return {**_FOLDER_RULES, **_load_cluster_rules()}


def find_findings(checked: Checked) -> list[Finding]:
    """Apply every rule; findings are sorted by folder, in the order of the call, then by rule."""
    rules = load_rules() if checked.members else _FOLDER_RULES
    found = [finding for rule in rules.values() for finding in rule(checked)]
    order = {one.name: i for i, one in enumerate(checked.folders)}
    return sorted(found, key=lambda finding: order[finding.folder])


def _load_cluster_rules() -> dict[str, Rule]:
    # Imported late: most calls check folders that use no others.
    from render.checks.cluster_rules import (
        needed_elsewhere,
        provided_changed,
        provided_unsuited,
        rendered_twice,
        used_unusable,
    )

    return {
        "used-unusable": used_unusable,
        "provided-changed": provided_changed,
        "provided-unsuited": provided_unsuited,
        "needed-elsewhere": needed_elsewhere,
        "rendered-twice": rendered_twice,
    }
