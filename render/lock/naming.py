"""Object names: the user's for roots, Crossplane's own for dependencies, and never another one once locked."""

import re
from collections.abc import Mapping

from render.errors import Unsatisfiable
from render.names import object_name
from render.references import Source
from render.resolve.model import Resolution
from render.resolve.rules import moves_lines, older_first, wanted_by

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class NameTaken(Unsatisfiable):
    """Two packages that would be one object."""


class NameChanged(Unsatisfiable):
    """A package that is installed already, under another name."""


class UnusableName(Unsatisfiable):
    """A source whose derived name Kubernetes does not accept."""


def name_objects(resolution: Resolution, locked: Mapping[Source, str]) -> dict[Source, str]:
    """Return the object name of every package."""
    given = {root.source: (root.name, root.place) for root in resolution.roots if root.name}
    names = {source: _name(source, locked.get(source), given.get(source)) for source in resolution.packages}
    _check_taken(resolution, names)
    return names


def _name(source: Source, locked: str | None, given: tuple[str, str] | None) -> str:
    if given and locked and given[0] != locked:
        raise NameChanged(
            f"{source} is already installed as {locked}",
            why=f"{given[1]} calls it {given[0]}; a second object for one source stops every package in the cluster",
            next=f"name it {locked}",
        )
    name = given[0] if given else locked or object_name(source)
    if not _NAME.fullmatch(name):
        raise UnusableName(
            f"{source} has no usable object name",
            why=f"the name derived from it is {name!r}; it has to be 1 to 63 letters, digits and '-'",
            next="add a manifest for it with a name of your own",
        )
    return name


def _check_taken(resolution: Resolution, names: Mapping[Source, str]) -> None:
    taken: dict[tuple[str, str], Source] = {}
    for source, chosen in resolution.packages.items():
        other = taken.setdefault((chosen.kind, names[source]), source)
        if other != source:
            raise NameTaken(
                f"two packages would be one {chosen.kind} named {names[source]}",
                why=[wanted_by(resolution, each) for each in (other, source)],
                next=[
                    "if one of them is the other's successor, say so in xplock.yaml:",
                    *moves_lines(*older_first(resolution, other, source)),
                    "if both are needed, give one of them a name of its own in a manifest",
                ],
            )
