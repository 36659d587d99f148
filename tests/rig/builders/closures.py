"""Locks in a few words: packages, what each depends on, and which of them somebody asked for."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from hypothesis import strategies as st

from render.lifecycle.preferences import Upgrade, kept_candidates, pinned_digests
from render.lifecycle.settle import settle
from render.lifecycle.write import Surroundings, create_lock
from render.limits import Limits
from render.lock.format import format_lock
from render.lock.model import Lock, LockedDependency, LockedPackage
from render.moves import Move
from render.packages import Kind
from render.references import Digest, Source
from render.requests import Root
from render.resolve.model import Catalog, Wanted
from render.settings import Settings
from render.system.files import LOCK_FILE

REGISTRY = "xpkg.example.org"


def named(name: str) -> Source:
    """Return the source of a package: a bare name is one of acme's."""
    return Source(REGISTRY, name if "/" in name else f"acme/{name}")


def digest_of_name(name: str) -> Digest:
    """Return a digest that a package of this name could have."""
    return Digest("sha256:" + hashlib.sha256(name.encode()).hexdigest())


def lock_of(
    packages: Mapping[str, Mapping[str, str]],
    roots: Mapping[str, str],
    *,
    families: Mapping[str, str] | None = None,
) -> Lock:
    """Return a lock of packages, written "name version" with the constraints on what they depend on.

    A version "sha256" or "v1@sha256" is locked by its digest. Roots are names with what was asked for.
    """
    found = {}
    dependants: dict[str, set[str]] = defaultdict(set)
    for key, dependencies in packages.items():
        for other in dependencies:
            dependants[other].add(str(named(key.split(" ")[0])))
    for key, dependencies in packages.items():
        name, version = key.split(" ")
        tag, _, by_digest = version.rpartition("@") if version.endswith("sha256") else (None, "", "")
        digest = digest_of_name(name)
        found[named(name)] = LockedPackage(
            source=named(name),
            version=digest if by_digest else version,
            digest=digest,
            kind=_kind(name),
            object_name=named(name).repository.replace("/", "-"),
            dependencies=tuple(
                LockedDependency(str(named(other)), constraint) for other, constraint in dependencies.items()
            ),
            required_by=tuple(sorted(dependants[name])),
            root=roots.get(name),
            tag=tag or None,
            family=(families or {}).get(name),
        )
    return Lock(found)


def made_lock(
    catalog: Catalog,
    *roots: Root,
    before: Lock | None = None,
    settings: Settings | None = None,
    moves: Iterable[Move] = (),
    record: Mapping[str, str] | None = None,
) -> Lock:
    """Return the lock that is made of an answer, as the pipeline makes it."""
    before, settings = before or Lock(), settings or Settings()
    kept, _ = kept_candidates(before, Upgrade())
    wanted = Wanted(roots, preferred=kept, pinned=pinned_digests(before, kept))
    settled = settle(wanted, before, tuple(moves), catalog, Limits(), guard=settings.guard)
    return create_lock(settled, record or {}, Surroundings(before, settings))


def write_lock_of(folder: Path, lock: Lock) -> Path:
    """Write a lock into a folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOCK_FILE).write_text(format_lock(lock))
    return folder


@st.composite
def small_locks(draw: st.DrawFn, *, most: int = 8) -> Lock:
    """Draw a lock without cycles in which everything is needed by something that was asked for."""
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


def _kind(name: str) -> Kind:
    kinds = {"provider": Kind.PROVIDER, "function": Kind.FUNCTION}
    return kinds.get(name.rpartition("/")[2].partition("-")[0], Kind.CONFIGURATION)
