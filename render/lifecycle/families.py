"""Families in the cluster: whether all members of one name the same place, also those whose bytes come from another."""

from collections.abc import Iterator

from render.errors import Unsatisfiable
from render.lock.model import Lock, LockedPackage, State


class HalfAliased(Unsatisfiable):
    """A provider family of which some members are aliases, and others are not."""


def check_families(lock: Lock) -> None:
    """Refuse families that aliases spread over two places: Crossplane grants their members no access to each other."""
    for family in sorted({package.family for package in lock.packages.values() if package.family}):
        members = list(_members(lock, family))
        aliases = [member for member in members if member.installed_as]
        if aliases and len({member.cluster_source.home for member in members}) > 1:
            raise HalfAliased(
                f"the family {family} would be in several places of the cluster",
                why=[
                    *(f"{member.source} would be installed as {member.cluster_source}" for member in members),
                    "Crossplane lets members work together only within one registry and organisation",
                ],
                next="end the aliases of all members: give each of their moves strategy: repoint or deactivate",
            )


def _members(lock: Lock, family: str) -> Iterator[LockedPackage]:
    for package in lock.in_order():
        if package.family == family and package.state is State.WANTED:
            yield package
