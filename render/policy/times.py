"""When a package was released: times that packages claim or a log proves, and how old they have to be."""

import re
from datetime import UTC, datetime, timedelta

from render.errors import InvalidInput
from render.lean import dataclass

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_AGE = re.compile(r"([0-9]{1,5})([hdw])")
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
# Tools that build the same bytes each time write the year 1, 1970 or 1980; containers are younger than this.
_FIRST_YEAR = 2000


class InvalidAge(InvalidInput):
    """A text that is no age."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no age", next="write a number of hours, days or weeks: 36h, 7d or 2w")


class InvalidTime(InvalidInput):
    """A text that is no time."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no time", next="write it in UTC: 2026-01-31T12:00:00Z")


@dataclass(frozen=True, slots=True)
class Released:
    """A time at which the bytes of a package existed, and whether a log proves it or the package claims it."""

    time: datetime
    proven: bool = False

    def __str__(self) -> str:
        return f"{format_time(self.time)} {'proven' if self.proven else 'claimed'}"


def parse_age(text: str) -> timedelta:
    """Parse an age: a number of hours, days or weeks."""
    found = _AGE.fullmatch(text)
    if not found:
        raise InvalidAge(text)
    return int(found[1]) * _UNITS[found[2]]


def format_time(time: datetime) -> str:
    """Return a time in UTC, to the second."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_claimed_time(text: object) -> datetime | None:
    """Parse the time that a package claims, to the second; None for a text that names no real time."""
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None or int(found[1]) < _FIRST_YEAR:
        return None
    zone = found[7].upper().replace("Z", "+00:00")
    try:
        time = datetime.fromisoformat(
            f"{'-'.join(found.group(1, 2, 3))}T{':'.join(found.group(4, 5, 6))}{zone}"
        )
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_released(text: str) -> Released:
    """Parse the form that a lock holds: a time, and its kind."""
    written, _, kind = text.partition(" ")
    time = parse_claimed_time(written)
    if time is None or kind not in ("proven", "claimed"):
        raise InvalidTime(text)
    released = Released(time, kind == "proven")
    if str(released) != text:
        raise InvalidTime(text)
    return released
