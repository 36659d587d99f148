"""Constraints mean here what they mean to Crossplane, which asks Masterminds/semver v3."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.limits import Limits
from render.versions.constraints import ANY, InvalidConstraint, parse_constraint
from render.versions.semantic import order_candidates
from render.versions.version import parse_version

_DATA = Path(__file__).parents[1] / "data"
_DIGEST = "sha256:" + "0123456789abcdef" * 4
_PIECES = (
    *(" ", ",", "||", "|", " - ", "-", "+", ".", "v", "x", "*", "0", "1", "2", "10", "99999999999999999999"),
    *("=", "!=", ">", "<", ">=", "<=", "~", "^", "1.2", "1.2.3", "-rc.1", "+b", "é", "\n", "\v", "sha256:"),
)
_TEXTS = st.text() | st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


def _verdict(constraint: str, version: str) -> str:
    try:
        accepted = parse_constraint(constraint).accepts(parse_version(version))
    except InvalidConstraint:
        return "bad constraint"
    return "yes" if accepted else "no"


def _rows(name: str) -> Iterator[tuple[str, str, str]]:
    for line in (_DATA / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            constraint, version, verdict = line.split("\t")
            yield constraint, version, verdict


@pytest.mark.parametrize(
    ("name", "count"), [("constraints-known.tsv", 174), ("constraints-random.tsv", 1_500)]
)
def test_every_row_is_judged_as_by_the_library_that_crossplane_uses(name: str, count: int) -> None:
    rows = list(_rows(name))

    wrong = [(*row, _verdict(*row[:2])) for row in rows if _verdict(*row[:2]) != row[2]]

    assert wrong == []
    assert len(rows) == count


@pytest.mark.parametrize(
    "text",
    [
        *(">= 1.1", ">40.50.60, < 50.70", "2.0", "v2.3.5-20161202202307-sha.e8fc5e5"),
        *(">= 1.2.3 < 2.0", ">= 1.2.3, < 2.0 || => 3.0, < 4"),
        *(" 1 ", "\t1\n", "1\f<2", ">= \n1", "1 , 1", "1||2", "1|| 2", "~> 1", "1-2", "x.x", "v*"),
        # Parts behind a wildcard are not looked at.
        *("1.x.99999999999999999999", "x.1x", "x.1|2"),
    ],
)
def test_a_constraint_is_parsed_and_keeps_its_text(text: str) -> None:
    constraint = parse_constraint(text)

    assert str(constraint) == constraint.text == text
    assert constraint.digest is None


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "||", "1||", "||1", "1 || || 2", ",", "1,", ",1", "1,,2", "1, ,2", "1,||2", "1 - 2,"),
        *("v1.2.3-beta.01", ">= bar", "BAR >= 1.2.3", "12.3.4.1234", "latest", ">=a", "sha256:abc", ">a2"),
        *("==1", "=== 1", "~~1", "^^1", "<>1", "><1", "!1", "> = 1", "~ >1", "=", ">=", "^", ">1<2", "1=1"),
        *(
            "V1",
            "vv1",
            "v 1",
            "1x",
            "**",
            "1|2",
            "1|",
            "1|||2",
            "1.",
            "1..2",
            "1.2.3-",
            "1.2.3+",
            "1&&2",
            "(1)",
        ),
        *("1\v<2", "1\u00a0<2", "\u00a01", "１", "1\x00", "1.2.3-é"),
        *("18446744073709551616", ">=1.99999999999999999999"),
        *("1 -2", "1- 2", ">1 - 2", "1 - >2", "1 - 2 - 3", "<1 1 - 2", "1.0.0 - 2.0.0||3.0.0", "<1 ||1 - 2"),
    ],
)
def test_anything_else_is_refused_as_a_whole(text: str) -> None:
    with pytest.raises(InvalidConstraint) as caught:
        parse_constraint(text)

    assert text in caught.value.what or not text.isprintable()
    assert caught.value.why
    assert caught.value.next


def test_the_reason_names_what_cannot_be_read() -> None:
    with pytest.raises(InvalidConstraint) as caught:
        parse_constraint(">=1.0.0 || <1 1.5 - 2")

    assert caught.value.why == (
        "'>= 1.5, <= 2' cannot follow '<1' directly",
        "with every range a - b written out it is '>=1.0.0 || <1>= 1.5, <= 2 '",
    )


# What Crossplane installs for a missing dependency: constraint, tags of the repository, the tag chosen.
@pytest.mark.parametrize(
    ("constraint", "tags", "chosen"),
    [
        (">v1.0.0", "v0.2.0 v0.3.0 v1.0.0 v1.2.0", "v1.2.0"),
        ("v1.0.0", "v1.0.0 v1 v1.0 v1.0.1 v2.0.0 v2", "v1.0.0"),
        (">=v1", "v1 v1.0 v2", None),
        ("*", "latest main v0.1.0 v0.2.0-rc.1", "v0.1.0"),
        (">=v0.0.0-0", "v0.1.0 v0.2.0-rc.1", "v0.2.0-rc.1"),
        ("<=v0.4.0", "v0.2.0 v0.3.1 v0.4.0 v0.5.0", "v0.4.0"),
        ("v0.2", "v0.2.0 v0.2.1 v0.3.0", "v0.2.1"),
        ("1.0.0", "v1.0.0", "v1.0.0"),
        (">=0.1.0", "0.1.0 v0.2.0 0.3.0-alpha", "v0.2.0"),
        ("v0.2.0-gt", "v0.2.0 v0.2.0-gt", "v0.2.0-gt"),
        (">=v1.0.0", "v01.2.3 v1.0.0", "v1.0.0"),
        (">v1.0.0", "v0.2.0 v0.3.0 v1.0.0", None),
        ("1.0.0", "1.0.0 v1.0.0", "v1.0.0"),
    ],
)
def test_the_highest_candidate_that_a_constraint_accepts_is_chosen(
    constraint: str, tags: str, chosen: str | None
) -> None:
    accepts = parse_constraint(constraint).accepts
    candidates = reversed(order_candidates(tags.split()))

    accepted = [version.text for version in candidates if accepts(version)]

    assert next(iter(accepted), None) == chosen


@pytest.mark.parametrize(
    ("constraint", "accepted", "refused"),
    [
        # Equality; a missing part and a wildcard are the same.
        ("v1.2", "1.2.0 v1.2.9", "1.1.9 1.3.0 1.2.1-rc.1"),
        ("1", "1.0.0 1.5.0", "0.9.0 2.0.0"),
        ("1.x", "1.0.0 1.5.0", "0.9.0 2.0.0"),
        ("v1.0.0+build", "v1.0.0 1.0.0+other", "1.0.1"),
        # Any release.
        ("*", "0.0.0 1.0.0", "1.0.0-rc.1"),
        (">=0.0.0", "0.0.0 1.0.0", "1.0.0-rc.1"),
        ("*-0", "0.0.0 1.0.0-rc.1", ""),
        ("~*", "0.0.0 5.0.0", "1.0.0-rc.1"),
        # Tilde and caret.
        ("~1.2", "1.2.0 1.2.9", "1.1.0 1.3.0"),
        ("~1", "1.0.0 1.9.0", "0.9.0 2.0.0"),
        ("~1.2.3", "1.2.3 1.2.4", "1.2.2 1.3.0"),
        ("~1.2.3-rc", "1.2.3-rc 1.2.4-a", "1.2.3-a 1.3.0-a"),
        ("~0.0.0", "0.0.0 5.0.0", "5.0.0-rc.1"),
        ("~0.0.x", "0.0.0 0.0.9", "0.1.0 5.0.0"),
        ("^1.2", "1.2.0 1.9.0", "1.1.0 2.0.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0 0.9.0"),
        ("^0.0.3", "0.0.3", "0.0.2 0.0.4"),
        ("^0.0", "0.0.0 0.0.9", "0.1.0 1.0.0"),
        ("^0", "0.0.0 0.9.0", "1.0.0"),
        ("^1.2.3-rc", "1.2.3-rc 1.9.0-a", "2.0.0-a"),
        # Comparisons with a partial version.
        (">1", "2.0.0", "1.0.0 1.5.0"),
        (">1.2", "1.3.0", "1.2.0 1.2.5"),
        (">=1.2", "1.2.0", "1.1.9"),
        ("<=1", "0.9.0 1.5.0", "2.0.0"),
        ("<=1.2", "1.2.9", "1.3.0"),
        ("<1", "0.9.0", "1.0.0 1.5.0"),
        ("!=4.1", "4.0.9 4.2.0", "4.1.0 4.1.9"),
        ("!=4", "3.9.9 5.0.0", "4.0.0 4.9.9"),
        # Terms, alternatives, ranges.
        (">=v1.0.0 <v2.0.0", "1.0.0 1.9.9", "0.9.0 2.0.0"),
        ("1.0.0 - 2.0.0", "1.0.0 2.0.0", "0.9.9 2.0.1"),
        ("1.0.0\t-\n2.0.0", "1.0.0 2.0.0", "0.9.9 2.0.1"),
        ("1 - 2.x, !=1.5", "1.4.0 2.9.9", "1.5.0 3.0.0"),
        ("1 - 2 3 - 4", "", "1.0.0 3.0.0"),
        ("1 - 2.0||3.0", "1.5.0 2.0.9 3.0.9", "2.1.0 3.1.0"),
        # Prereleases are let in by the alternative, not by the term.
        (">=v1.0.0-0", "v1.0.0-rc.1 v1.1.0-alpha", "v0.9.0"),
        (">=v1.0.0, <v2.0.0-0", "v1.6.0-rc.1", "v1.0.0-rc.1 v2.0.0-rc.1"),
        (">=v1.0.0-0, <v2.0.0", "v1.5.0-rc.1 v2.0.0-rc.1", "v2.0.0"),
        ("!=1.2.3", "1.2.4", "1.2.4-rc.1"),
        (">=1.0.0 || 0.5.0-rc.1", "0.5.0-rc.1 1.2.0", "1.2.0-rc.1"),
        # Where prereleases are let in, != with one wildcard looks at the ending, with two it does not.
        ("!=4.1, >0.0.0-0", "4.1.0-a 4.1.1-b", "4.1.0 4.1.1"),
        ("!=4.1-b", "4.1.0 4.1.0-a 4.1.1", "4.1.0-b 4.1.1-b"),
        ("!=4-b", "3.0.0 5.0.0-a", "4.0.0 4.0.0-a 4.1.1-b"),
        # A wildcard for the major part stands for zeros.
        (">*", "0.0.1 1.0.0", "0.0.0"),
        ("<*", "", "0.0.0 1.0.0"),
        ("<=*", "0.0.0 0.0.9", "0.1.0 1.0.0"),
        ("^*", "0.0.0", "0.0.1 1.0.0"),
        ("!=*", "0.0.1 1.0.0", "0.0.0"),
        ("x.5.7", "0.0.0 1.0.0", "1.0.0-rc.1"),
        ("* - *", "0.0.0 0.0.9", "0.1.0 1.0.0"),
        # The largest numbers.
        ("^18446744073709551615", "18446744073709551615.2.3", "18446744073709551614.0.0"),
        (">18446744073709551615", "", "18446744073709551615.2.3"),
        # The Crossplane version a package asks for; a development build is a prerelease.
        (">0.12.0", "v0.13.0", ""),
        (">0.13.0", "", "v0.13.0"),
        (">=v2.0.0 <v5.0.0", "v2.13.0", ""),
        (">=v2.0.0,<v5.0.0", "v2.13.0", ""),
        (">=v1.14.0", "v2.4.0", "v2.4.0-rc.0.12.gabc"),
        (">=v1.14.0-0", "v2.4.0 v2.4.0-rc.0.12.gabc", "v1.13.9"),
    ],
)
def test_a_constraint_accepts_what_it_says(constraint: str, accepted: str, refused: str) -> None:
    accepts = parse_constraint(constraint).accepts

    verdicts = {text: accepts(parse_version(text)) for text in (accepted + " " + refused).split()}

    assert verdicts == dict.fromkeys(accepted.split(), True) | dict.fromkeys(refused.split(), False)


def test_a_digest_is_a_constraint_that_no_version_meets() -> None:
    constraint = parse_constraint(_DIGEST)

    assert constraint.digest == constraint.text == _DIGEST
    assert not constraint.accepts(parse_version("1.0.0"))


@pytest.mark.parametrize(
    "text",
    [
        _DIGEST.upper(),
        _DIGEST.replace("abc", "ABC"),
        _DIGEST[:-1],
        _DIGEST + "0",
        f" {_DIGEST}",
        f"={_DIGEST}",
    ],
)
def test_what_is_nearly_a_digest_is_refused(text: str) -> None:
    with pytest.raises(InvalidConstraint):
        parse_constraint(text)


def test_any_accepts_every_release() -> None:
    assert parse_constraint("*") == ANY
    assert ANY.accepts(parse_version("0.0.0"))
    assert ANY.accepts(parse_version("v18446744073709551615.0.0"))
    assert not ANY.accepts(parse_version("1.0.0-rc.1"))


def test_constraints_of_the_same_text_are_the_same() -> None:
    assert {parse_constraint("^1"), parse_constraint("^1")} == {parse_constraint("^1")}
    assert parse_constraint("^1") != parse_constraint("~1")


def test_a_long_constraint_is_refused() -> None:
    text = "||".join([">=1.0.0"] * 100_000)

    with pytest.raises(InvalidConstraint) as caught:
        parse_constraint(text)

    shown = str(caught.value)
    assert "XPLOCK_LIMIT_CONSTRAINT_CHARS" in shown
    assert len(shown) < 1_000


def test_a_constraint_may_be_as_long_as_its_limit() -> None:
    longest = "1.0.0-" + "a" * 1_018

    assert parse_constraint(longest).accepts(parse_version(longest, limits=Limits(version_chars=1_024)))
    with pytest.raises(InvalidConstraint, match="1,024"):
        parse_constraint(longest + "a")
    assert parse_constraint(longest + "a", limits=Limits(constraint_chars=1_025))


@pytest.mark.parametrize(
    "pattern",
    [
        "1",
        "1.",
        "1-",
        "1-a.",
        "1 ",
        " ",
        "1 - ",
        "1 -  ",
        "|",
        "||",
        "1||",
        "x.",
        ">",
        "1,",
        "1 , ",
        "v",
        "1+a.",
    ],
)
def test_no_constraint_within_the_limit_sends_the_parser_astray(pattern: str) -> None:
    # Where matching goes wrong, it tries more ways than there is time for, and this never ends.
    text = (pattern * 1_024)[:1_023] + "!"

    verdict = _verdict(text, "1.0.0")

    assert verdict == "bad constraint"


@given(_TEXTS, st.sampled_from(["0.0.0", "v1.2.3", "1.2.3-rc.1", "18446744073709551615.0.0"]))
def test_any_text_is_a_constraint_or_an_invalid_one(text: str, version: str) -> None:
    try:
        constraint = parse_constraint(text)
    except InvalidConstraint as error:
        assert str(error)
    else:
        assert constraint.text == text
        assert constraint.accepts(parse_version(version)) in (True, False)


@given(st.tuples(*[st.integers(0, 4)] * 3), st.tuples(*[st.integers(0, 4)] * 3))
def test_comparisons_with_a_full_release_are_plain_comparisons(
    one: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    version, operand = ".".join(map(str, one)), ".".join(map(str, other))

    verdicts = [_verdict(operator + operand, version) for operator in ("=", "!=", ">", ">=", "<", "<=")]

    truths = [one == other, one != other, one > other, one >= other, one < other, one <= other]
    assert verdicts == ["yes" if truth else "no" for truth in truths]


def test_versions_and_constraints_load_nothing_heavy() -> None:
    code = "import sys, render.versions.constraints; print(*{'click', 'urllib3', 'yaml', 'rich'} & set(sys.modules))"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.split() == []
