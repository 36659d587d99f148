"""The two ends of `mirror`: registries, OCI layouts and archives, as their texts name them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from render.app.world import World
from render.errors import InvalidInput
from render.limits import Limits
from render.overrides import parse_prefix
from render.references import Source
from render.registry.cache import Cache
from render.registry.client import RegistryClient
from render.registry.copying.archive import ArchiveDestination, ArchivedLayout
from render.registry.copying.folder import FolderDestination
from render.registry.copying.model import Destination, Origin
from render.registry.copying.origins import LayoutOrigin, Origins, RegistryOrigin
from render.registry.copying.registry import ManifestPusher, RegistryDestination
from render.registry.layout import Layout
from render.registry.tokens import Authenticator

LAYOUT, ARCHIVE = "oci:", "oci-archive:"


@dataclass(frozen=True, slots=True)
class End:
    """One end: a registry's prefix, or the path of a layout or an archive."""

    text: str
    # Of a registry.
    prefix: str = ""
    # Of a layout or an archive.
    path: Path = Path()
    archived: bool = False

    @property
    def is_registry(self) -> bool:
        """Whether it is a registry."""
        return bool(self.prefix)


def parse_end(text: str) -> End:
    """Parse oci:FOLDER, oci-archive:FILE, or a registry with or without a path."""
    for scheme, archived in ((LAYOUT, False), (ARCHIVE, True)):
        if text.startswith(scheme):
            path = text.removeprefix(scheme)
            if not path:
                raise InvalidInput(f"{text!r} names no path", next=f"write {scheme}PATH")
            return End(text, path=Path(path), archived=archived)
    return End(text, prefix=parse_prefix(text))


def open_origin(world: World, layouts: Sequence[tuple[str, Path]]) -> Origin:
    """Return where images are fetched from: from a layout where one is given, else from registries."""
    folders = [(prefix, LayoutOrigin(images)) for prefix, images in world.layouts(layouts)]
    return Origins(folders, RegistryOrigin(world.registries, world.limits))


def open_stored(end: End, limits: Limits) -> Layout:
    """Return the layout that was written before."""
    layout = ArchivedLayout.read(end.path, limits) if end.archived else Layout(end.path, limits)
    # Read now, so that a wrong path is the first error.
    layout.images()
    return layout


def open_destination(world: World, end: End) -> Destination:
    """Return where images are copied to; nothing is written yet."""
    if end.archived:
        return ArchiveDestination.beside(end.path, world.limits)
    if not end.is_registry:
        return FolderDestination(Layout(end.path, world.limits))
    # One for all repositories: its tokens are for reading and writing, and go to the destination alone.
    authenticator = Authenticator(world.transport, world.settings, world.credentials, actions="pull,push")
    # Without a cache: what is asked is what the registry has now.
    nothing = Cache(None, world.limits, lambda _: None)
    client = RegistryClient(world.transport, authenticator, nothing)

    def push_to(source: Source) -> ManifestPusher:
        # Imported late: only pushing needs requests and oras.
        from render.registry.push import Pusher

        return Pusher(source, world.transport, world.settings, authenticator)

    return RegistryDestination(client, world.transport, authenticator, push_to)
