"""Versions are read as Crossplane reads tags, keep their text, and are ordered as semver says."""

import pytest
import semver
from hypothesis import given
from hypothesis import strategies as st

from render.limits import Limits
from render.versions.version import InvalidVersion, check_tag, parse_candidate, parse_version

_NUMBERS = st.integers(0, 3) | st.integers(0, (1 << 64) - 1)
_IDENTIFIERS = st.from_regex(r"0|[1-9][0-9]{0,25}|[0-9]{0,2}[A-Za-z-][0-9A-Za-z-]{0,3}", fullmatch=True)
_ENDINGS = st.lists(
    st.sampled_from(["0", "1", "9", "10", "a", "b", "A", "-", "0a"]) | _IDENTIFIERS, max_size=4
)


@st.composite
def _versions(draw: st.DrawFn) -> str:
    core = ".".join(str(draw(_NUMBERS)) for _ in range(3))
    prerelease = ".".join(draw(_ENDINGS))
    return core + (f"-{prerelease}" if prerelease else "") + draw(st.sampled_from(["", "+b", "+01.x"]))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("1.2.3", "1.2.3"),
        ("v1.2.3", "1.2.3"),
        ("v1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("01.2", "1.2.0"),
        ("000000000000000000000000000001.002.0003", "1.2.3"),
        ("v1.2.3-rc.1", "1.2.3-rc.1"),
        ("1-a", "1.0.0-a"),
        ("1.2-a+b", "1.2.0-a+b"),
        ("1+b", "1.0.0+b"),
        ("1.2.3-0", "1.2.3-0"),
        ("1.2.3-00a", "1.2.3-00a"),
        ("1.2.3--", "1.2.3--"),
        ("1.2.3---.-", "1.2.3---.-"),
        ("1.2.3+01.-", "1.2.3+01.-"),
        ("1.2.3-99999999999999999999999", "1.2.3-99999999999999999999999"),
        ("v18446744073709551615.0.0", "18446744073709551615.0.0"),
    ],
)
def test_a_version_is_read_loosely_and_keeps_its_text(text: str, parsed: str) -> None:
    version = parse_version(text)

    assert str(version) == version.text == text
    assert version.precedence == parse_version(parsed).precedence


@pytest.mark.parametrize(
    "text",
    [
        *("", "v", "vv1", "V1.2.3", "latest", "main", "x", "*", "1.x", "sha256:abc"),
        *(" 1.2.3", "1.2.3 ", "1.2.3\n", "1 .2", "1.2.3.4", "1.", ".1", "1..2", "-1", "+1", "1,2"),
        *("1.2.3-", "1.2.3+", "1.2.3-a..b", "1.2.3-a.", "1.2.3+a..b", "1.2.3+a+b", "v1.2.3_hotfix"),
        *("1.2.3-01", "1.2.3-00", "1.2.3-a.007"),
        *("18446744073709551616", "1.18446744073709551616", "1.2.99999999999999999999999"),
        *("1.２.3", "١.2.3", "1.2.3-é", "1.2.3-²", "\ud800"),
    ],
)
def test_anything_else_is_not_a_version(text: str) -> None:
    with pytest.raises(InvalidVersion) as caught:
        parse_version(text)

    assert text in caught.value.what or not text.isprintable()
    assert caught.value.why
    assert caught.value.next


def test_a_version_may_be_as_long_as_a_tag_and_no_longer() -> None:
    longest = "1.0.0-" + "a" * 122

    assert parse_version(longest).text == longest
    with pytest.raises(InvalidVersion, match=r"129 characters.*128(.|\n)*XPLOCK_LIMIT_VERSION_CHARS"):
        parse_version(longest + "a")


@pytest.mark.parametrize("digits", [5_000, 50_000])
def test_with_a_raised_limit_no_number_of_digits_is_a_surprise(digits: int) -> None:
    limits = Limits(version_chars=100_000)

    zeros = parse_version("0" * digits + "1", limits=limits)
    nines = parse_version("1.0.0-" + "9" * digits, limits=limits)

    assert zeros.precedence == parse_version("1.0.0").precedence
    assert parse_version("1.0.0-9") < nines < parse_version("1.0.0-a")
    with pytest.raises(InvalidVersion, match="18446744073709551615"):
        parse_version("9" * digits, limits=limits)


def test_the_order_is_that_of_the_semver_specification() -> None:
    # Semantic Versioning 2.0.0, point 11.
    ascending = [
        *("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"),
        *("1.0.0-rc.1", "1.0.0", "2.0.0", "2.1.0", "2.1.1", "10.0.0"),
    ]
    shuffled = [parse_version(text) for text in reversed(ascending)]

    assert [str(version) for version in sorted(shuffled)] == ascending


def test_versions_of_one_precedence_are_ordered_together_but_are_not_the_same() -> None:
    one, other = parse_version("1.2.3"), parse_version("v1.2.3+build")

    assert one <= other
    assert one >= other
    assert not one < other
    assert not one > other
    assert one != other
    assert len({one, other, parse_version("1.2.3")}) == 2


def test_a_version_is_a_prerelease_only_by_what_follows_the_dash() -> None:
    assert parse_version("1.0.0-0").is_prerelease
    assert not parse_version("1.0.0+rc-1").is_prerelease


@pytest.mark.parametrize(
    "tag",
    ["1.2.3", "v1.2.3", "v1.2.3-rc.1", "0.0.0", "v1.2.3+build.01", "18446744073709551615.0.0", "1.2.3-a-b.0"],
)
def test_a_complete_version_is_a_candidate(tag: str) -> None:
    candidate = parse_candidate(tag)

    assert candidate == parse_version(tag)


@pytest.mark.parametrize(
    "tag",
    [
        *(
            "v1",
            "1.2",
            "v1.0",
            "v1-rc.1",
            "1.2+b",
            "v01.2.3",
            "1.02.3",
            "1.2.00",
            "latest",
            "main",
            "sha256-abc.sig",
        ),
        *(
            "v1.2.3_hotfix",
            "vv1.2.3",
            "V1.2.3",
            "1.2.3-01",
            "18446744073709551616.0.0",
            "",
            "1.0.0-" + "a" * 200,
        ),
    ],
)
def test_any_other_tag_is_passed_over_silently(tag: str) -> None:
    assert parse_candidate(tag) is None


@given(_versions(), _versions())
def test_the_order_agrees_with_the_semver_package(one: str, other: str) -> None:
    mine, yours = parse_version(one), parse_version(other)

    expected = semver.Version.parse(one).compare(other)

    assert (mine < yours, mine > yours) == (expected < 0, expected > 0)
    assert (mine <= yours, mine >= yours) == (expected <= 0, expected >= 0)


@given(_versions())
def test_a_strict_version_is_read_as_the_semver_package_reads_it(text: str) -> None:
    version, expected = parse_candidate(f"v{text}"), semver.Version.parse(text)

    assert version is not None
    assert version.precedence[:3] == expected.to_tuple()[:3]
    assert version.is_prerelease == (expected.prerelease is not None)


@given(st.text() | st.text("0123456789v.-+ab", max_size=20))
def test_any_text_is_a_version_or_an_invalid_one(text: str) -> None:
    try:
        version = parse_version(text)
    except InvalidVersion as error:
        assert str(error)
        assert parse_candidate(text) is None
    else:
        assert version.text == text


@pytest.mark.parametrize("tag", ["V1.0.0", "V1", "V1.2.3-rc.1+build"])
def test_a_tag_with_a_capital_v_is_refused_with_the_right_spelling(tag: str) -> None:
    with pytest.raises(InvalidVersion) as refused:
        check_tag(tag)

    assert f"write v{tag[1:]}" in refused.value.next[0]


@pytest.mark.parametrize("tag", [None, "", "v1.0.0", "1.0.0", "latest", "Version", "V", "V1.0.0.0", "Vx"])
def test_every_other_tag_is_left_alone(tag: str | None) -> None:
    check_tag(tag)
