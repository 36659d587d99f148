"""The search's problem, answered from the catalog: candidates, dependencies, and preferences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from render.errors import RenderError, UnusableContent
from render.limits import LimitExceeded
from render.packages import Package
from render.policy.model import Verdict
from render.references import Digest, Source
from render.registry.oci import MissingBlob, NotFound
from render.resolve.candidates import ABSENT, Bits, Universe, bit, highest, make_universe
from render.resolve.crds.edges import CrdEdges, ServedVersions
from render.resolve.crds.model import NO_ANSWERS, Answers
from render.resolve.edges import dependency_edges
from render.resolve.families import FamilyPreferences
from render.resolve.missing import (
    Askers,
    MissingVersion,
    hosted_nearly,
    lost_bytes,
    missing_digest,
    missing_tag,
    on_gone_host,
    spelled_nearly,
)
from render.resolve.model import COMMAND_LINE, Bound, Candidate, Chosen, Edge, Resolution, Wanted
from render.resolve.prefetch import Fetcher
from render.resolve.solver import USER, USER_CANDIDATE, Fact, Incompatibility
from render.versions.requests import Request, answer_roots
from render.versions.semantic import order_candidates
from render.versions.version import parse_candidate


class NewCandidates(Exception):
    """A source has other candidates than before; the search starts again with them."""


class Question:
    """The search's problem for one input, answered from the catalog."""

    def __init__(self, wanted: Wanted, fetcher: Fetcher, answers: Answers = NO_ANSWERS) -> None:
        self._wanted = wanted
        self._fetcher = fetcher
        self.crds = CrdEdges(answers, wanted)
        self.served = ServedVersions(self.universe, fetcher.definitions)
        self._universes: dict[Source, Universe] = {}
        self._requests: dict[Source, set[Request]] = {}
        # Who requires a source, as far as the search knows: a package, or the user at a place.
        self._requirers: dict[Source, set[tuple[Source | None, str, Request]]] = {}
        # Sources whose dependants all name one tag; their list of tags has not been fetched.
        self._unlisted: dict[Source, str] = {}
        self._listed: set[Source] = set()
        self._families = FamilyPreferences(wanted, self.universe)
        for edge in [*self.roots(), *(bound.edge for bound in self._bounds())]:
            self._note(edge)

    def roots(self) -> list[Edge]:
        """Return the user's requests."""
        # Sorted: if two roots cannot both have their newest version, the first one gets it.
        roots = sorted(self._wanted.roots, key=lambda root: (root.source, root.place))
        asked = [Edge(root.source, root.request, None, root.place) for root in roots]
        return asked + self.crds.of_user(self._wanted.crd_roots)

    def _bounds(self) -> list[Bound]:
        asked = sorted(self._wanted.asked.items(), key=lambda item: item[0])
        return [
            *(Bound(Edge(source, request, None, COMMAND_LINE)) for source, request in asked),
            *self._wanted.bounds,
        ]

    def requirements(self) -> list[Incompatibility]:
        """Return the user's requests, and the bounds on packages that something else may require."""
        needed = [self._depends(USER, 0, edge, Fact(edge)) for edge in self.roots()]
        needed += self.served.meet_edges(USER, USER_CANDIDATE, self.roots())
        allowed = [
            Incompatibility(
                {bound.edge.source: ~self._answering(bound.edge) & ~ABSENT},
                Fact(bound.edge, bound.holder, advice=bound.advice),
            )
            for bound in self._bounds()
        ]
        # A package that stays needs what it was answered by, whatever else is chosen.
        for bound in self._bounds():
            if bound.edge.crd:
                allowed += self.served.meet_edges(USER, bound.holder or USER_CANDIDATE, [bound.edge])
        return needed + allowed

    def universe(self, source: Source) -> Universe:
        """Return all candidates of a source."""
        if source not in self._universes:
            self._universes[source] = self._make_universe(source)
        return self._universes[source]

    def facts(self, source: Source, index: int) -> list[Incompatibility]:
        """Return the dependencies of a candidate, or a fact that rules it out for this Crossplane."""
        candidate = self.universe(source).candidates[index]
        if source in self._wanted.provided:
            # The folder that provides it has resolved its dependencies.
            return list(self.served.meet_candidate(source, candidate))
        refused = self._wanted.judge.refuse_source(source, candidate.tag, candidate.digest)
        if refused:
            return [_refusal(source, index, candidate, refused)]
        package = self._package(source, candidate)
        verdicts = self._wanted.judge.refuse(candidate.tag, package)
        if verdicts:
            return [_refusal(source, index, candidate, verdicts)]
        crossplane = package.metadata.crossplane
        if self._wanted.crossplane and crossplane and not crossplane.accepts(self._wanted.crossplane):
            problem = f"{source} {candidate} needs Crossplane {crossplane.text}, and yours is {self._wanted.crossplane}"
            return [Incompatibility({source: bit(index)}, Fact(candidate=candidate, problem=problem))]
        if problem := self.served.contradiction(source, candidate, package):
            return [Incompatibility({source: bit(index)}, Fact(candidate=candidate, problem=problem))]
        edges = self._edges(source, package)
        self._families.note_member(source, index, package, edges)
        for edge in edges:
            self._fetcher.expect(edge)
        renewed = [edge for edge in edges if self._note(edge)]
        if renewed:
            raise NewCandidates
        needed = [
            self._depends(source, index, edge, Fact(edge, candidate))
            for edge in edges
            if edge.source != source
        ]
        served = [*self.served.meet_candidate(source, candidate)]
        return [*needed, *served, *self.served.meet_edges(source, candidate, edges)]

    def choose(self, source: Source, allowed: Bits, chosen: Mapping[Source, int]) -> int:
        """Return the version of an upgraded family, else the locked one, else the highest of its family's major."""
        led = self._families.led(source, allowed, chosen)
        if led:
            return highest(led)
        preferred = self._wanted.preferred.get(source)
        kept = self.universe(source).index(preferred, allowed) if preferred else None
        following = self._families.following(source, allowed, chosen)
        # The members of an upgraded family may have another major version now; then their family package follows.
        outgrown = (
            source in self._wanted.followers and following and kept is not None and not following & bit(kept)
        )
        if kept is not None and not outgrown:
            return kept
        return highest(following or allowed)

    def expect_families(self, chosen: Mapping[Source, int]) -> bool:
        """Return whether another search may give families better versions, now that a first one has chosen."""
        return self._families.expect(chosen)

    def resolution(self, chosen: Mapping[Source, int]) -> Resolution:
        """Return the resolution for the chosen candidates."""
        packages = {}
        for source in sorted(chosen.keys() - self._wanted.provided.keys()):
            candidate = self.universe(source).candidates[chosen[source]]
            package = self._fetcher.package(source, candidate)
            packages[source] = Chosen(source, candidate, package, self._edges(source, package))
        kinds = {source: chosen.kind for source, chosen in packages.items()}
        roots = answer_roots(self._wanted.roots, self._wanted.crd_roots, self.crds.of_user_requests(), kinds)
        found = Resolution(packages, roots)
        return Resolution(
            {
                source: _drop_unasked_version(chosen, found.edges_to(source))
                for source, chosen in packages.items()
            },
            roots,
            answers=self.crds.answers,
        )

    def listed(self, source: Source) -> list[str] | None:
        """Return the versions that registries list, highest first; None if they cannot be listed."""
        try:
            tags = self._fetcher.tags(source)
        except RenderError:
            # Only errors name them.
            return None
        return [version.text for version in reversed(order_candidates(tags))]

    def unsaid(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return the requests for a tag that no fact names: they left a source with this candidate alone."""
        said = {(edge.dependant, edge.place, edge.request) for fact in facts if (edge := fact.edge)}
        sources = {fact.unserved.source for fact in facts if fact.unserved} & self._unlisted.keys()
        asked = [(source, *one) for source in sources for one in self._requirers.get(source, set()) - said]
        return [
            Fact(Edge(source, request, dependant, place))
            for source, dependant, place, request in sorted(asked, key=str)
            if request.exact
        ]

    def missing(self, edge: Edge) -> MissingVersion | None:
        """Return the error for a request for a tag that no registry has; only conflicts need to know."""
        source, tag = edge.source, edge.request.tag
        if tag is None or edge.request.digest is not None or self._wanted.judge.refuse_source(source, tag):
            return None
        candidate = Candidate(tag, parse_candidate(tag))
        try:
            self._fetcher.package(source, candidate)
        except NotFound as error:
            found = self._missing(source, candidate, error)
            return found if isinstance(found, MissingVersion) else None
        except RenderError:
            pass
        return None

    def _depends(self, source: Source, index: int, edge: Edge, fact: Fact) -> Incompatibility:
        return Incompatibility({source: bit(index), edge.source: ~self._answering(edge)}, fact)

    def _edges(self, source: Source, package: Package) -> tuple[Edge, ...]:
        complete, moves = self._wanted.complete_partial, self._wanted.moves
        edges = dependency_edges(source, package, complete=complete, moves=moves)
        return edges + self.crds.of_package(source, package) if package.metadata.crds else edges

    def _answering(self, edge: Edge) -> Bits:
        there = self.universe(edge.source)
        return there.everything & ~ABSENT if edge.accepts_all else there.answering(edge.request)

    def _package(self, source: Source, candidate: Candidate) -> Package:
        try:
            return self._fetcher.package(source, candidate)
        except NotFound as error:
            if source not in self._unlisted:
                raise self._missing(source, candidate, error) from None
            # The tag may be 1.2.3 while the request says v1.2.3.
            self._listed.add(source)
            self._forget(source)
            raise NewCandidates from None
        except RenderError as error:
            raise self._described(source, error) from None

    def _tags(self, source: Source) -> Sequence[str]:
        try:
            return self._fetcher.tags(source)
        except NotFound:
            raise
        except RenderError as error:
            raise self._described(source, error) from None

    def _missing(self, source: Source, candidate: Candidate, error: NotFound) -> RenderError:
        """Return the error for a version that is not there, or for one that is there only in part."""
        askers, call = self._askers(source, candidate), self._wanted.call
        pinned = self._wanted.pinned.get(candidate.reference(source))
        if pinned:
            return lost_bytes(source, candidate, pinned, askers, call, error)
        if isinstance(error, MissingBlob):
            return self._described(source, error)
        try:
            tags = self._fetcher.tags(source)
        except NotFound:
            return self._described(source, error)
        if candidate.digest:
            carried = self._carried(source, candidate.tag)
            return missing_digest(source, candidate, tags, carried, askers, error)
        if candidate.tag and candidate.tag not in tags:
            return missing_tag(source, candidate.tag, tags, askers, call, error)
        return self._described(source, error)

    def _carried(self, source: Source, tag: str | None) -> Digest | None:
        try:
            return self._fetcher.package(source, Candidate(tag)).digest if tag else None
        except RenderError:
            # This is only for the error.
            return None

    def _described(self, source: Source, error: RenderError) -> RenderError:
        """Return an error with who asks for its source, and with a better spelling of its host if one is known."""
        askers = self._askers(source)
        # The same error may come again for another candidate.
        error.why = tuple(dict.fromkeys([*error.why, *askers.lines]))
        if not isinstance(error, UnusableContent | LimitExceeded):
            near = hosted_nearly(source, {*self._known_sources(), *self._wanted.served}, askers)
            error.next = tuple(on_gone_host(source, askers) or dict.fromkeys([*near, *error.next]))
        return error

    def _askers(self, source: Source, candidate: Candidate | None = None) -> Askers:
        """Return who asks for a source, or for exactly this candidate of it."""
        found = [
            (dependant, place)
            for dependant, place, request in self._requirers.get(source, ())
            if candidate is None or (request.exact and candidate.answers(request))
        ]
        if not found and candidate is not None:
            return self._askers(source)
        places = {place for dependant, place in found if dependant is None}
        packages = {dependant for dependant, _ in found if dependant}
        return Askers(tuple(sorted(places)), tuple(sorted(packages)))

    def _known_sources(self) -> set[Source]:
        wanted = self._wanted
        return {*self._requests, *wanted.preferred, *wanted.upgraded, *wanted.provided}

    def _note(self, edge: Edge) -> bool:
        """Record a request for a source; return whether its candidates changed because of it."""
        self._requirers.setdefault(edge.source, set()).add((edge.dependant, edge.place, edge.request))
        known = self._requests.setdefault(edge.source, set())
        if edge.accepts_all:
            return False
        if edge.request in known or edge.source in self._wanted.provided:
            return False
        had_range, had_exact = any(not r.exact for r in known), any(r.exact for r in known)
        known.add(edge.request)
        if edge.source in self._unlisted:
            outdated = edge.request.only_tag != self._unlisted[edge.source]
        else:
            outdated = edge.request.exact or (had_exact and not had_range)
        return outdated and self._forget(edge.source)

    def _forget(self, source: Source) -> bool:
        """Forget the candidates of a source; return whether there were any."""
        self._unlisted.pop(source, None)
        self._families.forget(source)
        return self._universes.pop(source, None) is not None

    def _make_universe(self, source: Source) -> Universe:
        if source in self._wanted.provided:
            return Universe((self._wanted.provided[source],), provider=self._wanted.providers.get(source, ""))
        refused = self._wanted.judge.refuse_source(source)
        if refused:
            problem = "; ".join(map(str, refused))
            advice = tuple(line for verdict in refused for line in verdict.advice)
            return Universe((), problem=problem, refused=True, advice=advice)
        requests = self._requests.get(source, set())
        tags = {request.only_tag for request in requests}
        if len(tags) == 1 and source not in self._listed and (tag := tags.pop()):
            self._unlisted[source] = tag
            return Universe((Candidate(tag, parse_candidate(tag)),))
        exact = {request for request in requests if request.exact}
        try:
            listed = self._tags(source)
        except NotFound as error:
            near = spelled_nearly(source, {*self._known_sources(), *error.known}, self._askers(source))
            return Universe((), problem=error.what, advice=tuple(near or error.next))
        return make_universe(listed, exact, self._carriers(source, listed, exact))

    def _carriers(self, source: Source, tags: Sequence[str], exact: set[Request]) -> dict[Digest, str]:
        named_by_user = {request.digest: request.tag for request in exact if request.digest and request.tag}
        unknown = {request.digest for request in exact if request.digest} - named_by_user.keys()
        if not unknown:
            return named_by_user
        # One dependant requests a digest and another one a tag or range, so the version of the digest matters.
        # Releases come last, since they are the better names. Tags of signatures are no versions and are left out.
        ranged = any(not request.exact for request in self._requests[source])
        versions = [version.text for version in order_candidates(tags)] if ranged else []
        named = sorted({request.tag for request in exact if request.tag and not request.digest} - {*versions})
        return {**self._fetcher.digests(source, (*named, *versions)), **named_by_user}


def _refusal(
    source: Source, index: int, candidate: Candidate, verdicts: Sequence[Verdict]
) -> Incompatibility:
    """Return the fact that policies refuse a candidate."""
    problem = "; ".join(map(str, verdicts))
    advice = tuple(line for verdict in verdicts for line in verdict.advice)
    fact = Fact(candidate=candidate, problem=problem, advice=advice, refused=source)
    return Incompatibility({source: bit(index)}, fact)


def _drop_unasked_version(chosen: Chosen, edges: Sequence[Edge]) -> Chosen:
    """Drop the version of a digest if no dependant constrains it: whether it was looked up depends on the search."""
    digest = chosen.candidate.digest
    constrained = any(not edge.accepts_all and (edge.request.tag or not edge.request.exact) for edge in edges)
    if digest is None or constrained:
        return chosen
    return replace(chosen, candidate=Candidate(None, digest=digest))
