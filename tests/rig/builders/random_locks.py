"""Random locks for property tests."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from render.lock.model import KeptPin, Lock, LockedDependency, LockedPackage, Provided, Replaced, State
from render.moves import Consent, Strategy
from render.packages import Kind
from render.references import Digest, Source
from rig.builders.locks import API, digest, lock_of

T = TypeVar("T")

_names = st.text("abcxyz019", min_size=1, max_size=9)
_digests = st.integers(0, 2**256 - 1).map(lambda number: Digest(f"sha256:{number:064x}"))
_tags = st.tuples(*[st.integers(0, 20)] * 3).map(lambda parts: "v{}.{}.{}".format(*parts))
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_sources = st.builds(
    Source, st.sampled_from(["xpkg.example.org", "registry.local:5000", "10.0.0.1", "docker.io"]), _names
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_dependencies = st.builds(
    LockedDependency,
    st.one_of(_sources.map(str), _names),
    st.sampled_from(["*", ">=v1.0.0", "^1.2, <2 || >3", "1.10", digest("a")]),
) | st.builds(
    LockedDependency,
    _sources.map(str),
    st.just(">=v1"),
    st.sampled_from(list(Kind)).map(str),
    st.none() | st.just(API),
)


_replaced = st.builds(Replaced, _sources, st.sampled_from(list(Strategy)), st.sampled_from(list(Consent)))
_pins = st.builds(KeptPin, _tags, _digests, st.none() | _sources, st.none() | _sources)


def _tuples(items: st.SearchStrategy[T]) -> st.SearchStrategy[tuple[T, ...]]:
    return st.lists(items, max_size=2).map(tuple)


@st.composite
def _packages(draw: st.DrawFn, states: Sequence[State]) -> LockedPackage:
    pinned = draw(_digests)
    by_digest = draw(st.booleans())
    state = draw(st.sampled_from(states))
    off = state is State.DEACTIVATED
    return LockedPackage(
        source=draw(_sources),
        version=pinned if by_digest else draw(_tags),
        digest=pinned,
        kind=draw(st.sampled_from(list(Kind))),
        object_name=draw(_names),
        # The cluster's Lock has no entry for a deactivated package, and so no place for these.
        dependencies=() if off else draw(st.lists(_dependencies, max_size=3).map(tuple)),
        required_by=tuple(sorted(draw(st.sets(_sources.map(str), max_size=3)))),
        root=draw(st.none() | _texts),
        tag=draw(st.none() | _tags) if by_digest else None,
        objects=draw(st.dictionaries(_texts, st.integers(1, 2000), max_size=2)),
        objects_digest=draw(st.just("") | _digests),
        definitions_digest=draw(st.just("") | _digests),
        groups=draw(_tuples(_texts)),
        family=draw(st.none() | _texts),
        crossplane=draw(st.none() | st.just(">=v1.20.0-0")),
        detached=draw(_tuples(_texts)),
        fields=draw(st.dictionaries(_texts, _values, max_size=2)),
        overrides=draw(st.dictionaries(_texts, _values, max_size=2)),
        kept_pins=draw(_tuples(_pins)),
        state=state,
        released=draw(st.booleans()),
        replaces=draw(_tuples(_replaced)),
        replaced_by=tuple(sorted(draw(st.sets(_sources, min_size=1, max_size=2)))) if off else (),
        installed_as=draw(st.none() | _sources),
        stale_entry=draw(_tuples(_sources.map(str) | _names)),
    )


@st.composite
def _provided(draw: st.DrawFn) -> Provided:
    pinned = draw(_digests)
    by_digest = draw(st.booleans())
    return Provided(
        source=draw(_sources),
        folder=draw(_texts.filter(lambda text: text != "" and not text.startswith("/"))),
        version=pinned if by_digest else draw(_tags),
        digest=pinned,
        kind=draw(st.sampled_from(list(Kind))),
        object_name=draw(_names),
        tag=draw(st.none() | _tags) if by_digest else None,
        detached=draw(st.booleans()),
        installed_as=draw(st.none() | _sources),
        replaces=draw(_tuples(_sources)),
    )


@st.composite
def any_locks(draw: st.DrawFn) -> Lock:
    """Locks as odd as they can be read and written; they need not hold together."""
    active = _packages([State.WANTED, State.ORPHANED])
    drawn = draw(st.lists(st.one_of(active, active, _packages([State.DEACTIVATED]), _provided()), max_size=6))
    items = _without_doubles(drawn)
    packages = [item for item in items if isinstance(item, LockedPackage)]
    return Lock(
        {item.source: item for item in packages if item.state is not State.DEACTIVATED},
        draw(st.dictionaries(_texts, _digests, max_size=3)),
        deactivated={item.cluster_source: item for item in packages if item.state is State.DEACTIVATED},
        provided={item.source: item for item in items if isinstance(item, Provided)},
    )


def _without_doubles(items: Iterable[LockedPackage | Provided]) -> list[LockedPackage | Provided]:
    """Leave out packages whose source or object another one has already."""
    taken: set[Source | tuple[str, str]] = set()
    kept = []
    for item in items:
        own = {item.cluster_source, (item.kind, item.object_name)}
        # A deactivated package may be an alias that has ended: the same bytes have an object of their own now.
        if isinstance(item, Provided) or item.state is not State.DEACTIVATED:
            own.add(item.source)
        if not own & taken:
            kept.append(item)
            taken |= own
    return kept


@st.composite
def small_locks(draw: st.DrawFn, *, most: int = 8) -> Lock:
    """Locks without cycles in which every package is a root or required by one."""
    names = [f"p{i}" for i in range(draw(st.integers(1, most)))]
    needs: dict[str, set[str]] = {name: set() for name in names}
    roots = {names[0]}
    for i, name in enumerate(names[1:], start=1):
        above = draw(st.sets(st.sampled_from(names[:i])))
        for dependant in above:
            needs[dependant].add(name)
        if not above or draw(st.booleans()):
            roots.add(name)
    # Sources must not sort as the graph does.
    order = dict(zip(names, draw(st.permutations(names)), strict=True))
    packages = {f"{order[name]} v1.0.0": {order[other]: "*" for other in needs[name]} for name in names}
    return lock_of(packages, {order[name]: "v1.0.0" for name in roots})
