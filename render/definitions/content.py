"""The schemas of definitions that facts cannot settle: read package by package, one definition at a time."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from render.definitions.bringers import Bringer
from render.definitions.findings import Difference, make_finding
from render.definitions.index import Brought, Key, Reader
from render.definitions.model import Finding
from render.definitions.rules import Risk
from render.definitions.schemas.nodes import NoSchemaError
from render.definitions.schemas.walk import compare_schemas
from render.errors import RenderError
from render.lean import TypeAlias, dataclass, replace
from render.limits import LimitExceeded, Limits
from render.packages import PackagedObject
from render.xpkg.definitions import DefinedVersion
from render.xpkg.outline import UNREADABLE, describe_problem
from render.xpkg.version_schemas import cut_schemas, parse_schema

_Texts: TypeAlias = Mapping[str, bytes]
_UNREADABLE = (*UNREADABLE, NoSchemaError)


@dataclass(frozen=True, slots=True)
class Task:
    """A definition of which the schemas of some versions have to be compared."""

    old: Brought
    new: Brought
    # The versions before and after, by name.
    versions: Mapping[str, tuple[DefinedVersion, DefinedVersion]]
    # The versions that the cluster stores objects in, if known.
    stored: frozenset[str] | None = None


def make_task(old: Brought, new: Brought, stored: frozenset[str] | None) -> Task:
    """Return what is left to compare of a definition after its digests."""
    after = {one.name: one for one in new.item.versions}
    pairs = {one.name: (one, after[one.name]) for one in old.item.versions if one.name in after}
    differing = {
        name: (before, now)
        for name, (before, now) in pairs.items()
        if before.schema != now.schema and (before.storage or (before.served and now.served))
    }
    return Task(old, new, differing, stored)


def compare_contents(tasks: Iterable[Task], reader: Reader, limits: Limits) -> Iterator[Finding]:
    """Compare schemas; a package or definition that cannot be read is recorded, and the rest is compared."""
    return _Run(reader, limits).compare([task for task in tasks if task.versions])


class _Run:
    """One comparison of schemas, and what it may still use."""

    def __init__(self, reader: Reader, limits: Limits) -> None:
        self._reader = reader
        self._limits = limits
        self._bytes = self._found = 0
        # The old schemas, compressed: two packages seldom have their definitions in one order.
        self._waiting: dict[Key, _Texts] = {}

    def compare(self, tasks: Sequence[Task]) -> Iterator[Finding]:
        for task, data in self._read(tasks, lambda task: task.old):
            self._keep(task, data)
        for task, data in self._read(tasks, lambda task: task.new):
            texts = self._waiting.pop(task.old.key, None)
            if texts is not None:
                yield from self._compare(task, texts, data)

    def _read(self, tasks: Sequence[Task], side: Callable[[Task], Brought]) -> Iterator[tuple[Task, bytes]]:
        """Yield the text of every definition, package by package."""
        by_bringer: dict[Bringer, dict[PackagedObject, Task]] = {}
        for task in tasks:
            brought = side(task)
            by_bringer.setdefault(brought.bringer, {})[brought.item.item] = task
        for bringer, missing in by_bringer.items():
            try:
                for item, data in self._reader.documents(bringer, frozenset(missing)):
                    if item in missing:
                        yield missing.pop(item), data
            except RenderError as error:
                self._reader.reject_for(bringer, error)
                continue
            for item in missing:
                self._reader.reject(bringer, "its text is not in the package", item.name)

    def _keep(self, task: Task, data: bytes) -> None:
        with self._rejecting(task.old):
            texts = cut_schemas(task.old.item.item, data, task.versions, self._limits)
            self._waiting[task.old.key] = {name: zlib.compress(text, 1) for name, text in texts.items()}

    def _compare(self, task: Task, texts: _Texts, data: bytes) -> Iterator[Finding]:
        found: list[Difference] = []
        with self._rejecting(task.new):
            news = cut_schemas(task.new.item.item, data, task.versions, self._limits)
            for name in task.versions:
                found += self._compare_version(task, name, zlib.decompress(texts[name]), news[name])
            self._found += len(found)
            if self._found > self._limits.compared_findings:
                found.clear()
                raise LimitExceeded("too many differences", "compared_findings", self._limits)
        yield from (make_finding(one, task.old, task.new, task.new) for one in dict.fromkeys(found))

    def _compare_version(self, task: Task, name: str, old: bytes, new: bytes) -> list[Difference]:
        self._bytes += len(old) + len(new)
        if self._bytes > self._limits.compared_bytes:
            raise LimitExceeded("too many schemas differ", "compared_bytes", self._limits)
        before, after = (parse_schema(text, self._limits) for text in (old, new))
        found = compare_schemas(before, after, self._limits)
        return [kept for one in found if (kept := _weigh(one, task, name))]

    @contextmanager
    def _rejecting(self, brought: Brought) -> Iterator[None]:
        """Record that a definition cannot be read."""
        try:
            yield
        except _UNREADABLE as error:
            self._reader.reject(brought.bringer, describe_problem(error), brought.item.name)


def _weigh(one: Difference, task: Task, version: str) -> Difference | None:
    """Return what a difference means for a version: whether objects are stored in it, and whether any may be written."""
    before, after = task.versions[version]
    is_stored = before.storage or task.stored is None or version in task.stored
    risk = Risk.WRITERS if one.risk is Risk.LOST and not is_stored else one.risk
    is_served = before.served and after.served
    return replace(one, risk=risk, version=version) if is_served or risk is Risk.LOST else None
