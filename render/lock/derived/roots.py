"""Roots: each has its package, with the name, the kind and a version that were asked for, and there is no other root."""

from collections.abc import Iterator, Mapping

from render.lock.graph import LockGraph, reach
from render.lock.model import LockedPackage, State
from render.references import Source, is_digest
from render.settings import PinMode, Settings
from render.versions.constraints import ANY
from render.versions.requests import Request, Root
from render.versions.version import parse_candidate


def check_roots(graph: LockGraph, asked: Mapping[Source, Root], settings: Settings) -> Iterator[str]:
    """Yield roots without a package that answers them, and packages that count as roots or as wanted without reason."""
    packages = graph.lock.packages
    for source, root in asked.items():
        package = packages.get(source)
        if package is None:
            yield f"{root.place} asks for {source}, which is not in the lock"
        else:
            yield from _compare(root, package)
    for source, package in packages.items():
        if package.root is not None and source not in asked:
            yield f"{source} is in the lock as asked for ({package.root}), and no input asks for it"
    yield from _check_wanted(graph, asked)
    yield from _check_versions(graph, asked, native=settings.pin is PinMode.NATIVE)
    yield from _check_provided(graph, settings)


def _compare(root: Root, package: LockedPackage) -> Iterator[str]:
    wanted = f"{root.place} asks for {root.source}"
    request = str(root.request)
    if package.root != request:
        yield f"{wanted} {request}; the lock has it as {_recorded(package)}"
    if not _answers(root.request, package):
        yield f"{wanted} {request}; locked is {package.version}"
    if root.name is not None and root.name != package.object_name:
        yield f"{wanted} as the object {root.name}; the lock names it {package.object_name}"
    if root.kind is not None and root.kind is not package.kind:
        yield f"{wanted} as a {root.kind}; the lock has it as a {package.kind}"


def _recorded(package: LockedPackage) -> str:
    return f"asked for: {package.root}" if package.root else f"{package.state}, and not asked for"


def _answers(request: Request, package: LockedPackage) -> bool:
    tag = package.version_tag
    if request.tag is not None and request.tag != tag:
        return False
    if request.digest is not None:
        return request.digest == package.digest
    if request.tag is not None:
        return True
    version = parse_candidate(tag) if tag else None
    return version is not None and (request.constraint or ANY).accepts(version)


def _check_wanted(graph: LockGraph, asked: Mapping[Source, Root]) -> Iterator[str]:
    """Find packages that only orphans need, and that would otherwise be orphans themselves."""
    packages = graph.lock.packages
    if all(package.state is State.WANTED for package in packages.values()):
        # Then each is reached from a root, or the lock does not hold together.
        return
    reached = reach(asked.keys() & packages.keys(), graph.dependencies)
    for source, package in packages.items():
        if package.state is State.WANTED and source not in reached:
            yield f"{source} is needed by orphaned packages alone, and is not orphaned"


def _check_versions(graph: LockGraph, asked: Mapping[Source, Root], *, native: bool) -> Iterator[str]:
    """Find packages that are installed by digest or by tag, where the other is asked for."""
    by_digest = {source for source, root in asked.items() if root.request.digest and not root.request.tag}
    for dependant, needs in graph.needs.items():
        if graph.lock.packages[dependant].state is State.WANTED:
            exact = [need for need in needs if is_digest(need.dependency.constraints)]
            by_digest.update(target.source for need in exact for target in need.targets)
    for source, package in graph.lock.packages.items():
        if package.state is not State.WANTED or package.by_digest is (native or source in by_digest):
            continue
        if package.by_digest:
            yield f"{source} is installed by its digest, and nothing asks for that"
        else:
            yield f"{source} has to be installed by its digest, and the lock has {package.version}"


def _check_provided(graph: LockGraph, settings: Settings) -> Iterator[str]:
    """Find packages of other folders that nothing here needs, or whose folder is not used."""
    provided = graph.lock.provided
    if not provided:
        return
    needed = set(graph.needed_from_others)
    needed.update(one for package in graph.lock.deactivated.values() for one in package.replaced_by)
    for source, package in provided.items():
        if source not in needed:
            yield f"{source} is provided by {package.folder}, and nothing here needs it"
        elif not settings.uses:
            yield f"{source} is provided by {package.folder}, and this folder uses no other"
