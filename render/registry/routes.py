"""Which sources are answered from a folder, and which by their registry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Protocol

from render.errors import RenderError
from render.prefixes import covers
from render.references import Reference, Source
from render.registry.manifests import Content, Descriptor


class Images(Protocol):
    """What a registry, a layout and a package file all answer."""

    def tags(self, source: Source) -> Sequence[str]: ...
    def content(self, reference: Reference) -> Content: ...
    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]: ...


class Offline(RenderError):
    """A source that no folder answers for, while registries are not to be asked."""

    def __init__(self, source: Source) -> None:
        super().__init__(
            f"{source} is not at hand",
            why="no layout answers for it, and registries are not asked",
            next="name a layout that holds it, or allow the network",
        )


@dataclass(frozen=True, slots=True)
class Routes:
    """Sends each question to the layout with the longest fitting prefix, else to the registry."""

    layouts: Sequence[tuple[str, Images]]
    registries: Images | None

    def tags(self, source: Source) -> Sequence[str]:
        """Return all tags of a source."""
        return self._for(source).tags(source)

    def content(self, reference: Reference) -> Content:
        """Return the manifest or index that a reference names."""
        return self._for(reference.source).content(reference)

    def blob(self, source: Source, descriptor: Descriptor) -> IO[bytes]:
        """Return a blob of a source."""
        return self._for(source).blob(source, descriptor)

    def _for(self, source: Source) -> Images:
        fitting = [(prefix, answers) for prefix, answers in self.layouts if covers(prefix, source)]
        if fitting:
            return max(fitting, key=lambda item: len(item[0]))[1]
        if self.registries is None:
            raise Offline(source)
        return self.registries
