"""A catalog that reports progress, and uses what was fetched ahead."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from render.app.head_start import HeadStart
from render.app.reporter import Progress
from render.errors import RenderError
from render.packages import Package
from render.policy.judge import Judge
from render.references import Reference, Source
from render.resolve.model import Catalog
from render.xpkg.definitions import Definitions


@dataclass(frozen=True, slots=True)
class WatchedCatalog:
    """A catalog that reports progress."""

    catalog: Catalog
    progress: Progress
    head_start: HeadStart | None
    judge: Judge

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        start = self.head_start
        return start.tags(source, self.catalog) if start else self.catalog.tags(source)

    def package(self, reference: Reference) -> Package:
        """Return the package that a reference names."""
        self.progress.expect()
        start = self.head_start
        package = start.package(reference, self.catalog) if start else self.catalog.package(reference)
        # In the background, like the package: what a policy asks about it costs no further round trip.
        if self.judge.needs_evidence:
            # An error is raised where a policy asks.
            with suppress(RenderError):
                self.judge.examine(package)
        self.progress.advance()
        return package

    def definitions(self, reference: Reference) -> Definitions:
        """Return the definitions of the package that a reference names."""
        return self.catalog.definitions(reference)
