"""What was let go of is told with what the cluster will do."""

from typing import Any

import pytest
from rig.builders.locks import lock, package, source

from render.lifecycle.retiring.blockers import LockedFolder
from render.lifecycle.retiring.retire import Retirement
from render.lock.model import LockedPackage, State
from render.packages import Kind
from render.views.retirement import format_retirements, retirement_document, retirement_hints

LEFT = lock([package("keep v1.0.0")])


def orphan(text: str, **more: Any) -> LockedPackage:
    return package(text, **{"state": State.ORPHANED, **more})


def made(name: str = ".", **packages: tuple[LockedPackage, ...]) -> Retirement:
    return Retirement(LockedFolder(name, LEFT), LEFT, **packages)


DELETED = pytest.mark.parametrize(
    ("leaving", "rest"),
    [
        (orphan("net v1.0.0"), "Provider acme-net."),
        (
            orphan(
                "net v1.0.0",
                objects={"CustomResourceDefinition": 1200, "Composition": 1},
                groups=("x.example",),
            ),
            "Provider acme-net and what it installed (1 Composition, 1,200 CustomResourceDefinition), "
            "and every resource of the kinds that are defined there.",
        ),
        (
            orphan("net v1.0.0", kind=Kind.CONFIGURATION, objects={"Composition": 2}),
            "Configuration acme-net and what it installed (2 Composition).",
        ),
        (
            orphan("net v1.0.0", kind=Kind.FUNCTION),
            "Function acme-net; a Composition that still names it stops working.",
        ),
        (
            orphan(
                "net v1.0.0",
                state=State.DEACTIVATED,
                objects={"CustomResourceDefinition": 3},
                groups=("x.example",),
                replaced_by=(source("a"), source("b")),
            ),
            f"Provider acme-net; what it installed stays, with {source('a')} and {source('b')}.",
        ),
    ],
    ids=["nothing", "definitions", "no definitions", "a Function", "a successor"],
)


@DELETED
def test_what_is_deleted_with_a_dropped_package_is_told(leaving: LockedPackage, rest: str) -> None:
    assert retirement_hints([made(dropped=(leaving,))]) == [
        f"With its next sync that prunes Argo CD deletes {rest}"
    ]


@DELETED
def test_the_first_step_says_what_is_deleted_with_the_second(leaving: LockedPackage, rest: str) -> None:
    hints = retirement_hints([made(released=(leaving,))])

    assert hints[0].endswith("that deletes nothing yet.")
    assert hints[1:] == [f"After the second step Argo CD deletes {rest}"]


def test_many_packages_are_counted() -> None:
    released = tuple(orphan(f"p{i} v1.0.0") for i in range(6))

    assert retirement_hints([made(released=released)])[0] == (
        "With its next sync Argo CD takes the guard off 6 packages; that deletes nothing yet."
    )


def test_a_folder_in_which_nothing_happened_is_not_told_of() -> None:
    text = format_retirements([made("a"), made("b", dropped=(orphan("net v1.0.0"),))])

    assert text.splitlines() == [
        "b:",
        f"Dropped  {source('net')} v1.0.0",
        "b/crossplane.lock.yaml: 1 dropped, 1 package left",
    ]


def test_a_command_names_folders_as_a_shell_takes_them() -> None:
    released = made("my shop", released=(orphan("net v1.0.0"),))

    assert f"(sync, then: xplock retire {source('net')} -C 'my shop' --synced)" in format_retirements(
        [released]
    )
    assert retirement_document(released)["next"] == f"xplock retire {source('net')} -C 'my shop' --synced"


def test_nothing_that_a_terminal_would_obey_is_written() -> None:
    odd = made("\x1b[31m", released=(orphan("net v1.0.0"),))

    assert "\x1b" not in format_retirements([odd])


def test_a_document_of_nothing_more_to_do_has_no_command() -> None:
    assert retirement_document(made(dropped=(orphan("net v1.0.0"),)))["next"] is None
