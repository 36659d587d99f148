"""How the end-to-end tests count operations of Argo CD: a heal counts if it changed anything."""

from typing import Any

import pytest
from rig.live.operations import failures_of, operations_of

HEAL: dict[str, Any] = {"resources": [{"kind": "ProviderRevision", "name": "old-1"}]}
FAILED = "one or more objects failed to apply, reason:"
RETRYING = ". Retrying attempt #1 at 12:00PM."
HEALED = "provider.pkg.crossplane.io/old serverside-applied"
PATCHED = "providerrevision.pkg.crossplane.io/old-1 serverside-applied"


def told(state: dict[str, Any], at: str) -> tuple[str, dict[str, Any]]:
    """An event of an Application about an operation."""
    return "MODIFIED", {
        "kind": "Application",
        "metadata": {"name": "team"},
        "status": {"operationState": {"startedAt": at, **state}},
    }


def revision(
    desired: str, event: str = "MODIFIED", *, gone: str = "", **other: object
) -> tuple[str, dict[str, Any]]:
    """What happens to a revision."""
    metadata = {"name": "old-1", **({"deletionTimestamp": gone} if gone else {})}
    return event, {
        "kind": "ProviderRevision",
        "metadata": metadata,
        "spec": {"desiredState": desired, **other},
    }


def provider(
    generation: int, event: str = "MODIFIED", *, manager: str = "", **metadata: dict[str, str]
) -> tuple[str, dict[str, Any]]:
    """What happens to a package."""
    metadata_of = {"name": "old", "generation": generation, "managedFields": manager, **metadata}
    return event, {"kind": "Provider", "metadata": metadata_of, "spec": {}}


def operation(
    message: str,
    *during: tuple[str, dict[str, Any]],
    at: str = "12:00",
    key: tuple[str, str] = ("ProviderRevision", "old-1"),
    **sync: Any,
) -> list[Any]:
    """An operation with one result, and what happens while it runs."""
    started = {"phase": "Running", "operation": {"sync": {"revision": "c1", **sync}}}
    result = {"kind": key[0], "name": key[1], "message": message}
    ended = {**started, "phase": "Succeeded", "finishedAt": "12:01", "syncResult": {"resources": [result]}}
    return [told(started, at), *during, told(ended, at)]


@pytest.mark.parametrize(
    ("message", "during"),
    [
        (PATCHED, []),
        (PATCHED, [revision("Inactive")]),
        # That is Crossplane.
        (PATCHED, [revision("Inactive", skipDependencyResolution=True)]),
        ("providerrevision.pkg.crossplane.io/old-1 unchanged", []),
    ],
)
def test_a_heal_that_changes_nothing_is_not_counted(message: str, during: list[Any]) -> None:
    events = [revision("Inactive", "ADDED"), *operation(message, *during, **HEAL), revision("Active")]

    assert operations_of("team", events) == []


@pytest.mark.parametrize(
    ("before", "during"),
    [
        ([revision("Active", "ADDED")], [revision("Inactive")]),
        ([], [revision("Inactive", "ADDED")]),
        ([revision("Inactive", "ADDED")], [revision("Inactive", "DELETED")]),
        # It was not watched.
        ([], []),
    ],
)
def test_a_heal_that_may_have_changed_a_revision_is_counted_from_the_second_one_on(
    before: list[Any], during: list[Any]
) -> None:
    once = [*before, *operation(PATCHED, *during, **HEAL)]
    twice = [*once, revision("Active"), *operation(PATCHED, revision("Inactive"), at="12:02", **HEAL)]

    assert operations_of("team", once) == []
    assert operations_of("team", twice) == ["c1"]


@pytest.mark.parametrize(
    ("before", "counted"),
    [
        ([revision("Active", "ADDED")], ["c1"]),
        ([revision("Active", "ADDED"), revision("Active", gone="soon")], []),
        ([revision("Active", "ADDED"), revision("Active", "DELETED")], []),
        ([revision("Active", gone="soon"), revision("Active", "ADDED")], ["c1"]),
    ],
)
def test_a_heal_that_prunes_is_counted_unless_that_is_being_deleted_already(
    before: list[Any], counted: list[str]
) -> None:
    events = [*before, *operation("pruned", **HEAL)]

    assert operations_of("team", events) == counted


@pytest.mark.parametrize(
    ("before", "during", "counted"),
    [
        ([provider(1, "ADDED")], [], []),
        ([provider(1, "ADDED")], [provider(1)], []),
        # Crossplane, or Argo CD itself, wrote down who set which field.
        ([provider(1, "ADDED", labels={"a": "b"})], [provider(1, manager="other", labels={"a": "b"})], []),
        ([provider(1, "ADDED")], [provider(2)], ["c1"]),
        ([provider(1, "ADDED", labels={"a": "b"})], [provider(1, labels={"a": "c"})], ["c1"]),
        ([provider(1, "ADDED", annotations={"a": "b"})], [provider(1)], ["c1"]),
        ([provider(1, "ADDED")], [provider(1, "DELETED")], ["c1"]),
        ([], [provider(1, "ADDED")], ["c1"]),
        # It was not watched.
        ([], [], ["c1"]),
    ],
)
def test_a_heal_of_a_package_is_counted_if_it_changed_what_is_wanted(
    before: list[Any], during: list[Any], counted: list[str]
) -> None:
    events = [*before, *operation(HEALED, *during, key=("Provider", "old"), **HEAL), provider(9)]

    assert operations_of("team", events) == counted


def test_a_heal_that_changed_something_else_is_counted() -> None:
    message = "providerrevision.pkg.crossplane.io/old-1 configured"
    events = [revision("Inactive", "ADDED"), *operation(message, **HEAL)]

    assert operations_of("team", events) == ["c1"]


def test_what_a_commit_is_applied_by_always_is() -> None:
    events = [revision("Inactive", "ADDED"), *operation(PATCHED)]

    assert operations_of("team", events) == ["c1"]


@pytest.mark.parametrize(
    ("phase", "message", "failed"),
    [
        ("Running", "waiting for healthy state of Provider/store", False),
        ("Succeeded", "successfully synced (all tasks run)", False),
        ("Running", f'{FAILED} providers.pkg.crossplane.io "a" already exists{RETRYING}', True),
        ("Failed", f'{FAILED} providers.pkg.crossplane.io "a" already exists', True),
        ("Running", f'{FAILED} providers.pkg.crossplane.io "a" is invalid{RETRYING}', True),
        ("Failed", "one or more synchronization tasks completed unsuccessfully", True),
        ("Error", "failed to generate manifests", True),
    ],
)
def test_an_operation_that_is_tried_again_has_failed(phase: str, message: str, failed: bool) -> None:
    events = [told({"phase": phase, "message": message}, "12:00")]

    assert failures_of("team", events) == [message] * failed
