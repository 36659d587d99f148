"""Comparing the definitions of two locks: the content of packages comes from layouts, the cache or registries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.definitions.bringers import pair_bringers
from render.definitions.compare import compare_definitions
from render.definitions.compositions import composition_of
from render.definitions.index import not_compared
from render.definitions.model import Comparison, LiveDefinitions
from render.errors import RenderError
from render.inputs.projects import read_inputs, read_settings
from render.lean import dataclass
from render.limits import Limits
from render.lock.model import Lock, LockedPackage
from render.packages import PackagedObject, count_kinds, defined_groups, digest_objects
from render.references import Digest, Reference, Source
from render.rewrites import Rewrite
from render.texts import counted
from render.xpkg.definitions import Composition, Definitions

if TYPE_CHECKING:
    from render.app.resolving.outcome import Outcome
    from render.app.resolving.resolver import Resolver
    from render.xpkg.catalog import Catalog

Layouts = Sequence[tuple[str, Path]]


@dataclass(frozen=True, slots=True)
class ContentPlaces:
    """Where the content of packages may be: what some folders say about it, and what the call says."""

    folders: tuple[Path, ...] = ()
    layouts: Layouts = ()
    offline: bool = False


class PackageContent:
    """The content of packages by digest, from the first of some catalogs that has it; nothing is asked twice."""

    def __init__(self, catalogs: Sequence["Catalog"]) -> None:
        self._catalogs = catalogs
        self._known: dict[tuple[Source, Digest], Definitions | RenderError] = {}

    def prepare(self, packages: Sequence[tuple[Source, Digest]], parallel: int) -> None:
        """Ask for the facts about some packages at once, so that a comparison does not wait for one after another."""
        new = [one for one in packages if one not in self._known]
        with ThreadPoolExecutor(parallel, thread_name_prefix="xplock-definitions") as pool:
            self._known.update(zip(new, pool.map(lambda one: self._try(*one), new), strict=True))

    def facts(self, source: Source, digest: Digest) -> Definitions:
        """Return the facts about the definitions of a package."""
        key = source, digest
        if key not in self._known:
            self._known[key] = self._try(source, digest)
        found = self._known[key]
        if isinstance(found, RenderError):
            raise found
        return found

    def documents(
        self, source: Source, digest: Digest, wanted: frozenset[PackagedObject]
    ) -> Iterator[tuple[PackagedObject, bytes]]:
        """Yield the text of some objects of a package, each as it is read."""
        missing = set(wanted)
        for number, catalog in enumerate(self._catalogs, 1):
            try:
                for item, data in catalog.documents(source, digest, frozenset(missing)):
                    missing.discard(item)
                    yield item, data
            except RenderError:
                if number == len(self._catalogs):
                    raise
            else:
                return

    def _try(self, source: Source, digest: Digest) -> Definitions | RenderError:
        """Return the facts about a package, or the error of the first catalog."""
        errors: list[RenderError] = []
        for catalog in self._catalogs:
            try:
                return catalog.definitions(Reference(source, digest=digest))
            except RenderError as error:
                errors.append(error)
        return errors[0]


def compare_lock_definitions(
    old: Lock,
    new: Lock,
    places: ContentPlaces,
    operator: OperatorSettings,
    reporter: Reporter,
    live: LiveDefinitions | None = None,
) -> Comparison:
    """Compare the definitions of two locks; nothing is opened or asked if their digests settle it."""

    def open_catalogs() -> list["Catalog"]:
        return _open_catalogs(places, operator, reporter)

    def read_own() -> list[Composition]:
        return _read_compositions(places.folders[0], operator) if places.folders else []

    return compare_with_content(old, new, open_catalogs, operator.limits, reporter, live, read_own=read_own)


def compare_with_content(
    old: Lock,
    new: Lock,
    open_catalogs: Callable[[], Sequence["Catalog"]],
    limits: Limits,
    reporter: Reporter,
    live: LiveDefinitions | None = None,
    *,
    read_own: Callable[[], Sequence[Composition]] = tuple,
) -> Comparison:
    """Compare the definitions of two locks with the content that some catalogs have.

    `read_own` reads the Compositions that the folder of the new lock has beside its packages.
    """
    asked = _packages_to_read(old, new)
    if not asked:
        return Comparison()
    content = PackageContent(open_catalogs())
    with reporter.busy(f"comparing the definitions of {counted(len(asked), 'package')}"):
        content.prepare(asked, limits.parallel)
        return compare_definitions(old, new, content, live, own=read_own(), limits=limits)


def _packages_to_read(old: Lock, new: Lock) -> list[tuple[Source, Digest]]:
    """Return the packages whose definitions the digests of two locks do not settle."""
    bringers = pair_bringers(old, new)
    asked = ((one.source, one.digest) for one in (*bringers.old, *bringers.new) if not one.is_empty)
    return list(dict.fromkeys(asked))


def compare_outcomes(
    outcomes: Sequence["Outcome"], resolver: "Resolver", reporter: Reporter
) -> dict[Path, Comparison]:
    """Return what the new locks of folders do to definitions; a first lock does nothing to any."""
    known: dict[tuple[int, int], Comparison] = {}
    for one in outcomes:
        # Folders that are alike have one lock.
        key = id(one.before), id(one.after)
        if key not in known and one.before.packages and one.before != one.after:
            known[key] = _compare_outcome(one, resolver, reporter)
    return {one.folder: known.get((id(one.before), id(one.after)), Comparison()) for one in outcomes}


def _compare_outcome(one: "Outcome", resolver: "Resolver", reporter: Reporter) -> Comparison:
    def open_catalogs() -> list["Catalog"]:
        return [resolver.catalog(one.inputs)]

    return compare_with_content(one.before, one.after, open_catalogs, resolver.limits, reporter)


def compare_upgrades(
    lock: Lock, upgrades: Mapping[Source, str], catalog: "Catalog", limits: Limits, reporter: Reporter
) -> dict[Source, Comparison]:
    """Return what some upgrades do to definitions, each by itself: packages of a lock, with the tags that they get."""

    def read(wanted: tuple[Source, str]) -> LockedPackage | Comparison:
        old = lock.packages[wanted[0]]
        try:
            return _upgraded(old, wanted[1], catalog)
        except RenderError as error:
            return Comparison(not_compared=(not_compared(str(old.display_source), wanted[1], error),))

    content = PackageContent([catalog])

    def compare(new: LockedPackage) -> Comparison:
        after = replace(lock, packages={**lock.packages, new.source: new})
        content.prepare(_packages_to_read(lock, after), limits.parallel)
        return compare_definitions(lock, after, content, limits=limits)

    with reporter.busy(f"comparing the definitions of {counted(len(upgrades), 'upgrade')}"):
        with ThreadPoolExecutor(limits.parallel, thread_name_prefix="xplock-upgrades") as pool:
            found = list(pool.map(read, upgrades.items()))
        compared = [one if isinstance(one, Comparison) else compare(one) for one in found]
        return dict(zip(upgrades, compared, strict=True))


def _upgraded(old: LockedPackage, tag: str, catalog: "Catalog") -> LockedPackage:
    """Return a locked package as another version of it would be locked, as far as definitions go."""
    package = catalog.package(Reference(old.source, tag))
    return replace(
        old,
        version=tag,
        tag=None,
        digest=package.digest,
        kind=package.metadata.kind,
        objects=count_kinds(package.objects),
        objects_digest=digest_objects(package.objects),
        definitions_digest=package.definitions_digest,
        groups=defined_groups(package.metadata.kind, package.objects),
    )


def _open_catalogs(places: ContentPlaces, operator: OperatorSettings, reporter: Reporter) -> list["Catalog"]:
    """Return a catalog for each way in which the folders of the two locks find packages."""
    # Imported late: most locks are compared without a question.
    from render.app.world import open_world

    world = open_world(operator, reporter)
    ways: list[tuple[Layouts, Sequence[Rewrite]]] = []
    for layouts, rewrites in (_read_ways(folder, operator) for folder in places.folders):
        way = [*places.layouts, *layouts], [*rewrites]
        if way not in ways:
            ways.append(way)
    return [
        world.catalog(layouts, rewrites, offline=places.offline)
        for layouts, rewrites in ways or [(places.layouts, ())]
    ]


def _read_compositions(folder: Path, operator: OperatorSettings) -> list[Composition]:
    """Return the Compositions among the manifests of a folder, as far as they can be read."""
    with suppress(RenderError):
        inputs = read_inputs(folder, operator.limits, operator.environ)
        return [found for value in inputs.passthrough if (found := composition_of(value))]
    return []


def _read_ways(folder: Path, operator: OperatorSettings) -> tuple[Layouts, Sequence[Rewrite]]:
    """Return the layouts and rewrites of a folder, as far as they can be read: its inputs are not compared here."""
    with suppress(RenderError):
        inputs = read_inputs(folder, operator.limits, operator.environ)
        return inputs.settings.layouts, inputs.rewrites
    with suppress(RenderError):
        settings = read_settings(folder, operator.limits)
        return settings.layouts, settings.rewrites
    return (), ()
