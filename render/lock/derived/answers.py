"""Whether a lock answers its folder. The file to read first; the other files of this folder hold one subject each."""

from collections.abc import Iterable

from render.lock.derived.detaching import check_reasons
from render.lock.derived.fields import check_fields
from render.lock.derived.moves import check_moves
from render.lock.derived.pins import check_pins
from render.lock.derived.roots import check_roots
from render.lock.graph import LockGraph
from render.requests import Root
from render.settings import Settings


def check_answers(graph: LockGraph, roots: Iterable[Root], settings: Settings) -> list[str]:
    """Return every difference between a lock and what its folder asks for; each text names both sides.

    The lock has to hold together: its dependencies are served, and its states agree.
    """
    asked = {root.source: root for root in roots}
    return [
        *check_roots(graph, asked, settings),
        *check_fields(graph.lock, asked, settings),
        *check_moves(graph, asked, settings),
        *check_pins(graph.lock, settings),
        *check_reasons(graph, settings.detach),
    ]
