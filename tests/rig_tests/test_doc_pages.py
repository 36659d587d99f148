"""Pages are read as a person reads them: blocks, sessions, anchors, and outputs with lines left out."""

from pathlib import Path

import pytest
from rig.docs.pages import anchors, is_shown, links, read_blocks, read_sessions

PAGE = """\
# A page

<!-- run: example shop, write: a.yaml -->
```yaml
a: 1
```

## How to `do` it

<!-- run: same -->
```console
$ one

$ two
2
```

See [this](other.md#top).

<!-- run: empty -->
```sh
# no heading
three
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text(PAGE)
    return tmp_path / "page.md"


def test_a_block_has_its_section_and_its_steps(page: Path) -> None:
    file, session, script = read_blocks(page)

    assert [block.section for block in (file, session, script)] == ["A page", *["How to `do` it"] * 2]
    assert [step.command for step in file.steps] == ["cat >a.yaml <<'END'\na: 1\nEND"]
    assert [(step.command, step.shown) for step in session.steps] == [("one", ""), ("two", "2")]
    assert [(step.command, step.shown) for step in script.steps] == [("# no heading\nthree\n", None)]


def test_blocks_of_one_scene_are_one_session(page: Path) -> None:
    sessions = read_sessions(page)

    assert [(session.scene, len(session.blocks)) for session in sessions] == [
        ("example shop", 2),
        ("empty", 1),
    ]


def test_headings_have_the_anchors_of_a_git_server_and_comments_of_a_shell_have_none(page: Path) -> None:
    assert anchors(page) == {"a-page", "how-to-do-it"}
    assert list(links(page)) == ["other.md#top"]


@pytest.mark.parametrize(
    ("shown", "output", "expected"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\nc\n", False),
        ("a", "a\nb\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n...\nd", "a\nb\nc\ne\n", False),
        ("a.", "ab\n", False),
        ("  a", "  a\n", True),
        ("a", "  a\n", False),
        ("", "", True),
        ("", "a\n", False),
    ],
)
def test_a_line_of_dots_stands_for_lines_that_are_left_out(shown: str, output: str, expected: bool) -> None:
    assert is_shown(shown, output) is expected
