"""The world outside of a folder, opened as the operator set it up: registries, layouts and the cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.errors import InvalidInput
from render.limits import Limits
from render.references import Digest, Reference, Source
from render.registry.access import RegistrySettings
from render.registry.cache import Cache, open_cache
from render.registry.client import RegistryClient
from render.registry.credentials import CredentialStore
from render.registry.http.transport import Transport
from render.registry.layout import Layout
from render.registry.oci import TamperedContent
from render.registry.offline import CachedImages
from render.registry.routes import Rewritten, Routes
from render.registry.tokens import Authenticator
from render.rewrites import Rewrite, Rewrites
from render.settings import SETTINGS_FILE
from render.system.boundary import Boundary
from render.system.deadline import Deadline, read_deadline
from render.system.files import is_folder
from render.xpkg.catalog import Catalog

if TYPE_CHECKING:
    from render.registry.push import Pusher


class MissingLayout(InvalidInput):
    """A layout does not exist."""

    def __init__(self, folder: Path, prefix: str) -> None:
        super().__init__(
            f"{folder} is not a folder",
            why=f"it has to be the OCI image layout that stands in for {prefix}",
            next=f"correct layouts in {SETTINGS_FILE}, or build it: xplock package build DIR --to FOLDER",
        )


class LayoutOutside(InvalidInput):
    """A layout that is outside of the repository, which someone else wrote."""

    def __init__(self, folder: Path, prefix: str) -> None:
        super().__init__(
            f"the layout {folder} is outside of the repository",
            why=f"it has to stand in for {prefix}, and other files than those of the repository are not read",
            next=f"put the layout into the repository, and correct layouts in {SETTINGS_FILE}",
        )


@dataclass(frozen=True, slots=True)
class World:
    """Everything outside of a folder that a job may use."""

    limits: Limits
    settings: RegistrySettings
    transport: Transport
    credentials: CredentialStore
    cache: Cache
    registries: RegistryClient
    boundary: Boundary | None = None

    def images(self, layouts: Sequence[tuple[str, Path]] = (), *, offline: bool = False) -> Routes:
        """Return the images of any source: from a layout where one is given, else from its registry or the cache."""
        folders = self.layouts(layouts)
        return Routes(folders, CachedImages(self.cache) if offline else self.registries)

    def layouts(self, layouts: Sequence[tuple[str, Path]]) -> list[tuple[str, Layout]]:
        """Return the layouts in some folders, each with the prefix that it stands in for."""
        for prefix, folder in layouts:
            if self.boundary and not all(map(self.boundary.includes, Layout.folders_in(folder))):
                raise LayoutOutside(folder, prefix)
            if not is_folder(folder):
                raise MissingLayout(folder, prefix)
        return [(prefix, Layout.for_prefix(folder, self.limits, prefix)) for prefix, folder in layouts]

    def catalog(
        self, layouts: Sequence[tuple[str, Path]], rewrites: Sequence[Rewrite], *, offline: bool = False
    ) -> Catalog:
        """Return the packages by their sources in the cluster, fetched from where its rewrites lead."""
        images = Rewritten(self.images(layouts, offline=offline), Rewrites(rewrites))
        return Catalog(images, self.cache, self.limits)

    def pusher(self, source: Source) -> "Pusher":
        """Return a client that pushes to one repository."""
        # Imported late: only pushing needs requests and oras.
        from render.registry.push import Pusher

        authenticator = Authenticator(self.transport, self.settings, self.credentials, actions="pull,push")
        return Pusher(source, self.transport, self.settings, authenticator)

    def check_pushed(self, reference: Reference, digest: Digest) -> None:
        """Read back what was pushed, and raise if the registry has stored other bytes."""
        stored = self.images().content(reference).digest
        if stored != digest:
            raise TamperedContent(reference.source, digest, stored)


def open_world(operator: OperatorSettings, reporter: Reporter, *, deadline: Deadline | None = None) -> World:
    """Open registries and the cache as the operator set them up; nothing is asked yet."""
    environ, limits = operator.environ, operator.limits
    settings = RegistrySettings.from_environment(environ, public_only=operator.boundary is not None)
    transport = Transport(settings, limits, deadline or read_deadline(environ, limits), reporter.trace)
    credentials = CredentialStore(environ, limits, reporter.warn)
    cache = open_cache(environ, limits, reporter.warn)
    registries = RegistryClient(transport, Authenticator(transport, settings, credentials), cache)
    return World(limits, settings, transport, credentials, cache, registries, operator.boundary)
