"""Dependencies on CRDs in a lock: the packages that answer them are there, and define kinds in the groups asked for."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from render.crd_dependencies import AnswerPlace, CrdAnswer, CrdRequest
from render.lock.graph import LockGraph, reach
from render.lock.model import Lock, LockedPackage
from render.references import Source
from render.versions.requests import CrdRoot, Root, answer_roots


def check_crds(lock: Lock) -> Iterator[str]:
    """Yield the answers that a lock cannot have."""
    for answer in lock.crds:
        if answer.source not in lock.packages and answer.source not in lock.provided:
            yield f"{answer.crd} is answered by {answer.source}, which is not in the lock"
        yield from _check_group("the user", answer, lock)
    for package in lock.packages.values():
        for answer in package.crds:
            yield from _check_group(str(package.source), answer, lock)


def _check_group(dependant: str, answer: CrdAnswer, lock: Lock) -> Iterator[str]:
    package = lock.packages.get(answer.source)
    # Of a package that another folder provides, the groups are not known here.
    if package and answer.crd.group not in package.groups:
        yield f"{answer.source} answers {answer.crd} of {dependant}, and defines nothing in {answer.crd.group}"


def answered_roots(lock: Lock, roots: Iterable[Root], crd_roots: Sequence[CrdRoot]) -> tuple[Root, ...]:
    """Return the roots, with the packages that the lock has for the CRDs that the user asks for."""
    answers: dict[CrdRequest, list[Source]] = {}
    for answer in lock.crds:
        if answer.source in lock.packages:
            answers.setdefault(answer.crd, []).append(answer.source)
    kinds = {source: package.kind for source, package in lock.packages.items()}
    return answer_roots(roots, crd_roots, answers, kinds)


def check_crd_roots(lock: Lock, crd_roots: Sequence[CrdRoot]) -> Iterator[str]:
    """Yield CRDs that the user asks for and the lock does not answer, and the other way round."""
    asked, answered = {root.crd: root for root in crd_roots}, {answer.crd: answer for answer in lock.crds}
    for crd in sorted(asked.keys() - answered.keys()):
        yield f"{asked[crd].place} asks for {crd}, which the lock does not answer"
    for crd in sorted(answered.keys() - asked.keys()):
        yield f"the lock answers {crd}, and no input asks for it"


def check_places(graph: LockGraph, named: Collection[Source]) -> Iterator[str]:
    """Yield answers that the lock has from the catalog, and that are there anyway; and the other way round."""
    known: dict[Source, AnswerPlace] = {}
    for answer in (*graph.lock.crds, *_answers(graph.lock.packages.values())):
        if answer.source in graph.lock.packages:
            place = known.setdefault(answer.source, _place(answer.source, graph, named))
            if answer.place is not place:
                yield f"{answer.crd} is answered by {answer.source} of the {place}; the lock says {answer.place}"


def _answers(packages: Iterable[LockedPackage]) -> Iterator[CrdAnswer]:
    for package in packages:
        yield from (answer for answer in package.crds if answer.source != package.source)


def _place(source: Source, graph: LockGraph, named: Collection[Source]) -> AnswerPlace:
    """Return where an answer comes from: the closure has it, if it is there without dependencies on its CRDs."""
    starts = {answer.source for answer in graph.lock.crds if answer.source != source}.union(named)
    steps = {
        dependant: [
            target.source
            for need in needs
            for target in need.targets
            if need.crd is None or target.source != source
        ]
        for dependant, needs in graph.needs.items()
    }
    return AnswerPlace.CLOSURE if source in reach(starts, steps) else AnswerPlace.CATALOG
