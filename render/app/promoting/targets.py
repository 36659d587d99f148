"""What is taken over into a folder, and which of its files change for that."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from render.app.promoting.origins import Origin
from render.errors import InvalidInput, Unsatisfiable
from render.inputs.projects import Inputs
from render.inputs.root_edits import edit_roots, is_exact
from render.inputs.root_files import add_root_file, require_place
from render.limits import Limits
from render.lock.fleets import Standing, standing_of, wanted_of, with_needed
from render.lock.lookup import find_source
from render.lock.model import Lock, LockedPackage
from render.names import object_name
from render.references import Reference, Source, is_digest, is_tag
from render.texts import first_lines
from render.versions.constraints import parse_constraint
from render.versions.requests import Request, Root

Packages: TypeAlias = Mapping[Source, LockedPackage]
_SHOWN = 20


class NothingInCommon(InvalidInput):
    """Two folders without a package that both have."""


class RootsDiffer(Unsatisfiable):
    """Exact requests of a folder that a promotion would have to change, and may not or cannot."""


class NewerThere(Unsatisfiable):
    """A folder that has newer versions than the one that is promoted."""


@dataclass(frozen=True, slots=True)
class PromotionOptions:
    """What is promoted, and what it may change."""

    # Names of packages of the origin; empty for all.
    packages: Sequence[str] = ()
    edits: bool = True
    with_roots: bool = False
    allow_downgrade: bool = False


def choose_packages(origin: Origin, names: Sequence[str]) -> dict[Source, LockedPackage]:
    """Return the packages of the origin that are promoted: all that are not leaving, or some with what they need."""
    if not names:
        return wanted_of(origin.lock)
    return with_needed(origin.lock, [find_source(name, origin.lock) for name in names])


def require_common(inputs: Inputs, before: Lock, chosen: Packages, origin: Origin, *, adds: bool) -> None:
    """Raise if a folder has none of the packages that are promoted, and gets none."""
    known = {*before.packages, *(root.source for root in inputs.roots)}
    if known.isdisjoint(chosen) and not adds:
        raise NothingInCommon(
            f"{origin.name} and {inputs.folder} have no package in common",
            why="a promotion changes versions of packages that a folder has, and adds none that it does not ask for",
            next="name another folder, or add what the origin asks for: --with-roots",
        )


def refuse_newer(before: Lock, chosen: Packages, origin: Origin, folder: Path) -> None:
    """Raise if a folder has newer versions than the origin: a hotfix that has not flowed back."""
    newer = [
        f"{source}: {before.packages[source].version_tag} here, {one.version_tag} in {origin.name}"
        for source, one in chosen.items()
        if source in before.packages and standing_of(before.packages[source], one) is Standing.AHEAD
    ]
    if newer:
        raise NewerThere(
            f"{folder} is ahead of {origin.name}",
            why=first_lines(newer, _SHOWN),
            next=[
                "bring these versions into the origin first, and test them there",
                "or go back to the origin's versions: --allow-downgrade",
            ],
        )


def find_edits(inputs: Inputs, chosen: Packages) -> list[tuple[Root, Request]]:
    """Return the exact requests of a folder that name another version than is promoted, with the new ones."""
    found = []
    for root in inputs.roots:
        package = chosen.get(root.source)
        if package is not None and is_exact(root.request):
            request = _promoted_request(root.request, package)
            if request != root.request:
                found.append((root, request))
    return found


def _promoted_request(old: Request, package: LockedPackage) -> Request:
    if not old.exact:
        asked = old.only_tag
        return old if asked == package.version_tag else Request(tag=package.version_tag)
    tag = package.version_tag if old.tag else None
    digest = package.digest if old.digest or not tag else None
    return Request(tag=tag, digest=digest)


def edit_files(
    inputs: Inputs, requests: Sequence[tuple[Root, Request]], limits: Limits, *, allowed: bool
) -> dict[str, bytes]:
    """Return the files with the new requests; raise with the lines where they may not or cannot be edited."""
    if not requests:
        return {}
    files = edit_roots(inputs.folder, requests, limits) if allowed else None
    if files is None:
        raise RootsDiffer(
            f"{inputs.folder} asks for other versions than are promoted",
            why=[f"{root.source} {root.request} in {root.place}" for root, _ in requests],
            next=[
                "write these versions there, then promote again:",
                *(f"  {_reference(root, request)}" for root, request in requests),
            ],
        )
    return files


def _reference(root: Root, request: Request) -> str:
    return str(Reference(root.source, request.tag, request.digest))


def new_roots(inputs: Inputs, before: Lock, origin: Origin, chosen: Packages) -> list[Root]:
    """Return the roots that only the origin has; names belong to each cluster, so they get the derived ones."""
    known = {root.source for root in inputs.roots}
    return [
        Root(
            source,
            _parse_request(one.root),
            f"the roots of {origin.name}",
            before.packages[source].object_name if source in before.packages else object_name(source),
            one.kind,
        )
        for source, one in sorted(chosen.items())
        if one.root is not None and source not in known
    ]


def _parse_request(text: str) -> Request:
    """Parse a request as a lock writes it."""
    tag, at, digest = text.rpartition("@")
    if is_digest(digest if at else text):
        return Request(tag=tag or None, digest=parse_constraint(digest if at else text).digest)
    if text == str(Request()):
        return Request()
    return Request(tag=text) if is_tag(text) else Request.of(parse_constraint(text))


def root_files(folder: Path, roots: Collection[Root], limits: Limits) -> dict[str, bytes]:
    """Return the manifests of new roots by their files."""
    files: dict[str, bytes] = {}
    for root in roots:
        require_place(folder, root)
        for name, data in add_root_file(folder, root, None, limits).items():
            files[name] = b"---\n".join([files[name], data]) if name in files else data
    return files


def bounded(chosen: Packages, before: Lock) -> Lock:
    """Return the versions that a promotion may lock: those of the origin, and of all else what the folder has."""
    return replace(before, packages={**before.packages, **chosen})
