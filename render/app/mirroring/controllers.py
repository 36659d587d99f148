"""Images that run Providers on Crossplane below v2: they are not the packages themselves, and no ImageConfig rewrites them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from render.app.reporter import Reporter
from render.app.world import World
from render.crossplane import runs_controller_images
from render.inputs.projects import Inputs
from render.lock.model import Lock
from render.packages import Kind
from render.references import InvalidReference, Reference, Source, parse_reference
from render.registry.copying.model import Origin
from render.rewrites import Rewrite


def find_controllers(
    lock: Lock, inputs: Inputs, world: World, layouts: Sequence[tuple[str, Path]], rewrites: Sequence[Rewrite]
) -> Iterator[tuple[Source, str]]:
    """Yield each Provider that names another image to run, and that image, if the cluster's Crossplane runs it."""
    if not runs_controller_images(inputs.settings.crossplane_version):
        return
    catalog = world.catalog([*layouts, *inputs.settings.layouts], rewrites)
    for package in lock.installed():
        if package.kind is Kind.PROVIDER:
            found = catalog.package(Reference(package.source, digest=package.digest))
            if found.metadata.controller_image:
                yield package.source, found.metadata.controller_image


def resolve_controller(provider: Source, image: str, origin: Origin, reporter: Reporter) -> Reference | None:
    """Return the digest that such an image has now, and warn that it is not rewritten."""
    try:
        reference = parse_reference(image)
    except InvalidReference as error:
        reporter.warn(f"{provider} runs {image}, which is not copied: {error.why[0]}")
        return None
    reporter.warn(
        f"{provider} runs {image}; it is copied, but Crossplane below v2 does not rewrite where it is pulled from"
    )
    digest = reference.digest or origin.content(reference).digest
    return Reference(reference.source, reference.tag, digest)
