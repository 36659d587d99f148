"""The rules that a plan must satisfy, in the order in which they are checked; the first error counts.

A rule is a function that yields errors, in the file of its subject. `tests/moving/test_rules.py` leaves rules out of the
table, and finds the damage in a cluster that each one prevents.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from render.errors import RenderError
from render.lifecycle.carry_over import check_bytes_and_attachment_change_apart
from render.lifecycle.claims import (
    check_moved_functions_are_asked_for,
    check_moves_are_needed,
    check_moves_have_consent,
    check_moves_keep_the_kind,
)
from render.lifecycle.conditions import (
    check_crossplane_is_known,
    check_families_stay_together,
    check_moves_are_followed,
    check_strategies_are_possible,
)
from render.lifecycle.names import (
    check_cluster_keeps_its_objects,
    check_names_are_free,
    check_names_differ,
    check_objects_keep_their_kind,
    check_objects_keep_their_name,
)
from render.lifecycle.other_folders import check_provided_packages_stay, check_using_folders_lose_nothing
from render.lifecycle.ownership import (
    check_folders_share_no_object,
    check_handovers_have_consent,
    check_objects_have_one_owner,
)
from render.lifecycle.states import Plan

Rule: TypeAlias = Callable[[Plan], Iterator[RenderError]]

RULES: tuple[Rule, ...] = (
    check_objects_have_one_owner,
    check_cluster_keeps_its_objects,
    check_moves_are_needed,
    check_moves_keep_the_kind,
    check_moved_functions_are_asked_for,
    check_handovers_have_consent,
    check_folders_share_no_object,
    check_objects_keep_their_kind,
    check_moves_are_followed,
    check_strategies_are_possible,
    check_objects_keep_their_name,
    check_names_differ,
    check_names_are_free,
    check_moves_have_consent,
    check_families_stay_together,
    check_bytes_and_attachment_change_apart,
    check_crossplane_is_known,
    check_provided_packages_stay,
    check_using_folders_lose_nothing,
)


def check_plan(plan: Plan) -> Plan:
    """Raise the first error that a rule finds, or return the plan."""
    for rule in RULES:
        for error in rule(plan):
            raise error
    return plan
