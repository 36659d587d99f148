"""What to know about a cluster that can be adopted: names that hold versions, objects of two tools, packages left over."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from render.live.adopting.found import Found
from render.live.adopting.owners import find_owners
from render.live.adopting.roots import AdoptedRoot
from render.packages import Kind
from render.references import Source
from render.texts import first_names

_SHOWN = 5


def find_warnings(roots: Sequence[AdoptedRoot], packages: Iterable[Found]) -> Iterator[str]:
    """Yield notes about what is adopted."""
    names = {one.source: one for one in packages}
    yield from _note_names(roots, names)
    yield from _note_leftovers(roots)
    yield from _note_owners(names.values())


def _note_names(roots: Iterable[AdoptedRoot], packages: Mapping[Source, Found]) -> Iterator[str]:
    """A dependency under a name that is not the derived one: Crossplane may create the derived one beside it."""
    attached: dict[str, list[str]] = {}
    for root in roots:
        for source in root.package.needs() if root.stays_attached else ():
            one = packages.get(source)
            if one and one.has_own_name:
                attached.setdefault(one.title, []).append(root.package.name)
    for title, names in sorted(attached.items()):
        shown = first_names(sorted(names), _SHOWN)
        yield (
            f"{title} has a name that Crossplane does not derive, and {shown} "
            f"{'depends' if len(names) == 1 else 'depend'} on it: it keeps its version until they are detached, since "
            "Crossplane would create a second object for it"
        )


def _note_leftovers(roots: Iterable[AdoptedRoot]) -> Iterator[str]:
    # Configurations are what people install themselves.
    unneeded = [root.package for root in roots if root.may_be_left_over]
    names = sorted(one.title for one in unneeded if one.object.kind != Kind.CONFIGURATION)
    if names:
        yield (
            f"nothing depends on {first_names(names, _SHOWN)}: remove what is left over from an earlier package, in a "
            "commit of its own"
        )


def _note_owners(packages: Iterable[Found]) -> Iterator[str]:
    for one in packages:
        owners = find_owners(one.object.metadata)
        if len(owners) > 1:
            yield f"{one.title} has two owners, which undo each other's changes: {' and '.join(map(str, owners))}"
