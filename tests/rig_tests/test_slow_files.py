"""The list of slow files: every line of it counts, and what it names is left out of `make quick`."""

from pathlib import Path

import pytest
from rig.slow_files import SLOW, TESTS, is_slow


@pytest.mark.parametrize("pattern", SLOW)
def test_every_pattern_names_a_file_that_exists(pattern: str) -> None:
    assert list(TESTS.glob(pattern))


def test_a_file_is_slow_by_its_folder_or_its_name() -> None:
    names = ("threats/test_git.py", "argocd/test_plugin.py", "argocd/test_parameters.py", "test_names.py")

    assert [is_slow(TESTS / name) for name in names] == [True, True, False, False]


def test_a_fast_file_is_not_marked(request: pytest.FixtureRequest) -> None:
    assert not is_slow(Path(__file__))
    assert not request.node.get_closest_marker("slow")
