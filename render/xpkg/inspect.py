"""Everything that can be told about one package."""

from dataclasses import dataclass

from render.limits import Limits
from render.packages import Metadata, PackagedObject
from render.references import Reference
from render.registry.routes import Images
from render.xpkg.allowed_objects import misplaced
from render.xpkg.contents import parse_meta, read_contents
from render.xpkg.image import Image, fetch_image, fetch_package_yaml


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a package is, where it came from, and what Crossplane would think of it."""

    name: str
    metadata: Metadata
    objects: tuple[PackagedObject, ...] = ()
    image: Image | None = None
    unreadable: tuple[str, ...] = ()

    @property
    def misplaced(self) -> list[PackagedObject]:
        """The objects that this kind of package may not hold; Crossplane leaves them out."""
        return misplaced(self.metadata.kind, self.objects)


def inspect_image(name: str, images: Images, reference: Reference, limits: Limits) -> Inspection:
    """Read a package to its end."""
    image = fetch_image(images, reference, limits)
    contents = read_contents(fetch_package_yaml(images, image, limits), limits)
    metadata = parse_meta(contents.meta.text().encode(), contents.meta.line, limits)
    return Inspection(name, metadata, contents.objects, image, contents.unreadable)
