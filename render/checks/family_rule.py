"""A rule about provider families: members work together only within one registry and organisation."""

from collections.abc import Iterator, Mapping, Sequence

from render.checks.clusters import find_groups
from render.checks.model import Checked, CheckedFolder, Finding
from render.checks.positions import read_lock_place
from render.errors import Unsatisfiable
from render.lock.freshness import Member, scattered_families
from render.texts import first_lines

_SHOWN = 20


def family_scattered(checked: Checked) -> Iterator[Finding]:
    """The members of a provider family come from several organisations or registries."""
    known = {one.name: one for one in checked.folders}
    for locks in find_groups(checked):
        for family, members in scattered_families(locks):
            yield from _find(family, members, known)


def _find(family: str, members: Sequence[Member], known: Mapping[str, CheckedFolder]) -> Iterator[Finding]:
    first = next(((known[folder], package) for folder, package in members if folder in known), None)
    if first is None:
        # All members are in used folders that this call does not check.
        return
    one, package = first
    lines = [f"{package.cluster_source} {package.version} in {folder}" for folder, package in members]
    yield Finding(
        "family-scattered",
        one.name,
        f"the family {family} comes from several registries or organisations",
        (
            *first_lines(lines, _SHOWN),
            "Crossplane lets members work together only within one registry and organisation",
        ),
        (
            "take all members from one registry and organisation; if they have moved, list that in moves of xplock.yaml",
        ),
        Unsatisfiable.exit_code,
        read_lock_place(one, f"source: {package.cluster_source}\n"),
    )
