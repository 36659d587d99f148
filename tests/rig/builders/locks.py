"""Locks in few words: packages by short names, dependencies as "name constraint"."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from render.lock.graph import LockGraph
from render.lock.model import KeptPin, Lock, LockedDependency, LockedPackage, Provided, Replaced, State
from render.lock.text.format import format_lock
from render.moves import Consent, Strategy
from render.names import object_name
from render.packages import Kind
from render.references import Digest, Source
from render.system.files import LOCK_FILE

API = "pkg.crossplane.io/v1"


def source(name: str) -> Source:
    """A source on the example registry; a bare name is one of acme's."""
    return Source("xpkg.example.org", name if "/" in name else f"acme/{name}")


def digest(seed: str) -> Digest:
    """A digest that starts with some hex digits and is filled up with zeros."""
    return Digest(f"sha256:{seed:0<64}")


def digest_of_name(name: str) -> Digest:
    """The digest that a package of a `lock_of` has."""
    return Digest("sha256:" + hashlib.sha256(name.encode()).hexdigest())


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


def replaced(name: str, strategy: str = "deactivate", consent: str = "moves") -> Replaced:
    """The entry of a package about another one that it replaced."""
    return Replaced(source(name), Strategy(strategy), Consent(consent))


def deactivated(text: str, *successors: str, **more: object) -> LockedPackage:
    """A package that others have replaced."""
    off: dict[str, object] = {
        "state": State.DEACTIVATED,
        "replaced_by": tuple(source(name) for name in successors),
    }
    return package(text, **{**off, **more})


def provided(text: str, folder: str = "../platform", **more: object) -> Provided:
    """A package that a used folder provides."""
    name, _, version = text.partition(" ")
    made = package(text)
    found = Provided(source(name), folder, version, made.digest, made.kind, made.object_name)
    return replace(found, **more)  # type: ignore[arg-type]  # tests name fields of what is provided


def lock(
    packages: Iterable[LockedPackage],
    inputs: Mapping[str, str] | None = None,
    *,
    deactivated: Iterable[LockedPackage] = (),
    provided: Iterable[Provided] = (),
) -> Lock:
    """A lock of packages; `required_by` follows from their dependencies, and a package that none requires is a root."""
    known = {item.source: item for item in packages}
    bare = Lock(
        known,
        dict(inputs or {}),
        deactivated={item.cluster_source: item for item in deactivated},
        provided={item.source: item for item in provided},
    )
    required = LockGraph(bare).required_by
    full = {
        key: replace(item, required_by=required[key], root=_root(item, required[key]))
        for key, item in known.items()
    }
    return replace(bare, packages=full)


def _root(item: LockedPackage, dependants: Collection[str]) -> str | None:
    asked = item.root is None and not dependants and item.state is State.WANTED
    return item.version if asked else item.root


def lock_of(
    packages: Mapping[str, Mapping[str, str]],
    roots: Mapping[str, str],
    *,
    families: Mapping[str, str] | None = None,
) -> Lock:
    """A lock of a dependency graph alone: "name version" with its dependencies and their constraints.

    A version "sha256" or "v1@sha256" is locked by its digest. Roots are names with what was asked for.
    """
    made = [
        _in_closure(text, dependencies, (families or {}).get(text.partition(" ")[0]))
        for text, dependencies in packages.items()
    ]
    asked = {source(name): request for name, request in roots.items()}
    full = lock(made)
    return replace(
        full, packages={key: replace(item, root=asked.get(key)) for key, item in full.packages.items()}
    )


def _in_closure(text: str, dependencies: Mapping[str, str], family: str | None) -> LockedPackage:
    name, _, version = text.partition(" ")
    pinned = digest_of_name(name)
    tag = version.removesuffix("sha256").removesuffix("@") if version.endswith("sha256") else None
    return replace(
        package(text),
        version=version if tag is None else pinned,
        digest=pinned,
        kind=_kind(name),
        dependencies=tuple(LockedDependency(str(source(to)), wanted) for to, wanted in dependencies.items()),
        tag=tag or None,
        family=family,
    )


def _kind(name: str) -> Kind:
    kinds = {"provider": Kind.PROVIDER, "function": Kind.FUNCTION}
    return kinds.get(name.rpartition("/")[2].partition("-")[0], Kind.CONFIGURATION)


def write_lock(folder: Path, lock: Lock) -> Path:
    """Write a lock into a folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOCK_FILE).write_text(format_lock(lock))
    return folder


def rich_lock() -> Lock:
    """A lock with a bit of everything: an alias, an orphaned, a deactivated and a provided package."""
    return lock(
        [
            package("app v1.0.0", "old-net >=v1.0.0", "dns *", detached=("dns is detached",)),
            package(
                "net v1.2.0",
                installed_as=source("old-net"),
                object_name="acme-old-net",
                replaces=(replaced("old-net", "alias"),),
                kept_pins=(
                    KeptPin("v1.1.0", digest("1a1")),
                    KeptPin("v1.0.0", digest("1a0"), source("old-net")),
                ),
            ),
            package("mesh v1.0.0", state=State.ORPHANED, released=True, detached=("a",), stale_entry=("b",)),
            package(
                "store v2.0.0",
                replaces=(replaced("old-store", consent="claim"),),
                groups=("store.example.org",),
                overrides={"spec": {"revisionHistoryLimit": 1}},
            ),
        ],
        {"settings moves": digest("aa")},
        deactivated=[
            deactivated("old-store v1.0.0", "store", fields={"spec": {"packagePullPolicy": "Always"}})
        ],
        provided=[provided("dns v1.0.0", detached=True, replaces=(source("old-dns"),))],
    )
