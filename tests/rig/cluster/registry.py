"""What Crossplane pulls: packages by reference, through the ImageConfigs of the cluster; tags can be moved."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from render.packages import Package
from render.references import Reference, Source, parse_reference, parse_source
from render.resolve.model import Catalog
from rig.builders.render_inputs import rewrite_image


@dataclass(frozen=True)
class Pulled:
    """A package, and the reference that it was pulled by."""

    reference: Reference
    package: Package


@dataclass
class Registry:
    """The packages of a catalog; one question is answered once."""

    catalog: Catalog
    # Tags that lead to the bytes of others by now.
    moved: dict[Reference, Reference] = field(default_factory=dict)
    _known: dict[Reference, Package] = field(default_factory=dict)

    def pull(self, image: str, configs: Iterable[Mapping[str, Any]]) -> Pulled:
        """Return the package that an image leads to; raise a RenderError where there is none."""
        rewritten = parse_reference(rewrite_image(list(configs), image))
        reference = self.moved.get(rewritten, rewritten)
        if reference not in self._known:
            self._known[reference] = self.catalog.package(reference)
        return Pulled(rewritten, self._known[reference])

    def tags(self, source: Source, configs: Iterable[Mapping[str, Any]]) -> Sequence[str]:
        """Return the tags of a source; the input of a rewrite is the bare source."""
        return self.catalog.tags(parse_source(rewrite_image(list(configs), str(source))))
