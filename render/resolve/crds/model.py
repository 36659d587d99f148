"""Values for dependencies on CRDs: who asks for what, and who answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from render.crd_dependencies import AnswerPlace, CrdRequest
from render.references import Source


class Asked(NamedTuple):
    """A dependency on a CRD; of the user, if no package is named."""

    dependant: Source | None
    crd: CrdRequest

    @property
    def order(self) -> tuple[str, CrdRequest]:
        """The key by which dependencies are sorted."""
        return str(self.dependant or ""), self.crd


@dataclass(frozen=True, slots=True)
class Answer:
    """The packages that define what is asked for; several only for a wildcard."""

    sources: tuple[Source, ...] = ()
    place: AnswerPlace = AnswerPlace.CLOSURE


Answers: TypeAlias = Mapping[Asked, Answer]

NO_ANSWERS: Answers = MappingProxyType({})
