"""Two locks → what the definitions of the newer one do to the objects and writers of the older one."""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from render.definitions.compositions import compare_compositions
from render.definitions.content import Task, compare_contents, make_task
from render.definitions.findings import Difference, make_finding
from render.definitions.index import Brought, Reader
from render.definitions.live import is_absent, stored_versions
from render.definitions.model import (
    Comparison,
    DefinitionContent,
    Finding,
    LiveDefinitions,
    NotCompared,
    sort_findings,
)
from render.definitions.names import compare_fixed
from render.definitions.pairs import Pair, Pairing
from render.definitions.presence import compare_presence
from render.definitions.versions import compare_versions
from render.limits import Limits
from render.lock.model import Lock, LockedPackage, Provided
from render.xpkg.definitions import Composition


def compare_definitions(
    old: Lock,
    new: Lock,
    content: DefinitionContent,
    live: LiveDefinitions | None = None,
    *,
    own: Iterable[Composition] = (),
    limits: Limits | None = None,
) -> Comparison:
    """Compare the definitions of two locks as a whole.

    Equal digests of packages, of their definitions, of a definition and of the schema of a version settle what they
    can, in this order, so `content` is asked for facts only where the locks differ, and for documents only where facts
    do. Content that cannot be had is no error: its package is listed as not compared. `live` makes findings exact.
    `own` are the Compositions that the new lock's folder has beside its packages.
    """
    reader = Reader(content)
    pairing = Pairing(old, new, reader)
    found = [*_compare_facts(pairing, new, live), *compare_compositions(pairing, own)]
    tasks = [task for pair in pairing.definitions() if (task := _task(pair, live))]
    found += compare_contents(tasks, reader, limits or Limits())
    return Comparison(sort_findings(found), _sorted(reader.not_compared))


def _compare_facts(pairing: Pairing, new: Lock, live: LiveDefinitions | None) -> Iterator[Finding]:
    active: list[LockedPackage | Provided] = [*new.packages.values(), *new.provided.values()]
    kept = {(one.kind, one.object_name) for one in active}
    for pair in pairing.definitions():
        old, brought = pair.old, pair.new or pair.old
        if brought is None or (old is not None and is_absent(brought.item, live)):
            continue
        is_kept = old is not None and (old.bringer.kind, old.bringer.object_name) in kept
        found = [
            *compare_presence(old, pair.new, is_kept=is_kept),
            *_compare_pair(pair, pairing.reader, live),
        ]
        yield from (make_finding(one, old, pair.new, brought) for one in found)


def _compare_pair(pair: Pair, reader: Reader, live: LiveDefinitions | None) -> Iterator[Difference]:
    old, new = pair.old, pair.new
    if old is None or new is None or _is_settled(old, new):
        return
    for brought in (old, new):
        if brought.item.problem:
            reader.reject(brought.bringer, brought.item.problem, brought.item.name)
            return
    yield from compare_fixed(old.item, new.item)
    yield from compare_versions(old.item, new.item, stored_versions(old.item, live))


def _task(pair: Pair, live: LiveDefinitions | None) -> Task | None:
    """Return what is left to compare of a definition after its facts."""
    old, new = pair.old, pair.new
    if old is None or new is None or _is_settled(old, new) or is_absent(new.item, live):
        return None
    return make_task(old, new, stored_versions(old.item, live))


def _is_settled(old: Brought, new: Brought) -> bool:
    """Return whether nothing is to be compared: the text is the same, or nothing installs the new one."""
    same_text = (old.item.digest, old.item.item) == (new.item.digest, new.item.item)
    return same_text or not new.bringer.is_active


def _sorted(found: Iterable[NotCompared]) -> tuple[NotCompared, ...]:
    order = attrgetter("package", "version", "definition", "reason", "is_missing")
    return tuple(sorted(set(found), key=order))
