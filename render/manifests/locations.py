"""Where the user's own rewrites put a reference, by Crossplane's rules."""

from collections.abc import Sequence

from render.references import InvalidReference, parse_reference
from render.rewrites import InvalidRewrite, Rewrite, Rewrites


class Locations:
    """Answers where a tag is pulled from; every location is checked once."""

    def __init__(self, rewrites: Sequence[Rewrite]) -> None:
        self._rewrites = Rewrites(rewrites)
        self._checked: set[str] = set()

    def exact(self, text: str) -> Rewrite | None:
        """Return the rewrite whose prefix is all of a reference."""
        return self._rewrites.exact(text)

    def find(self, source: str, tag: str) -> tuple[str, str]:
        """Return what is pulled for a tag of a source, and the same without its tag or digest."""
        text = f"{source}:{tag}"
        rewrite = self._rewrites.find(text)
        if rewrite is None:
            return text, source
        pulled = rewrite.apply(text)
        location = pulled.removesuffix(f":{tag}")
        return pulled, location if location in self._checked else self._check(rewrite, text, pulled)

    def _check(self, rewrite: Rewrite, text: str, pulled: str) -> str:
        try:
            reference = parse_reference(pulled)
        except InvalidReference as error:
            raise InvalidRewrite(rewrite, text, error) from None
        # As it is written there: other ImageConfigs are compared with that text.
        location = pulled.partition("@")[0].removesuffix(f":{reference.tag}")
        self._checked.add(location)
        return location
