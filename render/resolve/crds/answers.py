"""Dependencies on CRDs → the packages that answer them: the package itself, the closure, the catalog.

Every round asks all questions of one resolution, so their order does not matter. Rounds are repeated until an answer
changes nothing any more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from render.crd_dependencies import AnswerPlace, CrdRequest
from render.packages import defined_groups
from render.references import Source
from render.resolve.crds.edges import ServedVersions
from render.resolve.crds.index import Index, Matches, Row
from render.resolve.crds.lookup import CatalogLookup
from render.resolve.crds.model import Answer, Answers, Asked
from render.resolve.model import Edge, Resolution, Wanted


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question with no answer, or with several that exclude each other."""

    asked: Asked
    place: str
    rivals: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """The answers to all questions of a resolution, and the questions that are left."""

    answers: Answers
    unanswered: tuple[Unanswered, ...]
    closure: "Closure"


def answer_questions(
    resolution: Resolution, wanted: Wanted, served: ServedVersions, catalog: CatalogLookup
) -> Round:
    """Answer every dependency on a CRD in a resolution."""
    closure = Closure(resolution, wanted, served)
    answers: dict[Asked, Answer] = {}
    unanswered: list[Unanswered] = []
    for asked, place in questions(resolution, wanted).items():
        found = _answer(asked, closure, catalog)
        if isinstance(found, Answer):
            answers[asked] = found
        else:
            unanswered.append(Unanswered(asked, place, found))
    return Round(answers, tuple(unanswered), closure)


def questions(resolution: Resolution, wanted: Wanted) -> dict[Asked, str]:
    """Return the dependencies on CRDs of the user and of all packages, sorted, each with its place."""
    found = {Asked(None, root.crd): root.place for root in wanted.crd_roots}
    for source, chosen in resolution.packages.items():
        for one in chosen.package.metadata.crds:
            found[Asked(source, one.crd)] = one.place
    return {asked: found[asked] for asked in sorted(found, key=lambda asked: asked.order)}


def _answer(asked: Asked, closure: "Closure", catalog: CatalogLookup) -> Answer | tuple[Source, ...]:
    """Return the answer; otherwise the sources that exclude each other, or none."""
    if asked.dependant in closure.find(asked.crd).served:
        return Answer((asked.dependant,))
    if found := closure.founded(asked):
        return Answer(found)
    if kept := catalog.kept(asked):
        return Answer((kept,), AnswerPlace.CATALOG)
    # Kinds of a group that is there at another version must not be looked for elsewhere: they cannot be installed twice.
    there = catalog.find(asked.crd).best if not catalog.is_empty else ()
    return Answer(there, AnswerPlace.CATALOG) if len(there) == 1 else there


class Closure:
    """The packages of a resolution and of used folders, by the kinds that they define."""

    def __init__(self, resolution: Resolution, wanted: Wanted, served: ServedVersions) -> None:
        self._resolution = resolution
        self._wanted = wanted
        self._served = served
        self._founded: dict[Source, bool] = {}
        self._indexes: dict[str, Index] = {}

    @property
    def sources(self) -> list[Source]:
        """Every package, sorted."""
        return sorted({*self._resolution.packages, *self._wanted.provided})

    def find(self, crd: CrdRequest) -> Matches:
        """Return the packages that define what is asked for."""
        return self._index(crd.group).find(crd)

    def founded(self, asked: Asked) -> tuple[Source, ...]:
        """Return the other packages that define it and would be there without any dependency on their CRDs."""
        found = self.find(asked.crd)
        served = tuple(source for source in found.served if self._is_founded(source))
        # A package whose own kinds of the group do not fit may still want those of another one.
        named = (source for source in found.named if source != asked.dependant)
        return served or tuple(source for source in named if self._is_founded(source))

    def everything(self) -> Index:
        """Return the index of all packages; only errors need it."""
        groups = {group for source in self.sources for group in self._groups(source)}
        return Index(row for group in groups for row in self._index(group).in_group(group))

    def version(self, source: Source) -> str:
        """Return the version of a package."""
        chosen = self._resolution.packages.get(source)
        return str(chosen.candidate if chosen else self._wanted.provided[source])

    def folders(self) -> list[str]:
        """Return the used folders."""
        return sorted(set(self._wanted.providers.values()))

    def _index(self, group: str) -> Index:
        # The groups of a package are known without opening it.
        if group not in self._indexes:
            sources = [source for source in self.sources if group in self._groups(source)]
            self._indexes[group] = Index(row for source in sources for row in self._rows(source))
        return self._indexes[group]

    def _rows(self, source: Source) -> Iterable[Row]:
        chosen = self._resolution.packages.get(source)
        candidate = chosen.candidate if chosen else self._wanted.provided[source]
        return self._served.index(source, candidate).rows

    def _groups(self, source: Source) -> Iterable[str]:
        chosen = self._resolution.packages.get(source)
        if chosen is None:
            return self._wanted.provided_groups.get(source, ())
        return defined_groups(chosen.kind, chosen.package.objects)

    def _is_founded(self, source: Source) -> bool:
        if source in self._wanted.provided:
            return True
        if source not in self._founded:
            self._founded[source] = self._reaches(source)
        return self._founded[source]

    def _reaches(self, target: Source) -> bool:
        """Return whether a package is there without the dependencies on its own CRDs."""
        reached = {root.source for root in self._wanted.roots}
        asked = [source for answer in self._answers_of_user() for source in answer.sources]
        reached |= {source for source in asked if source != target}
        waiting = list(reached)
        while waiting:
            for edge in self._following(waiting.pop(), target):
                if edge.source not in reached:
                    reached.add(edge.source)
                    waiting.append(edge.source)
        return target in reached

    def _following(self, source: Source, target: Source) -> Iterator[Edge]:
        chosen = self._resolution.packages.get(source)
        for edge in chosen.dependencies if chosen else ():
            if edge.crd is None or edge.source != target:
                yield edge

    def _answers_of_user(self) -> Iterator[Answer]:
        for asked, answer in self._resolution.answers.items():
            if asked.dependant is None:
                yield answer
