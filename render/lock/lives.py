"""Whether what a lock says of the life of its packages holds together: who is leaving, and who has replaced whom."""

from collections.abc import Iterator

from render.lock.model import Lock, LockedPackage, State
from render.moves import Strategy
from render.references import Source


def check_lives(lock: Lock) -> list[str]:
    """Return what contradicts itself about packages that are leaving, were replaced, or are aliases."""
    problems = [problem for package in lock.packages.values() for problem in _check_package(package)]
    return sorted([*problems, *_check_orphans(lock), *_check_moves(lock), *_check_deactivated(lock)])


def _check_package(package: LockedPackage) -> Iterator[str]:
    source, alias = package.source, package.installed_as
    if package.released and package.state is State.WANTED:
        yield f"{source} is released, but it is not leaving"
    if package.stale_entry and not package.detached:
        yield f"{source} has a staleEntry, but it is not detached"
    if alias and not any(one.source == alias and one.strategy is Strategy.ALIAS for one in package.replaces):
        yield f"{source} is installedAs {alias}, but it does not replace that as an alias"


def _check_orphans(lock: Lock) -> Iterator[str]:
    orphans = [package for package in lock.packages.values() if package.state is State.ORPHANED]
    # Few locks have any, and only those need the texts of all sources.
    wanted = {str(p.source) for p in lock.packages.values() if p.state is State.WANTED} if orphans else set()
    for orphan in orphans:
        if orphan.root is not None:
            yield f"{orphan.source} is orphaned, but it is asked for: {orphan.root}"
        for dependant in wanted.intersection(orphan.required_by):
            yield f"{orphan.source} is orphaned, but {dependant} needs it"


def _check_moves(lock: Lock) -> Iterator[str]:
    """Find sources that are active although they were replaced, or that were replaced in two ways."""
    found: dict[Source, list[tuple[Source, Strategy]]] = {}
    # Of an orphan it is history: what it once replaced may have returned.
    for package in (package for package in lock.packages.values() if package.state is State.WANTED):
        for replaced in package.replaces:
            found.setdefault(replaced.source, []).append((package.source, replaced.strategy))
    for source, successors in found.items():
        ways = sorted(f"{successor} ({strategy})" for successor, strategy in successors)
        strategies = {strategy for _, strategy in successors}
        if source in lock.packages:
            yield f"{source} is active, but it is replaced by {' and '.join(ways)}"
        if len(strategies) > 1 or (len(ways) > 1 and strategies & {Strategy.ALIAS, Strategy.REPOINT}):
            yield f"{source} is replaced in two ways: by {' and by '.join(ways)}"


def _check_deactivated(lock: Lock) -> Iterator[str]:
    """Find packages that are switched off and whose successors are others than they say, or none."""
    replacements = lock.replacements()
    for source, package in lock.deactivated.items():
        recorded, found = set(package.replaced_by), set(replacements.get(source, ()))
        for successor in recorded - found:
            yield f"{source} is replacedBy {successor}, which does not replace it"
        for successor in found - recorded:
            yield f"{successor} replaces {source}, whose replacedBy does not say so"
