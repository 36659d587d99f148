"""Rewrites: an ImageConfig replaces the beginning of image references."""

from collections.abc import Sequence

from render.errors import InvalidInput
from render.lean import dataclass
from render.references import InvalidReference


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A prefix of references, its replacement, and the place that declares it."""

    prefix: str
    replacement: str
    place: str

    def apply(self, text: str) -> str:
        """Replace the prefix of a reference that has it."""
        return self.replacement + text.removeprefix(self.prefix)


class Rewrites:
    """Finds the rewrite of a reference, in a time that does not grow with the number of rewrites."""

    def __init__(self, rewrites: Sequence[Rewrite]) -> None:
        # Compared as plain text, as in Crossplane: xpkg.io/acme matches xpkg.io/acme-corp/x, too; "" matches nothing.
        self._by_prefix = {rewrite.prefix: rewrite for rewrite in reversed(rewrites) if rewrite.prefix}
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix}, reverse=True)

    def find(self, text: str) -> Rewrite | None:
        """Return the rewrite with the longest matching prefix."""
        for length in self._lengths:
            if text[:length] in self._by_prefix:
                return self._by_prefix[text[:length]]
        return None

    def exact(self, text: str) -> Rewrite | None:
        """Return the rewrite whose prefix is the whole reference."""
        return self._by_prefix.get(text)


class InvalidRewrite(InvalidInput):
    """A rewrite whose result is not a valid reference."""

    def __init__(self, rewrite: Rewrite, text: str, error: InvalidReference) -> None:
        super().__init__(
            f"the rewrite of {rewrite.prefix} to {rewrite.replacement} does not fit {text}",
            why=[f"it comes from {rewrite.place}", error.what, *error.why],
            next=f"correct {rewrite.place}: both prefixes have to end at the same point of a reference",
        )
