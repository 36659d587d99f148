"""Locks in few words: packages by short names, dependencies as "name constraint"."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hypothesis import strategies as st

from render.lock.model import Lock, LockedDependency, LockedPackage
from render.names import object_name
from render.packages import Kind
from render.references import Digest, Source

API = "pkg.crossplane.io/v1"


def source(name: str) -> Source:
    """A source on the example registry."""
    return Source("xpkg.example.org", f"acme/{name}")


def digest(seed: str) -> Digest:
    """A digest that starts with some hex digits and is filled up with zeros."""
    return Digest(f"sha256:{seed:0<64}")


def needs(text: str) -> LockedDependency:
    """A dependency written as "name constraint"."""
    name, _, constraints = text.partition(" ")
    return LockedDependency(str(source(name)), constraints, "Provider", API)


def package(text: str, *dependencies: str, **more: object) -> LockedPackage:
    """A package written as "name version"; a digest as version pins it to that."""
    name, _, version = text.partition(" ")
    pinned = (
        Digest(version)
        if version.startswith("sha256:")
        else digest(version.removeprefix("v").replace(".", "a"))
    )
    made = LockedPackage(
        source(name),
        version,
        pinned,
        Kind.PROVIDER,
        object_name(source(name)),
        tuple(map(needs, dependencies)),
    )
    return replace(made, **more)  # type: ignore[arg-type]  # tests name fields of the package


def lock(packages: Iterable[LockedPackage], inputs: Mapping[str, str] | None = None) -> Lock:
    """A lock of packages; who requires whom follows from their dependencies, and who is not required is a root."""
    known = {item.source: item for item in packages}
    required: dict[Source, set[str]] = {key: set() for key in known}
    for item in known.values():
        for dependency in item.dependencies:
            wanted = source(dependency.package.rpartition("/")[2])
            if wanted in required:
                required[wanted].add(str(item.source))
    full = {
        key: replace(item, required_by=tuple(sorted(required[key])), root=_root(item, required[key]))
        for key, item in known.items()
    }
    return Lock(full, dict(inputs or {}))


def _root(item: LockedPackage, dependants: set[str]) -> str | None:
    return item.root if item.root is not None or dependants else item.version


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


@st.composite
def _packages(draw: st.DrawFn) -> LockedPackage:
    pinned = draw(_digests)
    by_digest = draw(st.booleans())
    return LockedPackage(
        source=draw(_sources),
        version=pinned if by_digest else draw(_tags),
        digest=pinned,
        kind=draw(st.sampled_from(list(Kind))),
        object_name=draw(_names),
        dependencies=tuple(draw(st.lists(_dependencies, max_size=3))),
        required_by=tuple(sorted(draw(st.sets(_sources.map(str), max_size=3)))),
        root=draw(st.none() | _texts),
        tag=draw(st.none() | _tags) if by_digest else None,
        objects=draw(st.dictionaries(_texts, st.integers(1, 2000), max_size=2)),
        objects_digest=draw(st.just("") | _digests),
        family=draw(st.none() | _texts),
        crossplane=draw(st.none() | st.just(">=v1.20.0-0")),
        fields=draw(st.dictionaries(_texts, _values, max_size=2)),
    )


@st.composite
def any_locks(draw: st.DrawFn) -> Lock:
    """Locks as odd as they can be read and written; they need not hold together."""
    unique = (lambda item: item.source, lambda item: (item.kind, item.object_name))
    packages = draw(st.lists(_packages(), max_size=4, unique_by=unique))
    return Lock({item.source: item for item in packages}, draw(st.dictionaries(_texts, _digests, max_size=3)))
