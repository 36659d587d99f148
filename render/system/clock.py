"""The time of day; `lock` alone reads it, to see how old new versions are."""

from datetime import UTC, datetime


def read_clock() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)
