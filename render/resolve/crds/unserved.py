"""Versions of a package that do not serve the CRDs that are asked of it, in words."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from render.errors import RenderError
from render.references import Source
from render.resolve.candidates import Universe
from render.resolve.crds.index import Index
from render.resolve.model import Candidate
from render.resolve.solver import Unserved

Serving: TypeAlias = Callable[[Source, Candidate], Index]

# How many versions an error opens to find the last one that serves what is asked for.
_MOST_OPENED = 30


def describe_unserved(
    found: Sequence[Unserved], universe: Callable[[Source], Universe], serving: Serving
) -> Iterator[str]:
    """Yield a line for each request and source: what its highest version serves, and since when no longer the rest."""
    tried: dict[tuple[str, Source], list[Unserved]] = {}
    for one in found:
        tried.setdefault((str(one.crd), one.source), []).append(one)
    for key in sorted(tried):
        candidates = universe(key[1]).candidates
        yield _describe(max(tried[key], key=lambda one: _rank(one, candidates)), candidates, serving)


def _rank(one: Unserved, candidates: Sequence[Candidate]) -> int:
    return candidates.index(one.candidate) if one.candidate in candidates else -1


def _describe(one: Unserved, candidates: Sequence[Candidate], serving: Serving) -> str:
    rows = serving(one.source, one.candidate).rows_for(one.crd)
    versions = list(dict.fromkeys(version for row in rows for version in row.served))
    if not versions:
        return f"{one.source} {one.candidate} does not define {one.crd}{_went(one, candidates, serving)}"
    known = f"{one.source} {one.candidate} serves {', '.join(versions)} of {rows[0]}"
    return known + _went(one, candidates, serving)


def _went(one: Unserved, candidates: Sequence[Candidate], serving: Serving) -> str:
    """Return since which version a request is no longer served, if an older one served it."""
    below = list(candidates[: max(_rank(one, candidates), 0)])
    later = one.candidate
    for candidate in reversed(below[-_MOST_OPENED:]):
        try:
            if serving(one.source, candidate).find(one.crd).served:
                return f"; {one.crd.version or one.crd} went with {later}"
        except RenderError:
            # This is only for the error.
            return ""
        later = candidate
    return ""
