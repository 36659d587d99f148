"""Differences as people and programs read them; package text stays text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import deactivated, digest, lock, package, provided, replaced, rich_lock, source

from render.lock.diff import ChangedPackage, DiffedPackage, LockDiff, diff_locks
from render.lock.model import Lock, State
from render.views.diff import diff_document, format_diff, format_markdown

ACME = "xpkg.example.org/acme"
KIND = "(pkg.crossplane.io/v1 Provider)"
OLD = lock(
    [
        package("app v1.0.0", "net >=v1.0.0", "old *"),
        package("net v1.2.0", objects={"CustomResourceDefinition": 3}),
        package("old v1.0.0"),
        package("same v1.0.0"),
    ],
    {"root Provider/app": digest("aa")},
)
NEW = lock(
    [
        package("app v1.0.0", "net >=v1.1.0"),
        package("net v1.10.0", objects={"CustomResourceDefinition": 4}),
        package("mail v2.0.0", "net *"),
        package("same v1.0.0"),
    ],
    {"root Provider/app": digest("bb")},
)
DIFF = diff_locks(OLD, NEW)
HOSTILE = [
    "a|b",
    "a\\|b",
    "`a`",
    "``",
    "@org/team",
    "[x](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "<img src=x onerror=alert(1)>",
    "a\n| b | c |",
    "a\r\n\r\n# heading",
    "\x1b[2J",
    "\u202eabc",
    " a ",
    "</code><script>",
    "&#60;",
    "#123 GH-1 org/repo#1",
    "https://evil.example",
]


def test_text_for_a_person() -> None:
    assert format_diff(DIFF) == (
        f"Changed {ACME}/app\n"
        f"  dependencies: - {ACME}/net >=v1.0.0 {KIND}\n"
        f"  dependencies: - {ACME}/old * {KIND}\n"
        f"  dependencies: + {ACME}/net >=v1.1.0 {KIND}\n"
        f"Updated {ACME}/net v1.2.0 -> v1.10.0 (minor)\n"
        f"  digest: {digest('1a2a')} -> {digest('1a10a')}\n"
        f"  requiredBy: + {ACME}/mail\n"
        f"  objects: - 3 CustomResourceDefinition\n"
        f"  objects: + 4 CustomResourceDefinition\n"
        f"Added {ACME}/mail v2.0.0 (Provider acme-mail; asked for as v2.0.0)\n"
        f"Removed {ACME}/old v1.0.0 (Provider acme-old; required by {ACME}/app)\n"
        f"Inputs\n"
        f"  root Provider/app changed\n"
    )


def test_json_for_a_program() -> None:
    document = diff_document(DIFF)

    assert json.loads(json.dumps(document)) == document
    assert document == {
        "equal": False,
        "added": [
            {
                "source": f"{ACME}/mail",
                "version": "v2.0.0",
                "digest": digest("2a0a"),
                "kind": "Provider",
                "object": "acme-mail",
                "root": "v2.0.0",
                "dependencies": [f"{ACME}/net * {KIND}"],
            }
        ],
        "removed": [
            {
                "source": f"{ACME}/old",
                "version": "v1.0.0",
                "digest": digest("1a0a"),
                "kind": "Provider",
                "object": "acme-old",
                "requiredBy": [f"{ACME}/app"],
            }
        ],
        "changed": [
            {
                "source": f"{ACME}/app",
                "step": None,
                "mayBreak": False,
                "dependencies": {
                    "added": [f"{ACME}/net >=v1.1.0 {KIND}"],
                    "removed": [f"{ACME}/net >=v1.0.0 {KIND}", f"{ACME}/old * {KIND}"],
                },
            },
            {
                "source": f"{ACME}/net",
                "step": "minor",
                "mayBreak": False,
                "version": {"old": "v1.2.0", "new": "v1.10.0"},
                "digest": {"old": digest("1a2a"), "new": digest("1a10a")},
                "requiredBy": {"added": [f"{ACME}/mail"], "removed": []},
                "objects": {
                    "added": ["4 CustomResourceDefinition"],
                    "removed": ["3 CustomResourceDefinition"],
                },
            },
        ],
        "inputs": ["root Provider/app changed"],
        "lock": [],
        "explained": [],
    }


def test_markdown_for_a_pull_request() -> None:
    assert format_markdown(DIFF) == (
        "| | package | from | to | more |\n"
        "|---|---|---|---|---|\n"
        f"| changed | `{ACME}/app` |  |  | dependencies: - `{ACME}/net >=v1.0.0 {KIND}`, "
        f"- `{ACME}/old * {KIND}`, + `{ACME}/net >=v1.1.0 {KIND}` |\n"
        f"| updated, minor | `{ACME}/net` | `v1.2.0` | `v1.10.0` | digest: `sha256:1a2a00000000…` → `sha256:1a10a0000000…`"
        f"<br>requiredBy: + `{ACME}/mail`"
        "<br>objects: - `3 CustomResourceDefinition`, + `4 CustomResourceDefinition` |\n"
        f"| added | `{ACME}/mail` |  | `v2.0.0` | kind: `Provider`<br>object: `acme-mail`<br>root: `v2.0.0` |\n"
        f"| removed | `{ACME}/old` | `v1.0.0` |  |  |\n"
        "\n"
        "Inputs:\n"
        "\n"
        "- `root Provider/app changed`\n"
    )


STEPS = diff_locks(
    lock(
        [
            package("a v1.0.0"),
            package("b v1.0.0"),
            package("c v0.2.0"),
            package("d v2.0.0"),
            package("e v1.0.0"),
        ]
    ),
    lock(
        [
            package("a v1.0.1"),
            package("b v2.0.0"),
            package("c v0.3.0"),
            package("d v1.0.0"),
            package("e v1.0.0", digest=digest("ee")),
        ]
    ),
)


def test_steps_that_may_break_come_first_and_are_bold_in_markdown() -> None:
    text = [line for line in format_diff(STEPS).replace(f"{ACME}/", "").splitlines() if line[0] != " "]
    rows = [row.split(" | ")[:2] for row in format_markdown(STEPS).replace(f"{ACME}/", "").splitlines()[2:]]

    assert text == [
        "Updated b v1.0.0 -> v2.0.0 (major)",
        "Updated c v0.2.0 -> v0.3.0 (minor of 0.x)",
        "Updated d v2.0.0 -> v1.0.0 (downgrade)",
        "Updated a v1.0.0 -> v1.0.1 (patch)",
        "Changed e (same version, other digest)",
    ]
    assert rows == [
        ["| updated, **major**", "`b`"],
        ["| updated, **minor of 0.x**", "`c`"],
        ["| updated, **downgrade**", "`d`"],
        ["| updated, patch", "`a`"],
        ["| changed, same version, other digest", "`e`"],
    ]


def test_programs_get_the_steps_in_the_order_of_the_sources() -> None:
    steps = [(entry["step"], entry["mayBreak"]) for entry in diff_document(STEPS)["changed"]]

    assert steps == [
        *(("patch", False), ("major", True), ("minor", True), ("downgrade", True), ("digest", False)),
    ]


def test_equal_locks_are_told_in_each_form() -> None:
    assert format_diff(LockDiff()) == format_markdown(LockDiff()) == "No differences.\n"
    assert diff_document(LockDiff())["equal"]


MOVED = diff_locks(
    lock(
        [
            package("net v1.0.0"),
            package("store v1.0.0"),
            package("tool v1.0.0"),
            package("back v1.0.0", state=State.ORPHANED),
            package("free v1.0.0", state=State.ORPHANED),
            package("app v1.0.0", "dns *"),
            package("dns v1.0.0"),
        ]
    ),
    lock(
        [
            package(
                "mesh v2.0.0",
                installed_as=source("net"),
                object_name="acme-net",
                replaces=(replaced("net", "alias"),),
            ),
            package("disk v2.0.0", replaces=(replaced("store", consent="claim"),)),
            package("tool v1.0.0", state=State.ORPHANED),
            package("back v1.0.0"),
            package("free v1.0.0", state=State.ORPHANED, released=True),
            package("app v1.0.0", "dns *"),
        ],
        deactivated=[deactivated("store v1.0.0", "disk")],
        provided=[provided("dns v1.0.0")],
    ),
)


def test_what_moved_or_is_leaving_is_told_in_one_word() -> None:
    assert format_diff(MOVED) == (
        f"Returned {ACME}/back v1.0.0\n"
        "  root: none -> v1.0.0\n"
        "  state: orphaned -> wanted\n"
        f"Provided {ACME}/dns v1.0.0\n"
        "  providedBy: none -> ../platform\n"
        f"  requiredBy: - {ACME}/app\n"
        f"Released {ACME}/free v1.0.0\n"
        "  released: no -> yes\n"
        f"Moved {ACME}/net v1.0.0 -> {ACME}/mesh v2.0.0 by alias\n"
        f"  digest: {digest('1a0a0')} -> {digest('2a0a0')}\n"
        "  root: v1.0.0 -> v2.0.0\n"
        f"  replaces: + {ACME}/net by alias, consent: moves\n"
        f"  installedAs: none -> {ACME}/net\n"
        f"Off {ACME}/store v1.0.0\n"
        "  state: wanted -> deactivated\n"
        f"  replacedBy: + {ACME}/disk\n"
        "  root: v1.0.0 -> none\n"
        f"Leaving {ACME}/tool v1.0.0\n"
        "  state: wanted -> orphaned\n"
        "  root: v1.0.0 -> none\n"
        f"Added {ACME}/disk v2.0.0 (Provider acme-disk; asked for as v2.0.0)\n"
        f"  replaces: {ACME}/store by deactivate, consent: claim\n"
    )


def test_a_table_tells_what_moved_in_one_word_too() -> None:
    rows = format_markdown(MOVED).splitlines()[2:]

    assert [row.split("|")[1].strip() for row in rows] == [
        "returned",
        "provided",
        "released",
        "moved",
        "off",
        "leaving",
        "added",
    ]
    assert rows[3] == (
        f"| moved | `{ACME}/mesh` | `v1.0.0` | `v2.0.0` | from `{ACME}/net` by alias<br>"
        "digest: `sha256:1a0a00000000…` → `sha256:2a0a00000000…`<br>root: `v1.0.0` → `v2.0.0`<br>"
        f"replaces: + `{ACME}/net by alias, consent: moves`<br>installedAs: `none` → `{ACME}/net` |"
    )
    assert rows[4] == (
        f"| off | `{ACME}/store` |  |  | state: `wanted` → `deactivated`<br>"
        f"replacedBy: + `{ACME}/disk`<br>root: `v1.0.0` → `none` |"
    )
    assert rows[6].endswith(f"replaces: `{ACME}/store by deactivate, consent: claim` |")


def test_a_program_is_told_what_moved_from_where_and_how() -> None:
    moved = [package for package in diff_document(MOVED)["changed"] if "movedFrom" in package]

    assert [(one["source"], one["movedFrom"], one["strategy"]) for one in moved] == [
        (f"{ACME}/mesh", f"{ACME}/net", "alias")
    ]


def test_a_move_to_the_same_version_shows_it_twice() -> None:
    moved = LockDiff(changed=(ChangedPackage("b", {"tag": ((), ("x",))}, "v1.0.0", "a", "repoint"),))

    assert format_diff(moved).splitlines()[0] == "Moved a v1.0.0 -> b v1.0.0 by repoint"
    assert "| moved | `b` | `v1.0.0` | `v1.0.0` | from `a` by repoint" in format_markdown(moved)


def test_what_only_one_has_tells_where_it_is_in_its_life() -> None:
    everything = diff_locks(Lock(), rich_lock())

    lines = format_diff(everything).splitlines()

    assert (
        f"Added {ACME}/old-store v1.0.0 (Provider acme-old-store; deactivated; replaced by {ACME}/store)"
        in lines
    )
    assert f"Added {ACME}/mesh v1.0.0 (Provider acme-mesh; orphaned)" in lines
    assert f"Added {ACME}/dns v1.0.0 (Provider acme-dns; provided by ../platform)" in lines
    assert (
        f"Added {ACME}/net v1.2.0 (Provider acme-old-net; required by {ACME}/app; alias of {ACME}/old-net)"
        in lines
    )


def test_why_an_entry_should_not_be_there_stands_behind_it() -> None:
    gone = LockDiff(removed=(DiffedPackage("a", {"version": ("v1",)}, "replaced by b"),))

    assert format_diff(gone) == "Removed a v1 (replaced by b)\n"
    assert format_markdown(gone).splitlines()[-1] == "| removed | `a` | `v1` |  | `replaced by b` |"
    assert diff_document(gone)["removed"] == [{"source": "a", "version": "v1", "note": "replaced by b"}]


def test_what_is_no_difference_is_explained_and_equal() -> None:
    explained = LockDiff(explained=("a v1 is detached",))

    assert explained.equal
    assert format_diff(explained) == "No differences.\nNot a difference\n  a v1 is detached\n"
    assert format_markdown(explained) == "No differences.\n\nNot a difference:\n\n- `a v1 is detached`\n"
    assert diff_document(explained)["explained"] == ["a v1 is detached"]


def hostile_diff(text: str) -> LockDiff:
    aspects = {"version": (text,), "kind": (text,), "object": (text,), "requiredBy": (text, text)}
    changes = {"version": ((text,), ("v1",)), "dependencies": ((), (text,)), "family": ((text,), ())}
    return LockDiff(
        (DiffedPackage(text, aspects, text),),
        (DiffedPackage(text, aspects, text),),
        (ChangedPackage(text, changes, text, text),),
        (text,),
        (text,),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_package_text_cannot_leave_its_cell(text: str) -> None:
    written = format_markdown(hostile_diff(text))

    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert len(written.splitlines()) == len(rows) + 8 == 13
    assert all(_bare(row).count("|") == 6 for row in rows)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", written)
    # Outside of code there are only our own words and line breaks.
    assert re.fullmatch(r"[a-zA-Z :|,+→<>/-]*", "".join(map(_bare, rows)))
    assert set(re.findall(r"<[^>]*>", "".join(map(_bare, rows)))) <= {"<br>"}


@given(st.text())
def test_no_text_can_leave_its_cell(text: str) -> None:
    rows = [line for line in format_markdown(hostile_diff(text)).split("\n") if line.startswith("|")]

    assert len(rows) == 5
    assert all(_bare(row).count("|") == 6 for row in rows)


def _bare(row: str) -> str:
    row = re.sub(r"<code>[^<>`|\\]*</code>", "", row)
    return re.sub(r"`[^`|\\]+`", "", row)


@pytest.mark.parametrize("text", HOSTILE)
def test_terminal_sequences_never_reach_the_terminal(text: str) -> None:
    written = format_diff(hostile_diff(text))

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", written)
    assert len(written.splitlines()) == 9
