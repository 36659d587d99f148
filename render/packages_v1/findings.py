"""What is wrong with the files of a package, each problem behind its file and field, and what to know about them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from render.errors import InvalidInput
from render.texts import first_lines
from render.yaml.documents import Place
from render.yaml.fields import Problems, format_place

_SHOWN = 100


class NotConvertible(InvalidInput):
    """A package of the first format that cannot become one of today."""

    def __init__(self, name: str, problems: Sequence[str], *, next: str | Sequence[str] = "") -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__(
            f"{name} is a package of the first format (Packages v1) that cannot be converted",
            why=first_lines(self.problems, _SHOWN),
            next=next or "correct each of them at the place it names",
        )


@dataclass(slots=True)
class Findings:
    """All problems and warnings of one conversion, in the order they come in."""

    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def complain(self, place: object, problem: str) -> None:
        """Add a problem that stops the conversion."""
        self.problems.append(f"{place}: {problem}")

    def warn(self, place: object, text: str) -> None:
        """Add a line that a person should read, and that stops nothing."""
        self.warnings.append(f"{place}: {text}")

    def of(self, place: object) -> Problems:
        """Return a collector for the fields of one document, which adds to these problems."""
        return _Placed(self, str(place))


class _Placed(Problems):
    __slots__ = ("_findings", "_place")

    def __init__(self, findings: Findings, place: str) -> None:
        super().__init__()
        self._findings = findings
        self._place = place

    def add(self, place: Place, problem: str) -> None:
        super().add(place, problem)
        within = f"{self._place}: {format_place(place)}" if place else self._place
        self._findings.complain(within, problem)
