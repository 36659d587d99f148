"""The candidates of a source, and sets of them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from render.references import Digest
from render.resolve.model import Candidate
from render.versions.requests import Request
from render.versions.semantic import order_candidates
from render.versions.version import Version, parse_candidate

# Sets of candidates are whole numbers used as bit sets: bit 0 stands for "not installed", bit 1 for the first
# candidate. Negative numbers are sets without end, so that "anything but these" is a plain complement.
Bits = int
ABSENT: Bits = 1
ANYTHING: Bits = -1


@dataclass(frozen=True, slots=True)
class Universe:
    """All candidates of one source, lowest first."""

    candidates: tuple[Candidate, ...]
    # Why there are none, if the source cannot be used at all.
    problem: str = ""
    # Whether that is because policies refuse the source.
    refused: bool = False
    # Advice on the problem.
    advice: tuple[str, ...] = ()
    # The folder that provides the package, if one does: then there is nothing to choose.
    provider: str = ""
    _known: dict[Request, Bits] = field(default_factory=dict, compare=False, repr=False)

    @property
    def everything(self) -> Bits:
        """Every candidate, and absence."""
        return (1 << (len(self.candidates) + 1)) - 1

    def answering(self, request: Request) -> Bits:
        """Return the candidates that answer a request; never absence."""
        if request not in self._known:
            fitting = (bit(i) for i, candidate in enumerate(self.candidates) if candidate.answers(request))
            self._known[request] = sum(fitting)
        return self._known[request]

    def of_majors(self, majors: Collection[int]) -> Bits:
        """Return the candidates with one of these major versions."""
        versions = [(i, candidate.version) for i, candidate in enumerate(self.candidates)]
        return sum(bit(i) for i, version in versions if version and version.major in majors)

    def of_version(self, wanted: Version) -> Bits:
        """Return the candidates with this version, however it is spelled."""
        versions = [(i, candidate.version) for i, candidate in enumerate(self.candidates)]
        return sum(bit(i) for i, version in versions if version and version.precedence == wanted.precedence)

    def members(self, bits: Bits) -> list[Candidate]:
        """Return the candidates in a set, highest first."""
        return [self.candidates[i] for i in reversed(range(len(self.candidates))) if bits & bit(i)]

    def index(self, candidate: Candidate, allowed: Bits) -> int | None:
        """Return the index of a candidate of an earlier run, if it is among the allowed ones."""
        there = [(i, here) for i, here in enumerate(self.candidates) if allowed & bit(i)]
        same = [i for i, here in there if here == candidate]
        # A candidate that was locked by digest may have a tag now.
        tagged = [i for i, here in there if here.tag is not None and here.tag == candidate.tag]
        return next(iter([*same, *tagged]), None)


def bit(index: int) -> Bits:
    """Return the set of one candidate."""
    return 2 << index


def highest(bits: Bits) -> int:
    """Return the index of the highest candidate in a finite set."""
    return bits.bit_length() - 2


def make_universe(tags: Iterable[str], exact: Iterable[Request], carriers: Mapping[Digest, str]) -> Universe:
    """Return the candidates among tags, and those that were asked for by their exact tag or digest.

    `carriers` has the tag that carries a digest, where it is known.
    """
    candidates = [Candidate(version.text, version) for version in order_candidates(tags)]
    known = {candidate.tag for candidate in candidates}
    names = {(r.tag or (carriers.get(r.digest) if r.digest else None), r.digest) for r in exact}
    named = [
        Candidate(tag, parse_candidate(tag) if tag else None, digest)
        for tag, digest in sorted(names, key=str)
        if digest is not None or tag not in known
    ]
    # These come first, as the lowest: the solver takes them only where they are asked for.
    return Universe((*named, *candidates))
