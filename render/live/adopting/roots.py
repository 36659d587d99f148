"""Which packages a user asked for, and which ones Crossplane made as dependencies.

Crossplane's resolver writes the name and spec.package, and nothing else; so does its init container.
"""

from collections.abc import Iterable, Mapping, Sequence

from render.lean import dataclass
from render.live.adopting.found import Found
from render.live.adopting.spec import chosen_metadata, chosen_spec
from render.names import object_name
from render.references import Source

_NOT_NEEDED = "nothing in the Lock depends on it, so a user or a removed package asked for it"


@dataclass(frozen=True, slots=True)
class AdoptedRoot:
    """A package that gets a manifest, and why."""

    package: Found
    why: str
    # Whether its manifest says that it stays attached to a package with a name given by the user.
    stays_attached: bool = False
    # Whether it looks like a dependency, and nothing depends on it.
    may_be_left_over: bool = False


def find_roots(packages: Sequence[Found]) -> list[AdoptedRoot]:
    """Return the packages that are roots, sorted by kind and name; all others are dependencies of theirs."""
    dependants = _dependants(packages)
    names = {one.source: one.name for one in packages}
    roots = []
    for one in packages:
        attached = _named_dependency(one, names)
        kept = f"it stays attached to {attached}" if attached else ""
        chosen = _why_chosen(one, dependants.get(one.source, []))
        reasons = [why for why in (chosen, kept) if why]
        if reasons:
            roots.append(AdoptedRoot(one, "; ".join(reasons), bool(attached), chosen == _NOT_NEEDED))
    return roots


def reach_from(starts: Iterable[Found], packages: Sequence[Found]) -> list[Found]:
    """Return packages with all that they depend on, by the entries of the Lock."""
    known = {one.source: one for one in packages}
    reached: dict[Source, Found] = {}
    waiting = list(starts)
    while waiting:
        one = waiting.pop()
        if one.source not in reached:
            reached[one.source] = one
            waiting += [known[source] for source in one.needs() if source in known]
    return [one for one in packages if one.source in reached]


def _dependants(packages: Iterable[Found]) -> Mapping[Source, list[Found]]:
    found: dict[Source, list[Found]] = {}
    for one in packages:
        for source in one.needs():
            if source != one.source:
                found.setdefault(source, []).append(one)
    return found


def _why_chosen(one: Found, dependants: Sequence[Found]) -> str:
    """Return why a package counts as asked for; empty if Crossplane made it."""
    if one.has_own_name:
        return "its name was given to it"
    fields = sorted(chosen_spec(one.object.spec))
    if fields:
        return f"it has fields of its own: {', '.join(fields)}"
    if chosen_metadata(one.object.metadata):
        return "it has labels or annotations"
    if not dependants:
        return _NOT_NEEDED
    if one.reference.digest and not _is_asked_by_digest(one, dependants):
        return "it is installed by a digest that no package asks for"
    return ""


def _is_asked_by_digest(one: Found, dependants: Iterable[Found]) -> bool:
    entries = [dependant.entry for dependant in dependants if dependant.entry]
    return any(edge.constraints == one.reference.digest for entry in entries for edge in entry.edges)


def _named_dependency(one: Found, names: Mapping[Source, str]) -> str:
    """Return the name of a dependency that was given to it; while that has the name, xplock would detach this one."""
    if one.skips_dependencies:
        return ""
    found = [
        names[source] for source in one.needs() if names.get(source, "") not in ("", object_name(source))
    ]
    return ", ".join(sorted(set(found)))
