"""Whether a lock answers its folder. The file to read first; the other files of this folder hold one subject each."""

from collections.abc import Iterable, Sequence

from render.lock.derived.crds import answered_roots, check_crd_roots, check_places
from render.lock.derived.detaching import check_reasons
from render.lock.derived.fields import check_fields
from render.lock.derived.moves import check_moves
from render.lock.derived.pins import check_pins
from render.lock.derived.roots import check_roots
from render.lock.graph import LockGraph
from render.settings import Settings
from render.versions.requests import CrdRoot, Root


def check_answers(
    graph: LockGraph, roots: Iterable[Root], settings: Settings, crd_roots: Sequence[CrdRoot] = ()
) -> list[str]:
    """Return every difference between a lock and what its folder asks for; each text names both sides.

    The lock has to hold together: its dependencies are served, and its states agree.
    """
    by_name = {root.source: root for root in roots}
    asked = {root.source: root for root in answered_roots(graph.lock, by_name.values(), crd_roots)}
    return [
        *check_crd_roots(graph.lock, crd_roots),
        *check_places(graph, by_name.keys()),
        *check_roots(graph, asked, settings),
        *check_fields(graph.lock, asked, settings),
        *check_moves(graph, asked, settings),
        *check_pins(graph.lock, settings),
        *check_reasons(graph, settings.detach),
    ]
