"""A failure has three parts, an exit code, and nothing in it that a terminal would obey."""

import pytest

from render.errors import Differs, InvalidInput, RenderError, Unsatisfiable


def test_it_is_written_as_what_why_and_next() -> None:
    error = RenderError("it broke", why=["first", "second"], next="mend it")

    assert str(error) == "it broke\n  why:  first\n        second\n  next: mend it"


def test_parts_may_be_missing() -> None:
    assert str(RenderError("it broke")) == "it broke"
    assert str(RenderError("it broke", next=["a", "b"])) == "it broke\n  next: a\n        b"


def test_a_single_text_is_a_part_of_one_line() -> None:
    error = RenderError("x", why="because", next="do")

    assert (error.why, error.next) == (("because",), ("do",))


@pytest.mark.parametrize(
    ("error", "code"), [(RenderError, 1), (InvalidInput, 2), (Differs, 3), (Unsatisfiable, 4)]
)
def test_each_has_its_exit_code(error: type[RenderError], code: int) -> None:
    assert error("x").exit_code == code


def test_every_part_is_made_visible_and_loses_its_secrets() -> None:
    text = "\x1b[2J\nhttps://u:secret@h.example/?t=secret"

    shown = str(RenderError(text, why=text, next=[text, text]))

    assert "secret" not in shown
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 4


def test_every_part_has_a_bound() -> None:
    shown = str(RenderError("x" * 10_000, why="y" * 10_000))

    assert len(shown) < 1_100


def test_advice_is_not_cut_since_it_may_be_a_command() -> None:
    command = "xplock retire " + " ".join(f"xpkg.example.org/acme/package-{i}" for i in range(100))

    assert command in str(RenderError("x", next=command))
    assert len(str(RenderError("x", next="y" * 1_000_000))) < 100_000


def test_a_secret_is_found_where_the_text_is_cut() -> None:
    shown = str(RenderError("x" * 440 + " https://user:" + "secret" * 100 + "@h.example"))

    assert "secret" not in shown
