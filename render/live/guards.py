"""Whether packages in a cluster still have the guards that keep them from being pruned."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from render.errors import Differs, InvalidInput
from render.lock.format import PACKAGE_API
from render.lock.model import LockedPackage
from render.manifests.sync_annotations import find_guards
from render.texts import first_names

_GROUP = PACKAGE_API.partition("/")[0]
_SHOWN = 5


class StillGuarded(Differs):
    """Packages whose guard is on in a cluster, although it is off in the lock."""


class MissingLive(InvalidInput):
    """Packages that are not among the objects of a cluster that were given."""


def require_unguarded(packages: Sequence[LockedPackage], objects: Sequence[Any]) -> None:
    """Refuse to drop packages unless their objects are there, in every cluster without a guard."""
    live = [value for value in objects if isinstance(value, dict)]
    missing = [package for package in packages if not list(_find(package, live))]
    if missing:
        raise MissingLive(
            f"{' and '.join(map(_named, missing))} {'is' if len(missing) == 1 else 'are'} not among the live objects",
            why=f"there {'is' if len(live) == 1 else 'are'} {_described(live)}",
            next=[
                f"give the output of: {get_command(packages)}",
                "or say --synced, where a cluster has it no longer",
            ],
        )
    guarded = [f"{_named(package)} has {guard}" for package in packages for guard in _guards(package, live)]
    if guarded:
        raise StillGuarded(
            "the cluster has not synced the first step yet",
            why=guarded,
            next=[
                "let it sync the lock as it is committed, and run this again",
                "if it has, something else puts the guard on: an overlay, or a policy of the cluster",
            ],
        )


def get_command(packages: Sequence[LockedPackage]) -> str:
    """Return the command that prints the objects of packages."""
    names = [f"{package.kind.lower()}.{_GROUP}/{package.object_name}" for package in packages]
    return f"kubectl get {' '.join(names)} -o yaml"


def _find(package: LockedPackage, live: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for value in live:
        group = str(value.get("apiVersion")).partition("/")[0]
        named = _mapping(value, "metadata").get("name")
        if (group, value.get("kind"), named) == (_GROUP, package.kind, package.object_name):
            yield value


def _guards(package: LockedPackage, live: Sequence[Mapping[str, Any]]) -> list[str]:
    metadata = [_mapping(value, "metadata") for value in _find(package, live)]
    found = {
        g for one in metadata for g in find_guards(_mapping(one, "labels"), _mapping(one, "annotations"))
    }
    return sorted(found)


def _named(package: LockedPackage) -> str:
    return f"{package.kind} {package.object_name}"


def _described(live: Sequence[Mapping[str, Any]]) -> str:
    names = [f"{value.get('kind')} {_mapping(value, 'metadata').get('name')}" for value in live]
    return first_names(names, _SHOWN) or "none"


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
