"""Candidates are strict semantic versions in semver's order, and a step between two versions has a size."""

import random
import subprocess
import sys
from itertools import pairwise

import pytest
import semver
from hypothesis import given
from hypothesis import strategies as st

from render.versions.semantic import Step, order_candidates, step_between
from render.versions.version import parse_candidate

_PARTS = st.integers(0, 3) | st.integers(0, (1 << 64) - 1)
_ENDINGS = st.lists(st.from_regex(r"0|[1-9][0-9]{0,25}|[0-9]{0,2}[A-Za-z-]{1,3}", fullmatch=True), max_size=4)


@st.composite
def _versions(draw: st.DrawFn) -> str:
    core = ".".join(str(draw(_PARTS)) for _ in range(3))
    prerelease = ".".join(draw(_ENDINGS))
    return core + (f"-{prerelease}" if prerelease else "") + draw(st.sampled_from(["", "+b", "+01.x"]))


def texts(tags: list[str]) -> list[str]:
    return [version.text for version in order_candidates(tags)]


def test_only_strict_semantic_versions_are_candidates_and_the_lowest_comes_first() -> None:
    tags = ["v1.10.0", "latest", "v1.9.0", "v1", "v1.0", "v01.2.3", "1.9.1", "v2.0.0-rc.1", "sha256-ab.sig"]

    assert texts(tags) == ["v1.9.0", "1.9.1", "v1.10.0", "v2.0.0-rc.1"]


@pytest.mark.parametrize(
    "tag",
    [
        # Versions to the semver package, and no tags that a registry can have.
        *("1.2.3\n", "1.2.1\uff13", "1.2.3-\u0661"),
        # Too large for Crossplane, and for Python's own int().
        *("18446744073709551616.0.0", "9" * 5_000 + ".0.0", "1.0.0-" + "a" * 200),
    ],
)
def test_what_is_out_of_bounds_is_no_candidate(tag: str) -> None:
    assert texts([tag, "v1.0.0"]) == ["v1.0.0"]


def test_a_tie_goes_to_the_spelling_with_a_v_in_whatever_order_the_tags_come() -> None:
    expected = ["v0.1.0", "1.2.3", "1.2.3+c", "v1.2.3", "v1.2.3+b", "v2.0.0-rc.1"]
    tags = list(expected)

    for seed in range(20):
        random.Random(seed).shuffle(tags)

        assert texts(tags) == expected


@given(st.lists(_versions(), max_size=8))
def test_the_order_is_that_of_the_semver_package(tags: list[str]) -> None:
    ordered = [semver.Version.parse(text) for text in texts(tags)]

    assert len(ordered) == len(tags)
    assert all(low <= high for low, high in pairwise(ordered))


@given(st.text() | st.text("0123456789v.-+ab", max_size=20) | _versions() | _versions().map("v{}".format))
def test_a_locked_tag_is_a_version_exactly_if_it_would_be_a_candidate(text: str) -> None:
    # Rendering does without the semver package, so there are two readers: they must agree.
    locked = parse_candidate(text)

    assert list(order_candidates([text])) == ([locked] if locked else [])


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("v1.2.3", "v2.0.0", Step.MAJOR),
        ("v1.2.3", "v3.4.5-rc.1", Step.MAJOR),
        ("v0.9.0", "v1.0.0", Step.MAJOR),
        ("v1.2.3", "v1.3.0", Step.MINOR),
        ("1.2.3", "v1.3.0-rc.1", Step.MINOR),
        ("v1.2.3", "v1.2.4", Step.PATCH),
        ("v0.2.3", "v0.2.4", Step.PATCH),
        ("v1.2.3-rc.1", "v1.2.3-rc.2", Step.PRERELEASE),
        ("v1.2.3-rc.1", "v1.2.3", Step.PRERELEASE),
        ("v0.2.3", "v0.3.0", Step.MINOR_BELOW_1),
        ("v2.0.0", "v1.9.9", Step.DOWNGRADE),
        ("v1.2.3", "v1.2.3-rc.1", Step.DOWNGRADE),
        ("v0.3.0", "v0.2.0", Step.DOWNGRADE),
        ("v1.2.3", "v1.2.3", Step.DIGEST),
        ("v1.2.3", "1.2.3+build", Step.DIGEST),
    ],
)
def test_a_step_is_as_large_as_the_first_number_that_differs(old: str, new: str, step: Step) -> None:
    assert step_between(old, new) is step


@pytest.mark.parametrize(
    ("old", "new"),
    [(None, "v1.0.0"), ("v1.0.0", None), ("main", "v1.0.0"), ("v1", "v2.0.0"), ("dev", "main")],
)
def test_a_step_from_or_to_something_that_is_no_version_has_no_size(old: str | None, new: str | None) -> None:
    assert step_between(old, new) is None


def test_a_tag_that_is_no_version_may_get_another_digest() -> None:
    assert step_between("main", "main") is Step.DIGEST


def test_what_may_break_is_named_by_its_step() -> None:
    assert [step for step in Step if step.may_break] == [Step.DOWNGRADE, Step.MAJOR, Step.MINOR_BELOW_1]
    # In JSON the word is the number that changed; that it may break is told beside it.
    assert Step.MINOR_BELOW_1.word == "minor"


def test_the_semver_package_is_loaded_only_when_versions_are_compared() -> None:
    script = "import sys, render.versions.semantic; print('semver' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_ten_thousand_tags_are_parsed_and_ordered() -> None:
    tags = [_made_up_tag(random.Random(number)) for number in range(10_000)]

    ordered = order_candidates(tags)

    assert len(ordered) > 5_000
    assert all(low <= high for low, high in pairwise(ordered))


def _made_up_tag(chance: random.Random) -> str:
    core = f"{chance.randrange(9)}.{chance.randrange(99)}.{chance.randrange(99)}"
    return chance.choice([f"v{core}", core, f"v{core}-rc.{chance.randrange(99)}", f"main-{core}"])
