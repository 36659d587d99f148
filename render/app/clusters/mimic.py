"""What Crossplane alone would pick for a folder, beside our answer; nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from render.app.resolving.outcome import Outcome, ReadFolder
from render.app.resolving.resolver import Resolver
from render.commands import LockCall
from render.errors import RenderError, Unavailable
from render.lock.model import Lock, State
from render.names import object_name
from render.resolve.mimic.model import AppliedRoot, CrossplaneAnswer, Flag
from render.resolve.mimic.run import EMPTY_CLUSTER, Start, mimic
from render.resolve.mimic.versions import NothingFits, pick_new
from render.resolve.model import Catalog
from render.versions.requests import Root
from render.views.mimic.comparison import Comparison
from render.views.mimic.differences import find_differences

# The constraints of Crossplane's older versions have other rules; ours are those from this version on.
_SAME_CONSTRAINTS = (2, 3)


@dataclass(frozen=True, slots=True)
class Mimicked:
    """The comparison, the reason if we have no answer, and notes for people."""

    comparison: Comparison
    failure: RenderError | None
    notes: tuple[str, ...] = ()


def mimic_folder(
    resolver: Resolver,
    folder: Path,
    call: LockCall,
    *,
    flag: Flag | None = None,
    start: Start | None = None,
) -> Mimicked:
    """Resolve a folder both ways."""
    read = resolver.read(folder)
    outcome, failure = _resolve(resolver, folder)
    after = outcome.after if outcome else None
    catalog = resolver.catalog(read.inputs)
    try:
        roots = [_applied(root, after, catalog) for root in read.inputs.roots]
    except NothingFits:
        # Without a version nothing can be applied, and ours says which root that is.
        if failure is None:
            raise
        raise failure from None

    def run(ordered: Sequence[AppliedRoot]) -> CrossplaneAnswer:
        crossplane = read.inputs.settings.crossplane_version
        known = start or EMPTY_CLUSTER
        return mimic(ordered, catalog, resolver.limits, flag=flag, crossplane=crossplane, start=known)

    answer = run(roots)
    comparison = Comparison(
        str(folder),
        flag,
        start is not None,
        answer,
        run(roots[::-1]) if len(roots) > 1 else None,
        None if after is None else _count(after),
        () if outcome is None else tuple(find_differences(answer, outcome.before, outcome.after, call)),
    )
    return Mimicked(comparison, failure, (*_note_constraints(read), *_note_names(roots, answer)))


def _resolve(resolver: Resolver, folder: Path) -> tuple[Outcome | None, RenderError | None]:
    try:
        return resolver.resolve(folder), None
    except Unavailable:
        # Without the registry there is nothing to simulate either.
        raise
    except RenderError as error:
        return None, error


def _count(lock: Lock) -> int:
    return len(lock.provided) + sum(one.state is State.WANTED for one in lock.packages.values())


def _applied(root: Root, after: Lock | None, catalog: Catalog) -> AppliedRoot:
    """Return the object that we would render for a root; without an answer of ours, the newest that it asks for."""
    locked = after.packages.get(root.source) if after else None
    if locked:
        return AppliedRoot(locked.cluster_source, locked.version, str(locked.kind), locked.object_name)
    request = root.request
    version = request.tag or request.digest
    if version is None:
        constraint = request.constraint.text if request.constraint else "*"
        version = pick_new(constraint, catalog.tags(root.source))
    return AppliedRoot(root.source, version, str(root.kind or ""), root.name or "")


def _note_constraints(read: ReadFolder) -> list[str]:
    crossplane = read.inputs.settings.crossplane_version
    if crossplane is None or crossplane.precedence[:2] >= _SAME_CONSTRAINTS:
        return []
    return [
        f"Crossplane {crossplane} reads some constraints in another way; here they are read as from v2.3 on"
    ]


def _note_names(roots: Sequence[AppliedRoot], answer: CrossplaneAnswer) -> list[str]:
    """Describe the race that a name given by the user starts if another package depends on that package."""
    needed = {one.package for entry in answer.entries for one in entry.dependencies}
    return [
        f"{root.source} is named {root.object_name}, and other packages need it: if Crossplane sees one of them first, it "
        f"creates {object_name(root.source)} as well, and then no package can be installed"
        for root in roots
        if str(root.source) in needed and root.object_name not in ("", object_name(root.source))
    ]
