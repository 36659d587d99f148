"""The resolver: the first thing that is missing from the Lock is installed, in the highest version that fits."""

from render.errors import RenderError
from render.names import object_name
from render.packages import Kind
from render.references import PartialSource, Source, is_admitted, is_digest, parse_dependency_source
from render.versions.constraints import parse_constraint
from render.versions.semantic import order_candidates
from rig.cluster.graph import BrokenLock, build_graph
from rig.cluster.state import Needed, State


def resolve_lock(state: State) -> None:
    """Look at the Lock once."""
    state.resolver_problem = _resolve(state)


def _resolve(state: State) -> str | None:
    try:
        graph = build_graph(state.lock)
    except BrokenLock as error:
        return f"cannot build DAG: {error}"
    if graph.has_cycle():
        return "cannot sort DAG: detected cycle"
    if not graph.implied:
        return None
    # Only the first one: while it is missing from the Lock, Crossplane installs no other.
    needed = next(iter(graph.implied.values()))
    source = parse_dependency_source(needed.package)
    if isinstance(source, PartialSource):
        return f"cannot create dependency package: {needed.package} has no registry"
    return _install(state, needed, source)


def _install(state: State, needed: Needed, source: Source) -> str | None:
    try:
        suffix = (
            f"@{needed.constraints}" if is_digest(needed.constraints) else _highest(state, needed, source)
        )
    except RenderError as error:
        return f"cannot find dependency version to install: {error.what}"
    if suffix is None:
        return f"dependency ({needed.package}) does not have a valid version"
    reference, name = f"{needed.package}{suffix}", object_name(source)
    if not is_admitted(reference) or not name:
        return f"cannot create dependency package: {reference}"
    kind = needed.kind or _real_kind(state, reference)
    # An object that exists already counts as success, even if it installs another package.
    if (kind, name) not in state.packages:
        state.create(kind, name, {"package": reference}, uninvited=True)
    return None


def _highest(state: State, needed: Needed, source: Source) -> str | None:
    constraint = parse_constraint(needed.constraints)
    tags = state.registry.tags(source, state.image_configs.values())
    fitting = [version for version in order_candidates(tags) if constraint.accepts(version)]
    return f":{fitting[-1]}" if fitting else None


def _real_kind(state: State, reference: str) -> Kind:
    # Real packages always say a kind, and in these tests it is the right one unless it is given.
    return state.registry.pull(reference, ()).package.metadata.kind
