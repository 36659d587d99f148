"""Ages and release times: what is one, and which times say nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from render.policy.times import (
    InvalidAge,
    InvalidTime,
    Released,
    parse_age,
    parse_claimed_time,
    parse_released,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7d", timedelta(7)), ("36h", timedelta(hours=36)), ("2w", timedelta(14)), ("0d", timedelta())],
)
def test_an_age_is_a_number_of_hours_days_or_weeks(text: str, expected: timedelta) -> None:
    assert parse_age(text) == expected


@pytest.mark.parametrize("text", ["7", "d", "7 d", "7days", "-1d", "1.5d", "7D", "999999d", "٧d", "1m"])
def test_anything_else_is_no_age(text: str) -> None:
    with pytest.raises(InvalidAge, match="is no age"):
        parse_age(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z claimed"),
        ("2026-01-31T12:00:00.123456789Z", "2026-01-31T12:00:00Z claimed"),
        ("2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00Z claimed"),
        ("2026-01-31t12:00:00z", "2026-01-31T12:00:00Z claimed"),
    ],
)
def test_a_time_is_kept_in_utc(text: str, expected: str) -> None:
    time = parse_claimed_time(text)

    assert time
    assert str(Released(time)) == expected
    assert parse_released(expected) == Released(time)


@pytest.mark.parametrize(
    "text",
    [
        # What builders write so that the same source gives the same bytes.
        "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z", "1980-01-01T00:00:01Z",
        "1999-12-31T23:59:59Z", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-31", "yesterday", "", None,
        1, "2026-01-31T12:00:00", "9999-12-31T23:59:59-23:59", "２026-01-31T12:00:00Z",
    ],
)  # fmt: skip
def test_a_time_that_cannot_be_one_is_unknown(text: object) -> None:
    assert parse_claimed_time(text) is None


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z sure", "1970-01-01T00:00:00Z claimed", "x claimed",
             "2026-01-31T12:00:00+00:00 claimed"]
)  # fmt: skip
def test_a_lock_holds_a_time_and_its_kind(text: str) -> None:
    with pytest.raises(InvalidTime):
        parse_released(text)


def test_a_proven_time_says_so() -> None:
    assert str(Released(datetime(2026, 1, 31, tzinfo=UTC), proven=True)) == "2026-01-31T00:00:00Z proven"
