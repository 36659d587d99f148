"""Objects of a cluster → the state that a simulation of Crossplane starts from."""

from typing import Any, BinaryIO

from render.limits import Limits
from render.live.lock import InvalidLiveLock
from render.live.names import parse_live_source, start_of_revision
from render.live.objects import parse_live_objects
from render.names import friendly_id, object_name
from render.packages import PACKAGE_GROUP, Kind
from render.references import Source, split_tag
from render.resolve.mimic.model import LockDependency, LockEntry
from render.resolve.mimic.run import Installed, ObjectKey, Start
from render.yaml.fields import Fields, Problems


def read_start(stream: BinaryIO, limits: Limits) -> Start:
    """Read what a cluster has, as kubectl prints it."""
    # One byte above the limit is enough to know that there is too much.
    return parse_start(stream.read(limits.lock_bytes + 1), limits)


def parse_start(data: bytes, limits: Limits) -> Start:
    """Parse the Lock of a cluster, and the package objects beside it if there are any."""
    problems = Problems()
    found = [Fields(item, problems) for item in parse_live_objects(data, limits) if _is_of_packages(item)]
    locks = [item for item in found if item.get("kind") == "Lock"]
    if len(locks) != 1:
        raise InvalidLiveLock([f"it has {len(locks)} objects of kind Lock"])
    objects = dict(_read_object(item) for item in found if item.get("kind") in set(Kind))
    entries = tuple(_read_entry(entry, objects) for entry in locks[0].mappings("packages"))
    if problems:
        raise InvalidLiveLock(problems.texts())
    return Start(entries, objects)


def _is_of_packages(item: Any) -> bool:
    return isinstance(item, dict) and str(item.get("apiVersion")).startswith(f"{PACKAGE_GROUP}/")


def _read_object(item: Fields) -> tuple[ObjectKey, Installed]:
    source, version = split_reference(item.mapping("spec").text("package"))
    return (item.text("kind"), item.mapping("metadata").text("name")), Installed(source, version)


def split_reference(text: str) -> tuple[str, str]:
    """Split a reference as Crossplane does: beside a digest, the tag stays a part of the source."""
    base, at, digest = text.rpartition("@")
    if at:
        return base, digest
    source, tag = split_tag(text)
    return source, tag or ""


def _read_entry(entry: Fields, objects: dict[ObjectKey, Installed]) -> LockEntry:
    for key in ("name", "source", "version"):
        if not entry.text(key):
            entry.complain("it is missing", key)
    # Older releases have the kind as type.
    kind = entry.text("kind") or entry.text("type")
    source, version = entry.text("source"), entry.text("version")
    return LockEntry(
        source,
        version,
        kind,
        _object_name(entry.text("name"), kind, source, objects),
        tuple(map(_read_dependency, entry.mappings("dependencies"))),
    )


def _read_dependency(entry: Fields) -> LockDependency:
    kind = entry.text("kind") or entry.text("type") or Kind.PROVIDER
    return LockDependency(
        entry.text("package"), entry.text("constraints"), kind, entry.text("apiVersion") or None
    )


def _object_name(revision: str, kind: str, source: str, objects: dict[ObjectKey, Installed]) -> str:
    """Return the name of the package object behind a revision, whose own name has only the start of it."""
    start = start_of_revision(revision) or revision
    for (one, name), installed in sorted(objects.items()):
        if one == kind and installed.source == source and friendly_id(name, "") == start.strip("-"):
            return name
    parsed = parse_live_source(source)
    derived = object_name(parsed) if isinstance(parsed, Source) else ""
    return derived if derived and friendly_id(derived, "") == start.strip("-") else start
