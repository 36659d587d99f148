"""Roots by command: `add` writes a manifest and locks, `remove` takes it away and locks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from render.app.resolving.outcome import Outcome
from render.app.resolving.resolver import Resolver
from render.commands import xplock
from render.errors import InvalidInput
from render.inputs.projects import Edits, NothingAsked
from render.inputs.root_files import add_root_file, check_file_name, remove_root_files, require_place
from render.inputs.roots import parse_package, parse_request
from render.lifecycle.update import CurrentLock
from render.lock.lookup import NameIndex, find_source, index_installed
from render.lock.model import Lock
from render.lock.text.file import read_lock, write_lock
from render.references import InvalidReference, Source, is_tag
from render.system.files import remove_file, replace_file
from render.texts import first_names
from render.versions.constraints import parse_constraint
from render.versions.requests import Request, Root

# The place of a root that no file has yet.
_COMMAND_LINE = "the command line"
# What people write for the newest version, in other tools and in registries.
_NEWEST = "latest"
_SHOWN = 5


class AlreadyAsked(InvalidInput):
    """A package that the folder asks for already."""


class NotAsked(InvalidInput):
    """A package that the folder does not ask for by itself."""


@dataclass(frozen=True, slots=True)
class RootChange:
    """A root that comes or goes, the files that change for it, and the lock that answers them."""

    root: Root
    # The new bytes of files by name; None for a file that goes.
    files: Mapping[str, bytes | None]
    outcome: Outcome


def parse_wanted(text: str) -> tuple[str, Request | None]:
    """Split SRC, SRC:TAG, SRC@VERSION, SRC@RANGE or SRC@DIGEST into a source and a request; None for the newest."""
    name, at, wanted = text.partition("@")
    if not at or wanted.startswith("sha256:"):
        reference = parse_package(text)
        request = parse_request(reference, None)
        return str(reference.source), request if request.exact else None
    if wanted == _NEWEST:
        return name, None
    return name, Request(tag=wanted) if is_tag(wanted) else Request.of(parse_constraint(wanted))


def find_wanted(text: str, folder: Path, resolver: Resolver) -> tuple[Source, Request | None]:
    """Return the source and the request that a text means; the last parts of a locked source are enough."""
    try:
        name, request = parse_wanted(text)
        return parse_package(name).source, request
    except InvalidReference:
        lock = read_lock(folder, resolver.limits)
        short, at, wanted = text.partition("@")
        if not lock:
            raise
        source = find_source(short, lock, folder=folder)
        return source, parse_wanted(f"{source}{at}{wanted}")[1]


def plan_addition(resolver: Resolver, folder: Path, text: str, *, file: str | None) -> RootChange:
    """Resolve a folder with one root more; its kind and its name come from the package."""
    if file is not None:
        check_file_name(file)
    source, request = find_wanted(text, folder, resolver)
    asked = Root(source, request or Request(), _COMMAND_LINE)
    require_place(folder, asked)
    _refuse_known(resolver, folder, source)
    read = resolver.read(folder, Edits(roots=(asked,)))
    first = resolver.answer(read, resolver.neighbours(read))
    package = first.after.packages.get(source)
    if package is None:
        raise AlreadyAsked(
            f"{source} is not locked here", why="a folder that this one uses provides it", next="add it there"
        )
    # The newest version that suits everyone becomes the request: a manifest says what it installs.
    exact = request or Request(
        tag=package.version_tag, digest=None if package.version_tag else package.digest
    )
    root = replace(asked, request=exact, name=package.object_name, kind=package.kind)
    files = add_root_file(folder, root, file, resolver.limits)
    again = resolver.read(folder, Edits(files))
    # What was just found is preferred, so nothing is searched for a second time.
    again = replace(again, current=CurrentLock(first.after))
    second = resolver.answer(again, resolver.neighbours(again))
    return RootChange(root, files, replace(second, before=first.before, text_before=first.text_before))


def _refuse_known(resolver: Resolver, folder: Path, source: Source) -> None:
    root = next((one for one in _roots(resolver, folder) if one.source == source), None)
    if root:
        upgrade = xplock("lock", "-P", source.name, folder=folder)
        raise AlreadyAsked(
            f"{folder} asks for {source} already",
            why=f"{root.request} in {root.place}",
            next=[f"edit the version there, or let a range move: {upgrade}"],
        )


def _roots(resolver: Resolver, folder: Path) -> tuple[Root, ...]:
    try:
        return resolver.read(folder).inputs.roots
    except NothingAsked:
        return ()


def plan_removal(resolver: Resolver, folder: Path, name: str) -> RootChange:
    """Resolve a folder without one of its roots."""
    root = _find_root(resolver, folder, name)
    files = remove_root_files(folder, root, resolver.limits)
    read = resolver.read(folder, Edits(files))
    return RootChange(root, files, resolver.answer(read, resolver.neighbours(read)))


def _find_root(resolver: Resolver, folder: Path, name: str) -> Root:
    roots = _roots(resolver, folder)
    found = NameIndex((root.source, root) for root in roots).find(name)
    if len(found) == 1:
        return found[0]
    if found:
        raise NotAsked(
            f"{name} names {len(found)} packages that {folder} asks for",
            why=[f"did you mean {root.source}?" for root in found[:_SHOWN]],
            next="write the source in full",
        )
    raise NotAsked(
        f"{folder} does not ask for {name} itself",
        why=_why_not_asked(roots, name, read_lock(folder, resolver.limits)),
        next="name a package that it asks for",
    )


def _why_not_asked(roots: Sequence[Root], name: str, lock: Lock | None) -> str:
    found = index_installed(lock).find(name) if lock else []
    if len(found) == 1 and found[0].required_by:
        return f"{found[0].source} is required by {first_names(found[0].required_by, _SHOWN)}"
    return f"it asks for {first_names([str(root.source) for root in roots], _SHOWN) or 'nothing'}"


def write_change(change: RootChange, resolver: Resolver) -> None:
    """Write the files of a change, then the lock that answers them."""
    folder = change.outcome.folder
    for name, data in change.files.items():
        if data is None:
            remove_file(folder / name)
        else:
            replace_file(folder / name, data)
    if change.outcome.changes:
        write_lock(folder, change.outcome.text.decode(), limits=resolver.limits)
