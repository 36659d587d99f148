"""What an ImageConfig makes of image references: the beginning of one is replaced."""

from collections.abc import Sequence

from render.errors import InvalidInput
from render.lean import dataclass
from render.references import InvalidReference


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The beginning of a reference, what stands in its place, and where that was said."""

    prefix: str
    replacement: str
    place: str

    def apply(self, text: str) -> str:
        """Return a reference that it fits with its beginning replaced."""
        return self.replacement + text.removeprefix(self.prefix)


class Rewrites:
    """Finds the rewrite of a reference; how long that takes does not grow with the number of rewrites."""

    def __init__(self, rewrites: Sequence[Rewrite]) -> None:
        # Plain text, as Crossplane compares it: xpkg.io/acme fits xpkg.io/acme-corp/x too, and "" fits nothing.
        self._by_prefix = {rewrite.prefix: rewrite for rewrite in reversed(rewrites) if rewrite.prefix}
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix}, reverse=True)

    def find(self, text: str) -> Rewrite | None:
        """Return the rewrite with the longest prefix that fits."""
        for length in self._lengths:
            if text[:length] in self._by_prefix:
                return self._by_prefix[text[:length]]
        return None

    def exact(self, text: str) -> Rewrite | None:
        """Return the rewrite whose prefix is all of a reference."""
        return self._by_prefix.get(text)


class InvalidRewrite(InvalidInput):
    """A rewrite that makes something of a reference that is none."""

    def __init__(self, rewrite: Rewrite, text: str, error: InvalidReference) -> None:
        super().__init__(
            f"the rewrite of {rewrite.prefix} to {rewrite.replacement} does not fit {text}",
            why=[f"it comes from {rewrite.place}", error.what, *error.why],
            next=f"correct {rewrite.place}: both prefixes have to end at the same point of a reference",
        )
