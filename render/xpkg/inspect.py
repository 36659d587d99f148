"""Reference → everything that a package holds."""

from dataclasses import dataclass

from render.limits import Limits
from render.packages import Metadata, PackagedObject
from render.references import Reference
from render.registry.routes import Images
from render.xpkg.allowed_objects import misplaced
from render.xpkg.contents import parse_meta, read_contents
from render.xpkg.image import Image, fetch_image, fetch_package_yaml
from render.xpkg.package_errors import naming_package


@dataclass(frozen=True, slots=True)
class Inspection:
    """A package, the image it was read from, and what Crossplane would leave out of it."""

    name: str
    metadata: Metadata
    objects: tuple[PackagedObject, ...] = ()
    image: Image | None = None

    @property
    def misplaced(self) -> list[PackagedObject]:
        """The objects that this kind of package may not hold; Crossplane does not install them."""
        return misplaced(self.metadata.kind, self.objects)


def inspect_image(name: str, images: Images, reference: Reference, limits: Limits) -> Inspection:
    """Read the whole package; every error about its content names it."""
    with naming_package(name, reference.source):
        image = fetch_image(images, reference, limits)
        contents = read_contents(fetch_package_yaml(images, image, limits), limits)
        metadata = parse_meta(contents.meta.text().encode(), contents.meta.line, limits)
    return Inspection(name, metadata, contents.objects, image)
