"""The closure as a tree: from roots down to dependencies, or inverted, from dependencies down to roots."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from render.errors import RenderError
from render.limits import MIB, format_bytes
from render.lock.graph import Target, reach
from render.lock.model import Lock, LockedPackage, Provided
from render.references import Source
from render.texts import visible
from render.views.closure.links import Closure, Link, Links, read_closure
from render.views.labels import (
    format_package,
    format_pin,
    leaving_marks,
    life_document,
    package_document,
    provided_document,
    target_document,
)

_REPEATED = " (*)"
# Enough for one chain of as many packages as a lock may hold.
_MOST_CHARACTERS = 64 * MIB


class TreeTooLarge(RenderError):
    """A tree is too long to be read."""

    def __init__(self, view: "TreeView") -> None:
        super().__init__(
            "the tree is too large to be shown",
            why=f"it has more than {format_bytes(_MOST_CHARACTERS)} of text",
            next="limit it with --depth N" + ("" if view.dedupe else ", or leave out --no-dedupe"),
        )


@dataclass(frozen=True, slots=True)
class TreeView:
    """The part of the closure to show, and how."""

    # Shows dependants below their dependencies.
    inverted: bool = False
    # The package to start from; None: all roots or, inverted, all packages without dependencies.
    start: Source | None = None
    # How many levels below the first to show; None: all.
    depth: int | None = None
    # Whether a package that was shown with its children is shown without them the next time.
    dedupe: bool = True
    constraints: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    """A package at one place of the tree."""

    package: Target
    depth: int = 0
    link: Link | None = None
    # The indentation of its parent's children, and whether it is the last of them.
    indent: str = ""
    last: bool = True

    @property
    def branch(self) -> str:
        return "" if self.depth == 0 else f"{self.indent}{'└── ' if self.last else '├── '}"

    @property
    def inner(self) -> str:
        return "" if self.depth == 0 else f"{self.indent}{'    ' if self.last else '│   '}"


def format_tree(lock: Lock, view: TreeView) -> str:
    """Write a lock as a tree."""
    closure = read_closure(lock)
    lines, characters = [], 0
    for line in chain(_lines(closure, view), _off_lines(lock, view)):
        lines.append(f"{line}\n")
        characters += len(line)
        if characters > _MOST_CHARACTERS:
            raise TreeTooLarge(view)
    return "".join(lines)


def find_off(lock: Lock, view: TreeView) -> list[LockedPackage]:
    """Return the deactivated packages, unless the tree is that of one package."""
    return [lock.deactivated[source] for source in sorted(lock.deactivated, key=str) if view.start is None]


def _off_lines(lock: Lock, view: TreeView) -> Iterator[str]:
    found = find_off(lock, view)
    if found:
        yield f"Switched off until retired ({len(found)})"
    for package in found:
        told = ", ".join([package.kind, *leaving_marks(package)])
        yield f"    {format_pin(package)} [{told}] replaced by {' and '.join(map(str, package.replaced_by))}"


def _lines(closure: Closure, view: TreeView) -> Iterator[str]:
    links, seen = _links(closure, view), _Seen(view)
    # A stack of our own: closures can be deeper than Python's call stack.
    stack = [_Row(top) for top in reversed(find_tops(closure, view))]
    while stack:
        row = stack.pop()
        following = links[row.package.source]
        repeated = bool(following) and seen.before(row)
        yield f"{row.branch}{_text(closure, row, view)}{_REPEATED if repeated else ''}"
        if not repeated and row.depth != view.depth:
            seen.expand(row)
            stack += reversed(_children(row, following, view))


def _children(row: _Row, links: tuple[Link, ...], view: TreeView) -> list[_Row]:
    indent, final = row.inner, len(links) - 1
    return [
        _Row(link.dependant if view.inverted else link.target, row.depth + 1, link, indent, i == final)
        for i, link in enumerate(links)
    ]


@dataclass(slots=True)
class _Seen:
    """The packages that were shown with their children."""

    view: TreeView
    levels: dict[Source, int] = field(default_factory=dict)
    path: list[Source] = field(default_factory=list)

    def before(self, row: _Row) -> bool:
        """Return whether the children were shown before, or are part of a cycle."""
        level = self.levels.get(row.package.source)
        if level is None:
            return False
        if self.view.dedupe:
            # With a limit of levels, the children of a package further down were cut sooner.
            return self.view.depth is None or level <= row.depth
        return level < row.depth and self.path[level] == row.package.source

    def expand(self, row: _Row) -> None:
        """Remember a package whose children are shown next."""
        self.levels[row.package.source] = row.depth
        self.path[row.depth :] = [row.package.source]


def _text(closure: Closure, row: _Row, view: TreeView) -> str:
    told = [*_by_crd(row), *_constraint(row, view), *_served(row, view)]
    text = format_package(closure, row.package)
    return f"{text} ({', '.join(told)})" if told else text


def _by_crd(row: _Row) -> Iterator[str]:
    if row.link and row.link.crds:
        yield "by CRD"


def _constraint(row: _Row, view: TreeView) -> Iterator[str]:
    asked = row.package.root if isinstance(row.package, LockedPackage) and not view.inverted else None
    constraint = str(row.link) if row.link else asked
    if view.constraints and constraint is not None:
        # "*" alone would look like the mark of a package that was shown before.
        yield f"{'requires' if view.inverted else 'required'}: {visible(constraint)}"


def _served(row: _Row, view: TreeView) -> Iterator[str]:
    if row.link and row.link.instead_of:
        yield f"{'as' if view.inverted else 'for'} {' and '.join(map(str, row.link.instead_of))}"


def _links(closure: Closure, view: TreeView) -> Links:
    return closure.dependants if view.inverted else closure.dependencies


def find_neighbours(closure: Closure, view: TreeView) -> dict[Source, list[Source]]:
    """Return the children of each package."""
    return {
        source: [link.dependant.source if view.inverted else link.target.source for link in links]
        for source, links in _links(closure, view).items()
    }


def find_tops(closure: Closure, view: TreeView) -> list[Target]:
    """Return the packages that a tree starts from."""
    if view.start is not None:
        return [package for package in closure.everything if package.source == view.start]
    needs_nothing = (package for package in closure.everything if not closure.dependencies[package.source])
    tops: list[Target] = list(needs_nothing) if view.inverted else [*closure.roots]
    return [*tops, *_left_over(closure, view, tops)]


def _left_over(closure: Closure, view: TreeView, tops: Iterable[Target]) -> Iterator[Target]:
    """Yield packages that no root reaches, so that every package is in the tree."""
    neighbours = find_neighbours(closure, view)
    reached = reach((top.source for top in tops), neighbours)
    entered = {source for following in neighbours.values() for source in following}
    for package in sorted(closure.everything, key=lambda package: package.source in entered):
        if package.source not in reached:
            yield package
            reached |= reach([package.source], neighbours)


def tree_document(lock: Lock, view: TreeView) -> dict[str, Any]:
    """Return the tree as JSON values: a flat list, since a closure can be deeper than JSON parsers allow."""
    closure = read_closure(lock)
    tops = [top.source for top in find_tops(closure, view)]
    shown = reach(tops, find_neighbours(closure, view), depth=view.depth)
    return {
        "inverted": view.inverted,
        "tops": [str(source) for source in tops],
        "packages": [_document(closure, package) for package in closure.packages if package.source in shown],
        "provided": [_provided(closure, package) for package in closure.provided if package.source in shown],
        "deactivated": [{**target_document(off), **life_document(off)} for off in find_off(lock, view)],
    }


def _document(closure: Closure, package: LockedPackage) -> dict[str, Any]:
    return {
        **package_document(closure, package),
        "dependencies": [_link(link) for link in closure.dependencies[package.source]],
        "requiredBy": _dependants(closure, package),
    }


def _provided(closure: Closure, package: Provided) -> dict[str, Any]:
    return {**provided_document(package), "requiredBy": _dependants(closure, package)}


def _dependants(closure: Closure, package: Target) -> list[str]:
    return [str(link.dependant.source) for link in closure.dependants[package.source]]


def _link(link: Link) -> dict[str, Any]:
    return {
        "source": str(link.target.source),
        "constraints": list(link.constraints),
        "insteadOf": [str(source) for source in link.instead_of],
        "crds": list(link.crds),
    }
