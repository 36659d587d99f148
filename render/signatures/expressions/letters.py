"""Letters that are equal whatever their case, as Go sees it: each in one form that all of them share."""

from collections.abc import Mapping
from functools import lru_cache

# No character above it has another case.
_LAST = 0x1E943


def forms(character: str) -> tuple[str, ...]:
    """Return a character and all that are equal to it but for their case."""
    return _families().get(_fold(character), (character,))


@lru_cache(maxsize=1)
def _families() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for character in map(chr, range(_LAST + 1)):
        found.setdefault(_fold(character), []).append(character)
    return {fold: tuple(members) for fold, members in found.items() if len(members) > 1}


def _fold(character: str) -> str:
    # Unicode's simple case folding; what Python folds to several characters has a plain small letter, or none.
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character
