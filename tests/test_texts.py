"""Text from outside is shown without terminal sequences, at a readable length, and without secrets."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.texts import (
    SHOWN_CHARACTERS,
    counted,
    first_lines,
    first_names,
    hides_something,
    linked,
    redact,
    visible,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – text, größer 日本", "plain – text, größer 日本"),
        ("\x1b]0;x\x07\x1b[2J", r"\x1b]0;x\x07\x1b[2J"),
        ("a\tb\nc\rd\x00", r"a\tb\nc\rd\x00"),
        ("\x7f\x85\x9b", r"\x7f\x85\x9b"),
        ("\u202e\u2066\u200b\u2028\ufeff\u00ad", r"\u202e\u2066\u200b\u2028\ufeff\xad"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("😀", "😀"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("length", "shown"), [(SHOWN_CHARACTERS, "x" * 500), (SHOWN_CHARACTERS + 1, "x" * 499 + "…")]
)
def test_long_text_is_cut_and_shows_it(length: int, shown: str) -> None:
    assert visible("x" * length) == shown


@given(st.text())
def test_nothing_that_is_shown_hides_anything(text: str) -> None:
    assert not hides_something(visible(text))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", visible(text))


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=100))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert not hides_something(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:secret@h.example/x", "https://***@h.example/x"),
        ("see https://secret@h.example.", "see https://***@h.example."),
        ("https://h.example/x?token=secret&a=secret#f", "https://h.example/x?token=***&a=***#f"),
        ("https://h.example?a", "https://h.example?a=***"),
        ("HTTPS://user:secret@h", "HTTPS://***@h"),
        ("git+ssh://git:secret@h/x and http://a:secret@b", "git+ssh://***@h/x and http://***@b"),
        ("https://user:sec@ret@h/x", "https://***@h/x"),
        ("no url: a@b.example", "no url: a@b.example"),
        ("h.example/x@sha256:abc", "h.example/x@sha256:abc"),
        ("https://u:se'cret@h/p", "https://***@h/p"),
        ('"https://u:se"cret@h/p"', '"https://***@h/p"'),
        ("'http://u:<secret>@h'", "'http://***@h'"),
        ("'https://h/p' of 'robin@example.org'", "'https://h/p' of 'robin@example.org'"),
    ],
)
def test_secrets_in_addresses_become_stars(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text", ["a." * 500_000, "a://" * 250_000, "a:" * 500_000, "a://" + "b" * 1_000_000, "://" * 300_000]
)
def test_a_megabyte_of_odd_text_is_no_work(text: str) -> None:
    # By the square of the length this would take an hour; the runner would not wait for it.
    assert "secret" not in redact(text + " https://u:secret@h")


def test_of_many_lines_the_first_are_shown_and_the_rest_is_counted() -> None:
    lines = [str(number) for number in range(1_005)]

    assert first_lines(lines[:3], 3) == ["0", "1", "2"]
    assert first_lines(lines, 2) == ["0", "1", "… and 1,003 more"]


def test_of_many_names_the_first_are_in_one_line_and_the_rest_is_counted() -> None:
    names = [str(number) for number in range(1_005)]

    assert first_names(names[:3], 3) == "0, 1, 2"
    assert first_names(names, 2) == "0, 1 and 1,003 more"
    assert first_names([], 2) == ""


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 packages"), (1, "1 package"), (2, "2 packages"), (1_000, "1,000 packages")]
)
def test_one_and_many_are_counted_in_words_that_suit_them(number: int, text: str) -> None:
    assert counted(number, "package") == text


def test_a_chain_is_one_line_while_it_fits() -> None:
    assert linked(["a", "b", "a"]) == ["a -> b -> a"]
    assert linked(["a", "b"], " uses ") == ["a uses b"]


def test_a_long_chain_has_one_member_per_line_so_that_none_is_cut() -> None:
    members = [f"{'x' * 100}{i}" for i in range(12)]

    lines = linked(members)

    assert lines == [members[0], *(f"-> {member}" for member in members[1:])]
    assert all(visible(line) == line for line in lines)
