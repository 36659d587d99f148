"""Differences as people and programs read them; package text stays text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.locks import digest, lock, package

from render.lock.diff import ChangedPackage, DiffedPackage, LockDiff, diff_locks
from render.views.diff import diff_document, format_diff, format_markdown

ACME = "xpkg.example.org/acme"
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
        f"  dependencies: - {ACME}/net >=v1.0.0\n"
        f"  dependencies: - {ACME}/old *\n"
        f"  dependencies: + {ACME}/net >=v1.1.0\n"
        f"Updated {ACME}/net v1.2.0 -> v1.10.0\n"
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
                "dependencies": [f"{ACME}/net *"],
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
                "dependencies": {
                    "added": [f"{ACME}/net >=v1.1.0"],
                    "removed": [f"{ACME}/net >=v1.0.0", f"{ACME}/old *"],
                },
            },
            {
                "source": f"{ACME}/net",
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
    }


def test_markdown_for_a_pull_request() -> None:
    assert format_markdown(DIFF) == (
        "| | package | from | to | more |\n"
        "|---|---|---|---|---|\n"
        f"| changed | `{ACME}/app` |  |  | dependencies: - `{ACME}/net >=v1.0.0`, - `{ACME}/old *`, "
        f"+ `{ACME}/net >=v1.1.0` |\n"
        f"| updated | `{ACME}/net` | `v1.2.0` | `v1.10.0` | digest: `sha256:1a2a00000000…` → `sha256:1a10a0000000…`"
        f"<br>requiredBy: + `{ACME}/mail`"
        "<br>objects: - `3 CustomResourceDefinition`, + `4 CustomResourceDefinition` |\n"
        f"| added | `{ACME}/mail` |  | `v2.0.0` | kind: `Provider`<br>object: `acme-mail`<br>root: `v2.0.0` |\n"
        f"| removed | `{ACME}/old` | `v1.0.0` |  |  |\n"
        "\n"
        "Inputs:\n"
        "\n"
        "- `root Provider/app changed`\n"
    )


def test_equal_locks_are_told_in_each_form() -> None:
    assert format_diff(LockDiff()) == format_markdown(LockDiff()) == "No differences.\n"
    assert diff_document(LockDiff())["equal"]


def hostile_diff(text: str) -> LockDiff:
    aspects = {"version": (text,), "kind": (text,), "object": (text,), "requiredBy": (text, text)}
    changes = {"version": ((text,), ("v1",)), "dependencies": ((), (text,)), "family": ((text,), ())}
    return LockDiff(
        (DiffedPackage(text, aspects),),
        (DiffedPackage(text, aspects),),
        (ChangedPackage(text, changes),),
        (text,),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_package_text_cannot_leave_its_cell(text: str) -> None:
    written = format_markdown(hostile_diff(text))

    rows = [line for line in written.splitlines() if line.startswith("|")]
    assert len(written.splitlines()) == len(rows) + 4 == 9
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
    assert len(written.splitlines()) == 7
