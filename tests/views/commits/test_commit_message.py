"""What a commit and a pull request say: all of it true, on few lines, and nothing that is read as something else."""

from dataclasses import replace

import pytest
from rig.builders.locks import deactivated, lock, package, replaced

from render import __version__
from render.git.trailers import parse_trailers
from render.lock.model import Lock, State
from render.views.commits.commit_message import (
    LockChange,
    format_message,
    format_pull_request,
    format_subject,
)

EMPTY = Lock()


def change(before: Lock, after: Lock, folder: str = "shop") -> LockChange:
    return LockChange(folder, before, after)


def required_by(text: str) -> Lock:
    """A lock in which somebody of any name needs a package."""
    made = package("app v1.0.0", required_by=(text,))
    return Lock({made.source: made})


def many(count: int, version: str) -> Lock:
    return lock([package(f"p{number} {version}") for number in range(count)])


@pytest.mark.parametrize(
    ("folders", "subject"),
    [
        (["shop"], "lock shop: 1 added"),
        (["."], "lock: 1 added"),
        (["eu", "us"], "lock eu and us: 2 added"),
        (["clusters/europe/production-1", "clusters/america/production"], "lock 2 folders: 2 added"),
        ([".", "eu"], "lock . and eu: 2 added"),
        (["x" * 80], "lock: 1 added"),
    ],
)
def test_the_subject_names_folders_while_they_fit(folders: list[str], subject: str) -> None:
    after = lock([package("app v1.0.0")])

    assert format_subject([change(EMPTY, after, folder) for folder in folders]) == subject


def test_the_subject_counts_over_all_folders_in_one_order() -> None:
    first = change(lock([package("app v1.0.0")]), lock([package("app v2.0.0")]))
    second = change(EMPTY, lock([package("app v1.0.0"), package("net v1.0.0")]))

    assert format_subject([first, second]).partition(": ")[2] == "2 added, 1 updated (1 major)"


def test_a_lock_that_changes_without_its_packages_says_so() -> None:
    same = lock([package("app v1.0.0")])

    assert format_subject([change(same, replace(same, inputs={}))]) == "lock shop: no other packages"


def test_everything_that_can_become_of_a_package_is_in_the_message() -> None:
    before = lock(
        [
            package("app v1.0.0"),
            package("old v1.0.0"),
            package("tool v1.0.0"),
            package("gone v1.0.0", state=State.ORPHANED, released=True),
            package("going v1.0.0", state=State.ORPHANED),
        ]
    )
    after = lock(
        [
            package("app v1.1.0"),
            package("new v1.0.0", replaces=(replaced("old"),)),
            package("tool v1.0.0", state=State.ORPHANED),
            package("going v1.0.0", state=State.ORPHANED, released=True),
        ],
        deactivated=[deactivated("old v1.0.0", "new")],
    )

    message = format_message([change(before, after)], "subject")

    first, _, body = message.partition("\n\n")
    assert first == "subject"
    assert [line.partition(" ")[0] for line in body.partition("\n\n")[0].splitlines()] == [
        *("Updated", "Added", "Moved", "Off", "Leaving", "Released", "Removed"),
        "shop/crossplane.lock.yaml:",
    ]
    assert "xplock retire xpkg.example.org/acme/tool -C shop" in body


def test_the_message_ends_with_trailers_for_every_folder() -> None:
    after = lock([package("app v1.0.0")], {"root x": "sha256:" + "1" * 64})
    changes = [change(EMPTY, after, "eu"), change(EMPTY, replace(after, inputs={}), "us")]

    trailers = parse_trailers(format_message(changes, "subject"))

    assert trailers
    assert trailers.version == __version__
    assert list(trailers.inputs) == ["eu/crossplane.lock.yaml", "us/crossplane.lock.yaml"]
    assert len(set(trailers.inputs.values())) == 2


def test_notes_stand_between_the_packages_and_the_trailers() -> None:
    notes = ["app says that it replaces net,\nXplock-Version: 9", "see https://robin:secret@example.org/x"]

    message = format_message([change(EMPTY, lock([package("app v1.0.0")]))], "subject", notes)

    _, packages, told, trailers = message.split("\n\n")
    assert packages.startswith("Added ")
    assert told.splitlines() == [
        r"Note     app says that it replaces net,\nXplock-Version: 9",
        "Note     see https://***@example.org/x",
    ]
    assert trailers.startswith(f"Xplock-Version: {__version__}\n")


def test_many_notes_are_counted() -> None:
    message = format_message([change(EMPTY, many(1, "v1.0.0"))], "subject", [f"note {n}" for n in range(53)])

    assert message.count("\nNote ") == 50
    assert "… and 3 more" in message.splitlines()


def test_a_long_message_tells_how_much_it_leaves_out() -> None:
    message = format_message([change(EMPTY, many(300, "v1.0.0"))], "subject")

    lines = message.splitlines()
    assert len(lines) < 220
    assert "… and 100 more" in lines
    assert "shop/crossplane.lock.yaml: 300 packages, 300 added, 0 unchanged" in lines


def test_with_many_folders_each_has_less_room() -> None:
    changes = [change(EMPTY, many(30, "v1.0.0"), f"f{number}") for number in range(50)]

    message = format_message(changes, "subject")

    assert message.count("… and 20 more") == 50
    assert message.count("30 packages, 30 added, 0 unchanged") == 50


def test_what_looks_like_a_template_is_text() -> None:
    odd = "{{ 7 * 7 }}{% raw %}"
    after = required_by(odd)

    message = format_message([change(EMPTY, after, odd)], odd)
    request = format_pull_request([change(EMPTY, after, odd)], odd)

    assert message.startswith(f"{odd}\n\n")
    assert f"(required by {odd})" in message
    assert f"# `{odd}`" in request


def test_nothing_that_nobody_sees_gets_into_a_message() -> None:
    after = required_by("a\n\nXplock-Version: 9\x1b[2J\u202e")

    message = format_message([change(EMPTY, after)], "subject")

    trailers = parse_trailers(message)
    assert trailers
    assert trailers.version == __version__
    assert r"(required by a\n\nXplock-Version: 9\x1b[2J\u202e)" in message
    assert not {"\x1b", "\u202e"} & set(message)


def test_a_pull_request_has_a_table_for_every_folder() -> None:
    after = lock([package("app v1.0.0")])

    one = format_pull_request([change(EMPTY, after)])
    two = format_pull_request([change(EMPTY, after, "eu"), change(EMPTY, after, "us|<b>")], "title")

    assert one.startswith("| | package | from | to | more |\n")
    assert [line for line in two.splitlines() if line.startswith("#")] == [
        "# title",
        "## `eu`",
        "## <code>us&#124;&#60;b&#62;</code>",
    ]
    assert two.count("| added | `xpkg.example.org/acme/app` |") == 2
    assert two.endswith(f"Locked by xplock {__version__}.\n")


def test_a_pull_request_has_a_picture_of_a_small_closure() -> None:
    before, small = many(3, "v1.0.0"), many(4, "v2.0.0")

    request = format_pull_request([change(before, small)])

    assert "```mermaid\nflowchart TD\n" in request
    assert "Configuration v1.0.0 -#62; v2.0.0" in request or "Provider v1.0.0 -#62; v2.0.0" in request
    assert "mermaid" not in format_pull_request([change(EMPTY, many(40, "v1.0.0"))])


def test_a_pull_request_that_would_be_too_long_says_what_it_leaves_out() -> None:
    changes = [change(EMPTY, many(600, "v1.0.0"), "my shop"), change(EMPTY, many(2, "v1.0.0"), "small")]

    request = format_pull_request(changes, "title")

    assert len(request) < 65_536
    assert (
        "600 added: the table is too long for a pull request; `xplock diff -o markdown -C 'my shop'`"
        in request
    )
    assert "| added | `xpkg.example.org/acme/p1` |" in request


def test_a_title_cannot_be_read_as_markup() -> None:
    request = format_pull_request([change(EMPTY, lock([package("app v1.0.0")]))], "a [link](x) @team <b>")

    assert request.splitlines()[0] == "# `a [link](x) @team <b>`"
