"""Which version Crossplane takes: for a new package by one constraint, for one that is there by all of them."""

from collections.abc import Iterable, Sequence

from render.references import is_digest
from render.resolve.mimic.graph import parse_loosely, parse_wish
from render.texts import first_names
from render.versions.version import Version, parse_candidate

_SHOWN = 5


class NothingFits(Exception):
    """The reason why no version can be taken."""


def pick_new(constraints: str, tags: Iterable[str]) -> str:
    """Return the highest complete version that one constraint accepts; that of other dependants does not count."""
    wish = parse_wish(constraints)
    if wish is None:
        raise NothingFits(f"{constraints!r} is no constraint")
    known = [version for tag in tags if (version := parse_candidate(tag))]
    fitting = [version for version in known if wish.accepts(version)]
    if not fitting:
        raise NothingFits(f"no version fits {constraints}; {_there(known)}")
    return max(fitting, key=lambda version: version.rank).text


def pick_update(constraints: Sequence[str], installed: str, tags: Iterable[str], *, downgrades: bool) -> str:
    """Return the lowest version from the installed one on that all constraints accept; below it only with the flag."""
    digests = sorted({text for text in constraints if is_digest(text)})
    if digests:
        return _agreed_digest(digests, constraints)
    current = parse_loosely(installed)
    if current is None:
        raise NothingFits(
            f"{installed} is installed, which is no version: Crossplane's resolver panics on it"
        )
    fitting = _fitting(constraints, tags)
    higher = [version for version in fitting if version >= current]
    if higher:
        return higher[0].text
    lower = [version for version in fitting if version < current]
    if downgrades and lower:
        return lower[-1].text
    reason = "the flag for downgrades is off" if lower else "no lower one does either"
    all_of_them = first_names(list(dict.fromkeys(constraints)), _SHOWN)
    raise NothingFits(f"no version from {installed} on suits all of {all_of_them}, and {reason}")


def _agreed_digest(digests: Sequence[str], constraints: Sequence[str]) -> str:
    if len(digests) > 1:
        raise NothingFits(f"its dependants ask for different digests: {first_names(digests, _SHOWN)}")
    others = [text for text in constraints if text != digests[0]]
    if others:
        raise NothingFits(f"one dependant asks for a digest and another one for {others[0]}")
    return digests[0]


def _fitting(constraints: Sequence[str], tags: Iterable[str]) -> list[Version]:
    wishes = [(text, parse_wish(text)) for text in constraints]
    bad = [text for text, wish in wishes if wish is None]
    if bad:
        raise NothingFits(f"{bad[0]!r} is no constraint")
    # Incomplete versions such as v1 count here, unlike for a new package.
    known = sorted((v for tag in tags if (v := parse_loosely(tag))), key=lambda version: version.rank)
    return [version for version in known if all(wish.accepts(version) for _, wish in wishes if wish)]


def _there(known: Sequence[Version]) -> str:
    newest = [version.text for version in sorted(known, key=lambda version: version.rank, reverse=True)]
    return f"it has {first_names(newest, _SHOWN)}" if newest else "it has no version that can be installed"
