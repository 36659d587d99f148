"""What Crossplane alone would pick, in one order of the roots and in the other, beside our answer."""

from dataclasses import dataclass

from render.resolve.mimic.model import CrossplaneAnswer, Flag
from render.views.mimic.differences import Difference


@dataclass(frozen=True, slots=True)
class OrderDifference:
    """A source that the order of the roots decides about; None: not installed."""

    source: str
    version: str | None
    reversed_version: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Crossplane's answer beside ours, for one folder."""

    folder: str
    flag: Flag | None
    # Whether it starts from a Lock that is there.
    is_live: bool
    answer: CrossplaneAnswer
    # With the roots in the other order; None for one root.
    reversed: CrossplaneAnswer | None = None
    # How many packages our answer has; None if there is none.
    packages: int | None = None
    differences: tuple[Difference, ...] = ()

    @property
    def order_differences(self) -> list[OrderDifference]:
        """The sources whose versions the order of the roots decides."""
        if self.reversed is None:
            return []
        one = {entry.source: entry.version for entry in self.answer.entries}
        other = {entry.source: entry.version for entry in self.reversed.entries}
        return [
            OrderDifference(source, one.get(source), other.get(source))
            for source in sorted({*one, *other})
            if one.get(source) != other.get(source)
        ]
