"""Retiring packages that are leaving: first their guard goes, then, after a sync, they do."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from render.crossplane import needs_inactive_revision
from render.errors import Differs, InvalidInput
from render.folders.users import Users
from render.inputs.projects import read_settings
from render.lifecycle.retiring.blockers import LockedFolder
from render.lifecycle.retiring.retire import Retirement, require_agreed, require_synced, retire_packages
from render.lifecycle.states import was_guarded
from render.limits import Limits
from render.live.objects import parse_live_objects
from render.lock.freshness import require_consistent_lock
from render.lock.model import LockedPackage, State
from render.lock.text.file import read_lock, write_lock
from render.lock.text.format import PACKAGE_API, format_lock
from render.manifests.sync_annotations import find_guards
from render.names import revision_name
from render.system.boundary import real_path
from render.texts import first_names

_GROUP = PACKAGE_API.partition("/")[0]
_POLICY, _DEACTIVATED = "revisionActivationPolicy", "Manual"
_INACTIVE = "Inactive"
_SHOWN = 5


def retire_in_folders(
    names: Sequence[str],
    folders: Sequence[Path],
    limits: Limits,
    *,
    synced: bool,
    live: bytes | None,
    delete_objects: bool,
    dry_run: bool,
) -> list[Retirement]:
    """Take the next step of retiring packages, and write the locks unless it is a dry run."""
    given, users = _read_folders(folders, limits)
    made = retire_packages(names, given, users)
    require_agreed(made, delete=delete_objects)
    if live is not None:
        objects = parse_live_objects(live, limits)
        dropped = [package for one in made for package in one.dropped]
        revised = [p for one in made if needs_inactive_revision(one.folder.crossplane) for p in one.dropped]
        require_unguarded(dropped, objects, revised)
    else:
        require_synced(made, synced=synced)
    if not dry_run:
        _write(made, limits)
    return made


def _read_folders(folders: Sequence[Path], limits: Limits) -> tuple[list[LockedFolder], list[LockedFolder]]:
    """Return the folders that are given, and those in reach that use them."""
    given: dict[Path, Path] = {}
    for folder in folders:
        # One folder may be given in two spellings.
        given.setdefault(real_path(folder), folder)
    nearby = Users(limits, folders)
    found = {real_path(user): user for folder in folders for user in nearby.of(folder)}
    users = [user for path, user in found.items() if path not in given and read_lock(user, limits)]
    return (
        [_read_folder(folder, given, limits) for folder in given.values()],
        [_read_folder(folder, given, limits) for folder in users],
    )


def _read_folder(folder: Path, given: Mapping[Path, Path], limits: Limits) -> LockedFolder:
    settings, lock = read_settings(folder, limits), require_consistent_lock(folder, limits)
    used = {one.folder: real_path(folder / one.folder) for one in lock.provided.values()}
    uses = {text: str(given[path]) for text, path in used.items() if path in given}
    # A package that was locked with its guard on has it on in the cluster, too.
    guard = settings.guard or was_guarded(lock)
    return LockedFolder(str(folder), lock, guard, settings.crossplane_version, uses)


def _write(made: Sequence[Retirement], limits: Limits) -> None:
    # All texts first: if one cannot be made, no lock is written.
    texts = {Path(one.folder.name): format_lock(one.lock) for one in made}
    for folder, text in texts.items():
        write_lock(folder, text, limits=limits)


class StillGuarded(Differs):
    """A cluster has packages with their guard on, although it is off in the lock."""


class StillActive(Differs):
    """A cluster has replaced packages that are still active, although they are deactivated in the lock."""


class MissingLive(InvalidInput):
    """Packages are missing from the live objects that were given."""


def require_unguarded(
    packages: Sequence[LockedPackage], objects: Sequence[Any], revised: Sequence[LockedPackage] = ()
) -> None:
    """Raise unless every package is among the live objects, each deactivated if replaced, and without a guard.

    Of replaced packages among `revised`, whose revision is rendered, too, that has to be there, and inactive.
    """
    live = [value for value in objects if isinstance(value, dict)]
    switched = [package for package in revised if package.state is State.DEACTIVATED]
    missing = [
        *(_named(package) for package in packages if not list(_find(package, live))),
        *(" ".join(_revision(package)) for package in switched if not list(_find_revision(package, live))),
    ]
    if missing:
        raise MissingLive(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not among the live objects",
            why=f"there {'is' if len(live) == 1 else 'are'} {_described(live)}",
            next=[
                f"give the output of: {get_command(packages, switched)}",
                "or say --synced, where a cluster has it no longer",
            ],
        )
    active = [
        *(
            f"{_named(package)} has no {_POLICY}: {_DEACTIVATED}"
            for package in packages
            if _is_active(package, live)
        ),
        *(
            f"{' '.join(_revision(package))} is not {_INACTIVE}"
            for package in switched
            if _runs(package, live)
        ),
    ]
    if active:
        raise StillActive(
            "the cluster has not deactivated a replaced package yet",
            why=active,
            next="let it sync the lock as it is committed, and run this again",
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


def get_command(packages: Sequence[LockedPackage], revised: Sequence[LockedPackage] = ()) -> str:
    """Return the command that prints the objects of packages, and the revisions of some."""
    objects = [(package.kind, package.object_name) for package in packages]
    names = [f"{kind.lower()}.{_GROUP}/{name}" for kind, name in (*objects, *map(_revision, revised))]
    return f"kubectl get {' '.join(names)} -o yaml"


def _find(package: LockedPackage, live: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return _find_object((package.kind, package.object_name), live)


def _find_revision(package: LockedPackage, live: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    return _find_object(_revision(package), live)


def _find_object(wanted: tuple[str, str], live: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for value in live:
        group = str(value.get("apiVersion")).partition("/")[0]
        named = _mapping(value, "metadata").get("name")
        if (group, value.get("kind"), named) == (_GROUP, *wanted):
            yield value


def _revision(package: LockedPackage) -> tuple[str, str]:
    return f"{package.kind}Revision", revision_name(package.object_name, package.digest)


def _runs(package: LockedPackage, live: Sequence[Mapping[str, Any]]) -> bool:
    found = [_mapping(value, "spec").get("desiredState") for value in _find_revision(package, live)]
    return any(state != _INACTIVE for state in found)


def _is_active(package: LockedPackage, live: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a cluster has a replaced package active: its objects would be deleted with it."""
    found = [_mapping(value, "spec").get(_POLICY) for value in _find(package, live)]
    return package.state is State.DEACTIVATED and any(policy != _DEACTIVATED for policy in found)


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
