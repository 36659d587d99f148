"""Words for type checkers, as they are when the program runs."""

import pytest

from render import lean

WORDS = ("Any", "NoReturn", "TextIO", "TypeAlias")


@pytest.mark.parametrize("word", WORDS)
def test_a_word_can_stand_beside_a_class(word: str) -> None:
    assert getattr(lean, word) | None


def test_a_new_type_takes_a_value_as_it_is() -> None:
    name = lean.NewType("name", str)

    assert name("app") == "app"
    assert name | None


def test_a_type_variable_can_stand_beside_a_class() -> None:
    any_type = lean.TypeVar("any_type")

    assert any_type | None
