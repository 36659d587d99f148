"""Candidate versions and the size of a step, as the semver package parses and orders them: its one door.

`versions.py` parses the same texts without that package, which rendering has no time to import.
"""

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING

from render.versions.version import InvalidVersion, Version, parse_version

if TYPE_CHECKING:
    import semver


class Step(Enum):
    """How far one version is from another: what a reviewer wants to know of an upgrade first.

    The name says which number changed; the numbers after it do not matter, nor does a prerelease. A
    prerelease step has the same three numbers on both sides.

    Below v1.0.0 semver promises nothing. Most projects keep to a custom that Crossplane's `^` and `~` follow
    too: a minor step may break its users, a patch step fixes. So a minor step below v1.0.0 has a member of its
    own; it counts as one that may break, and a patch step below v1.0.0 is a patch step.
    """

    # Steps that deserve a reviewer's time come first.
    DOWNGRADE = "downgrade"
    MAJOR = "major"
    MINOR_BELOW_1 = "minor of 0.x"
    MINOR = "minor"
    PATCH = "patch"
    PRERELEASE = "prerelease"
    # The same version, of which the package's publisher may have changed the bytes.
    DIGEST = "digest"

    @property
    def may_break(self) -> bool:
        """Whether semver allows such a step to break the users of a package."""
        return self in (Step.DOWNGRADE, Step.MAJOR, Step.MINOR_BELOW_1)

    @property
    def word(self) -> str:
        """The step in one word, for programs."""
        return Step.MINOR.value if self is Step.MINOR_BELOW_1 else self.value


def order_candidates(tags: Iterable[str]) -> tuple[Version, ...]:
    """Return the versions among tags, lowest first; of two spellings of one version the one with a v is higher.

    A tag is a candidate if it is a strict semantic version, with or without a leading v.
    """
    return _order(tuple(tags))


def step_between(old: str | None, new: str | None) -> Step | None:
    """Return the size of the step from one tag to another; None, if one of them is no version."""
    if old is not None and old == new:
        return Step.DIGEST
    before, after = (_parse(tag) if tag else None for tag in (old, new))
    if before is None or after is None:
        return None
    if after <= before:
        return Step.DOWNGRADE if after < before else Step.DIGEST
    if after.major != before.major:
        return Step.MAJOR
    if after.minor != before.minor:
        return Step.MINOR if after.major else Step.MINOR_BELOW_1
    return Step.PATCH if after.patch != before.patch else Step.PRERELEASE


# A list of tags is asked for when a version is guessed, and again when the search gets there.
@lru_cache(maxsize=256)
def _order(tags: tuple[str, ...]) -> tuple[Version, ...]:
    found = [(parsed, tag) for tag in tags if (parsed := _parse(tag))]
    return tuple([parse_version(tag) for _, tag in sorted(found)])


@lru_cache(maxsize=8_192)
def _parse(tag: str) -> "semver.Version | None":
    try:
        # Keeps out what the semver package would accept: numbers without bounds, and digits of other scripts.
        parse_version(tag)
    except InvalidVersion:
        return None
    # The import takes 30 ms, and the first requests should not wait for it.
    import semver

    try:
        return semver.Version.parse(tag.removeprefix("v"))
    except ValueError:
        return None
