"""Families in the cluster: all members of one name the same registry and organisation."""

from render.errors import Unsatisfiable
from render.lock.consistency import scattered_families
from render.lock.model import Lock


class HalfAliased(Unsatisfiable):
    """A provider family of which some members are aliases, and others are not."""


def check_families(lock: Lock) -> None:
    """Refuse families that aliases spread over two places: Crossplane grants their members no access to each other."""
    for family, found in scattered_families([("", lock)]):
        members = [member for _, member in found]
        if any(member.installed_as for member in members):
            raise HalfAliased(
                f"the family {family} would be in several places of the cluster",
                why=[
                    *(f"{member.source} would be installed as {member.cluster_source}" for member in members),
                    "Crossplane lets members work together only within one registry and organisation",
                ],
                next="end the aliases of all members: give each of their moves strategy: repoint or deactivate",
            )
