"""The revision controller: a revision's place in the Lock, its dependencies, and control of what it brings."""

from functools import cache

from render.errors import RenderError
from render.packages import Dependency, Kind, Package
from render.references import is_digest, parse_reference
from render.versions.constraints import InvalidConstraint, parse_constraint
from render.versions.version import InvalidVersion, parse_version
from rig.cluster.graph import BrokenLock, Graph, build_graph
from rig.cluster.names import lock_identity
from rig.cluster.objects import establish, release
from rig.cluster.state import INACTIVE, Entry, Needed, Revision, State


def reconcile_revision(state: State, revision: Revision) -> None:
    """Look at a revision once."""
    if revision.deleting:
        state.remove_entry(revision)
        del state.revisions[revision.key]
        state.forget(revision.uid)
        return
    if revision.desired == INACTIVE:
        state.remove_entry(revision)
        release(state, revision)
        if revision.refs:
            revision.problem = None
            return
    revision.problem = _install(state, revision)


def _install(state: State, revision: Revision) -> str | None:
    """Do everything that an installed revision needs; return what is wrong."""
    try:
        pulled = state.registry.pull(revision.image, state.image_configs.values())
    except RenderError as error:
        return f"cannot get package: {error.what}"
    if pulled.package.metadata.kind is not revision.kind:
        return f"package meta type is not {revision.kind}"
    if not revision.skip and revision.desired != INACTIVE:
        problem = _resolve(state, revision, pulled.package)
        if problem:
            return f"cannot resolve package dependencies: {problem}"
    return establish(state, revision, pulled)


def _resolve(state: State, revision: Revision, package: Package) -> str | None:
    """Put a revision into the Lock, and look for what it needs there."""
    source, version = lock_identity(parse_reference(revision.image))
    try:
        graph = build_graph(state.lock)
    except BrokenLock as error:
        return f"cannot initialize dependency graph from the packages in the lock: {error}"
    dependencies = tuple(_needed(dependency) for dependency in package.metadata.dependencies)
    own = next((entry for entry in state.lock if entry.name == revision.name), None)
    if own and own.source != source:
        state.remove_entry(revision)
        own = None
    if own is None:
        own = Entry(revision.name, source, version, dependencies)
        state.lock.append(own)
    own.version = version
    nodes = {**graph.nodes, source: own}
    implied = {name: needed for name, needed in graph.implied.items() if name != source}
    implied |= {needed.package: needed for needed in dependencies if needed.package not in nodes}
    return _judge(Graph(nodes, implied), own, dependencies)


def _judge(graph: Graph, own: Entry, dependencies: tuple[Needed, ...]) -> str | None:
    """Return which dependencies are missing, however far away, or which direct ones do not fit."""
    needed = graph.reached(own.source) | {needed.package for needed in dependencies}
    missing = sorted(needed & graph.implied.keys())
    if missing:
        return f"missing dependencies: {', '.join(missing)}"
    problems = [_misfit(needed, graph.nodes[needed.package].version) for needed in dependencies]
    return next((problem for problem in problems if problem), None)


def _misfit(needed: Needed, version: str) -> str | None:
    if not _accepts(needed.constraints, version):
        return f"existing package {needed.package}@{version} is incompatible with constraint {needed.constraints}"
    return None


@cache
def _accepts(constraint: str, version: str) -> bool:
    if is_digest(constraint):
        return constraint == version
    try:
        return parse_constraint(constraint).accepts(parse_version(version))
    except (InvalidConstraint, InvalidVersion):
        return False


def _needed(dependency: Dependency) -> Needed:
    kind = Kind(dependency.kind) if dependency.kind else None
    return Needed(dependency.package, dependency.constraint.text, kind)
