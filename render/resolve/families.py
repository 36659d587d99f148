"""Preferences for a family: the version that an upgrade gives to a member, and one major version for all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from render.packages import Package
from render.references import Source
from render.resolve.candidates import Bits, Universe, bit
from render.resolve.model import Edge, Wanted
from render.versions.version import Version, parse_candidate


@dataclass(frozen=True, slots=True)
class _Expected:
    """What is known of the members before a search: from the command line, and from the searches before."""

    # The major versions of each family's members.
    majors: Mapping[Source, set[int]] = field(default_factory=dict)
    # The versions of the packages that others follow.
    leaders: Mapping[Source, Version] = field(default_factory=dict)


class FamilyPreferences:
    """The members of each family that a search has met, and which candidates suit the others."""

    def __init__(self, wanted: Wanted, universe: Callable[[Source], Universe]) -> None:
        self._wanted = wanted
        self._universe = universe
        # The candidates that are members of each family package.
        self._members: dict[Source, set[tuple[Source, int]]] = {}
        tags = {source: request.tag for source, request in wanted.asked.items() if request.tag}
        leaders = {source: version for source, tag in tags.items() if (version := parse_candidate(tag))}
        self._seen = [_Expected(leaders=leaders)]

    def note_member(self, member: Source, index: int, package: Package, edges: Sequence[Edge]) -> None:
        """Record a candidate that is a member of a family."""
        for edge in edges:
            if edge.source.name == package.metadata.family:
                self._members.setdefault(edge.source, set()).add((member, index))

    def forget(self, source: Source) -> None:
        """Forget the candidates of a source."""
        for members in self._members.values():
            members -= {(member, index) for member, index in members if member == source}

    def led(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> Bits:
        """Return the candidates with the version that an upgrade gives to another member; of several, the highest."""
        leaders = self._wanted.followers.get(source, ())
        known = {self._version(one, chosen) or self._seen[-1].leaders.get(one) for one in leaders}
        for version in sorted((one for one in known if one), key=lambda one: one.rank, reverse=True):
            if found := allowed & self._universe(source).of_version(version):
                return found
        return 0

    def following(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> Bits:
        """Return the candidates whose major version the members of this family have."""
        if not self._wanted.follow_families:
            return 0
        majors = self._majors(source, chosen) | self._seen[-1].majors.get(source, set())
        return self._of_majors(source, allowed, majors)

    def expect(self, chosen: Mapping[Source, int]) -> bool:
        """Record the versions that a search has chosen; return whether another search may follow them better.

        The search may choose a package before the one that it follows. Of several major versions a family package
        follows the highest.
        """
        last = self._seen[-1]
        expected = _Expected(
            {**last.majors, **self._strays(chosen)}, {**last.leaders, **self._left_behind(chosen)}
        )
        if expected in self._seen:
            return False
        self._seen.append(expected)
        return True

    def _strays(self, chosen: Mapping[Source, int]) -> dict[Source, set[int]]:
        """Return the family packages that have not the major version of their members, with these."""
        if not self._wanted.follow_families:
            return {}
        families = {family: self._majors(family, chosen) for family in self._members if family in chosen}
        return {
            family: majors
            for family, majors in families.items()
            if majors and not self._of_majors(family, bit(chosen[family]), {max(majors)})
        }

    def _left_behind(self, chosen: Mapping[Source, int]) -> dict[Source, Version]:
        """Return the versions that followers could have and do not have, by the packages that they follow."""
        found = {}
        for follower, leaders in self._wanted.followers.items():
            for leader in leaders if follower in chosen else ():
                version = self._version(leader, chosen)
                if version and not self._universe(follower).of_version(version) & bit(chosen[follower]):
                    found[leader] = version
        return found

    def _of_majors(self, source: Source, allowed: Bits, majors: set[int]) -> Bits:
        return allowed & self._universe(source).of_majors(majors)

    def _majors(self, family: Source, chosen: Mapping[Source, int]) -> set[int]:
        members = [member for member, index in self._members.get(family, ()) if chosen.get(member) == index]
        return {version.major for member in members if (version := self._version(member, chosen))}

    def _version(self, source: Source, chosen: Mapping[Source, int]) -> Version | None:
        return self._universe(source).candidates[chosen[source]].version if source in chosen else None
