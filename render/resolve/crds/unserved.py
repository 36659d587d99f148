"""Versions of a package that do not serve the CRDs that are asked of it, in words."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from render.errors import RenderError
from render.references import Source
from render.resolve.crds.index import Index
from render.resolve.crds.lookup import candidates_of
from render.resolve.model import Candidate
from render.resolve.solver import Unserved

Serving: TypeAlias = Callable[[Source, Candidate], Index]
# The versions that registries list, highest first; None if they cannot be listed.
Listed: TypeAlias = Callable[[Source], Sequence[str] | None]

# How many versions an error opens to find the last one that serves what is asked for.
_MOST_OPENED = 30


def describe_unserved(found: Sequence[Unserved], listed: Listed, serving: Serving) -> Iterator[str]:
    """Yield a line for each request and source: what its highest version serves, and since when no longer the rest."""
    tried: dict[tuple[str, Source], list[Unserved]] = {}
    for one in found:
        tried.setdefault((str(one.crd), one.source), []).append(one)
    for key in sorted(tried):
        versions = candidates_of(listed(key[1]) or ())
        yield _describe(max(tried[key], key=lambda one: len(_below(one, versions))), versions, serving)


def _below(one: Unserved, versions: Sequence[Candidate]) -> list[Candidate]:
    """Return the versions below one, the lowest first; none below a digest without a version."""
    mine = one.candidate.version
    return [other for other in versions if mine and other.version and other.version < mine]


def _describe(one: Unserved, versions: Sequence[Candidate], serving: Serving) -> str:
    rows = serving(one.source, one.candidate).rows_for(one.crd)
    served = list(dict.fromkeys(version for row in rows for version in row.served))
    if not served:
        return f"{one.source} {one.candidate} does not define {one.crd}{_went(one, versions, serving)}"
    of = rows[0] if len(rows) == 1 else f"the kinds of {one.crd.group}"
    known = f"{one.source} {one.candidate} serves {', '.join(served)} of {of}"
    return known + _went(one, versions, serving)


def _went(one: Unserved, versions: Sequence[Candidate], serving: Serving) -> str:
    """Return since which version a request is no longer served, if an older one served it."""
    later = one.candidate
    for candidate in reversed(_below(one, versions)[-_MOST_OPENED:]):
        try:
            if serving(one.source, candidate).find(one.crd).served:
                return f"; {one.crd.version or one.crd} went with {later}"
        except RenderError:
            # This is only for the error.
            return ""
        later = candidate
    return ""
