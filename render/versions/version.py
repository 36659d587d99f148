"""Versions: semver tags, read as loosely as Crossplane reads them, their text kept as written."""

import re
from functools import lru_cache

from render.errors import InvalidInput
from render.lean import TypeAlias, dataclass, field
from render.limits import Limits, format_amount, setting
from render.texts import visible

# Major, minor, patch, whether it is a release, and the identifiers of the prerelease.
Precedence: TypeAlias = tuple[int, int, int, bool, tuple[tuple[int, str], ...]]

_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(
    r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?"  # major, minor, patch
    rf"(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?"  # prerelease, metadata
)
_ALPHANUMERIC = 1 << 64  # longer than any numeric identifier, see _identifier
_LARGEST_PART = (1 << 64) - 1
_DEFAULTS = Limits()


class InvalidVersion(InvalidInput):
    """A text that is not a version, not even when read loosely."""

    def __init__(self, text: str, why: str, *, next: str = "write it like v1.2.3 or v1.2.3-rc.1") -> None:
        super().__init__(f"'{visible(text, limit=100)}' is not a version", why=why, next=next)


@dataclass(frozen=True, slots=True)
class Version:
    """A version; equal to another of the same text, ordered by semver precedence.

    Versions of one precedence but different text (1.2.3, v1.2.3, v1.2.3+build) are neither equal nor one
    below the other, since each is a tag of its own. Where a tie has to be decided, sort by `rank`.
    """

    text: str
    precedence: Precedence = field(compare=False, repr=False)

    @property
    def rank(self) -> tuple[Precedence, str]:
        """The precedence, with ties decided by the text: a sort key that leaves nothing to chance."""
        # The text puts v1.2.3 above 1.2.3, and packages of Crossplane are tagged with a v by custom.
        return self.precedence, self.text

    @property
    def major(self) -> int:
        """The first of the three parts."""
        return self.precedence[0]

    @property
    def is_prerelease(self) -> bool:
        """Whether there is a prerelease behind the three parts."""
        return not self.precedence[3]

    @property
    def is_complete(self) -> bool:
        """Whether all three parts are written, each without leading zeros."""
        parts = self.text.removeprefix("v").partition("+")[0].partition("-")[0]
        return parts == "{}.{}.{}".format(*self.precedence)

    def __str__(self) -> str:
        return self.text

    def __lt__(self, other: "Version") -> bool:
        return self.precedence < other.precedence

    def __le__(self, other: "Version") -> bool:
        return self.precedence <= other.precedence

    def __gt__(self, other: "Version") -> bool:
        return self.precedence > other.precedence

    def __ge__(self, other: "Version") -> bool:
        return self.precedence >= other.precedence


def parse_version(text: str, *, limits: Limits = _DEFAULTS) -> Version:
    """Parse one to three numbers with an optional leading v, prerelease and metadata."""
    if len(text) > limits.version_chars:
        raise _too_long(text, limits)
    return _parse(text)


@lru_cache(maxsize=8_192)
def _parse(text: str) -> Version:
    # Packages that are released together have one version, and folders have packages in common.
    match = _VERSION.fullmatch(text)
    if match is None:
        raise InvalidVersion(
            text, "a version is one to three numbers, then optionally -prerelease and +metadata"
        )
    major, minor, patch = [_part(text, digits) for digits in match.group(1, 2, 3)]
    prerelease = match[4]
    identifiers = tuple([_identifier(text, name) for name in prerelease.split(".")]) if prerelease else ()
    return Version(text, (major, minor, patch, prerelease is None, identifiers))


def parse_candidate(tag: str, *, limits: Limits = _DEFAULTS) -> Version | None:
    """Parse a tag that is a strict semantic version; return None for any other tag."""
    try:
        version = parse_version(tag, limits=limits)
    except InvalidVersion:
        return None
    return version if version.is_complete else None


def check_tag(tag: str | None) -> None:
    """Raise for a tag that looks like a version and is not one to Crossplane: V1.2.3."""
    if tag and tag[0] == "V" and _VERSION.fullmatch(f"v{tag[1:]}"):
        raise InvalidVersion(
            tag,
            "Crossplane knows only a lower-case v in front of a version",
            next=f"write v{tag[1:]}, or the digest if the registry has no such tag",
        )


def _part(text: str, digits: str | None) -> int:
    # Leading zeros are fine and may be many, but int() refuses a few thousand digits.
    digits = (digits or "").lstrip("0") or "0"
    if len(digits) > 20 or int(digits) > _LARGEST_PART:
        raise InvalidVersion(text, f"a part is at most {_LARGEST_PART}")
    return int(digits)


def _identifier(text: str, name: str) -> tuple[int, str]:
    # Without leading zeros the longer number is the larger one, so no number has to be computed;
    # and any number is below any name.
    if not name.isdigit():
        return _ALPHANUMERIC, name
    if name[0] == "0" and name != "0":
        raise InvalidVersion(
            text, f"the number {visible(name, limit=50)} of its prerelease starts with a zero"
        )
    return len(name), name


def _too_long(text: str, limits: Limits) -> InvalidVersion:
    return InvalidVersion(
        text,
        f"it has {len(text):,} characters; the limit is {format_amount('version_chars', limits.version_chars)}",
        next=f"use a shorter version, or raise the limit with {setting('version_chars')}",
    )
