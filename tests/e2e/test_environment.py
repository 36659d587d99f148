"""What many tests share is made with nobody's settings, as everything else is."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def seen() -> tuple[list[Path], list[str]]:
    """What there is of whoever runs the tests, while something is made for all tests of a file."""
    settings = [name for name in os.environ if name.startswith("XPLOCK_") or name.upper().endswith("_PROXY")]
    return list(Path.home().iterdir()), settings


def test_what_is_made_for_many_tests_is_made_by_nobody(seen: tuple[list[Path], list[str]]) -> None:
    assert seen == ([], [])
