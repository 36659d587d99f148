"""Whether the registry that a folder pulls from has what is promoted into it."""

from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.promoting.origins import Origin
from render.app.reporter import Reporter
from render.app.world import open_world
from render.commands import xplock
from render.errors import RenderError, UnusableContent
from render.inputs.projects import Inputs
from render.lock.model import LockedPackage
from render.mirrors import BARE, FULL, Mirror
from render.references import Reference, Source
from render.registry.oci import NotFound
from render.registry.routes import Rewritten
from render.rewrites import Rewrite, Rewrites
from render.texts import counted, first_lines

_SHOWN = 20


class NotMirrored(RenderError):
    """Packages that are promoted and that the registry of the folder does not have."""

    def __init__(self, folder: Path, missing: Sequence[str], packages: int, advice: str) -> None:
        super().__init__(
            f"{len(missing)} of {counted(packages, 'package')} that change in {folder} are not where it pulls from",
            why=first_lines(missing, _SHOWN),
            next=advice,
        )


def require_bytes(
    inputs: Inputs,
    packages: Collection[LockedPackage],
    layouts: Sequence[tuple[str, Path]],
    operator: OperatorSettings,
    reporter: Reporter,
    origin: Origin,
) -> None:
    """Raise for every package whose bytes are not where a folder's rewrites or its mirror lead to."""
    mirror, settings = inputs.settings.mirror, inputs.settings
    if not packages or (mirror is None and not inputs.rewrites):
        return
    rewrites = inputs.rewrites
    if mirror is not None:
        rewrites = tuple(
            Rewrite(str(one.source), str(mirror.place(one.source)), "mirror") for one in packages
        )
    # The cache has what was fetched from anywhere.
    world = open_world(operator.without_cache(), reporter)
    images = Rewritten(world.images([*layouts, *settings.layouts]), Rewrites(rewrites))

    def missing(package: LockedPackage) -> str:
        try:
            images.content(Reference(package.source, digest=package.digest))
        except (NotFound, UnusableContent) as error:
            return f"{package.source} {package.version_tag or package.digest}: {error.what}"
        return ""

    with (
        reporter.busy(f"asking for what {inputs.folder} would pull"),
        ThreadPoolExecutor(operator.limits.parallel, thread_name_prefix="xplock-promote") as pool,
    ):
        found = [why for why in pool.map(missing, packages) if why]
    if found:
        places = [(one.source, images.place(one.source, one.digest)) for one in packages]
        raise NotMirrored(inputs.folder, found, len(packages), _advise(origin, places))


def _advise(origin: Origin, places: Iterable[tuple[Source, Source]]) -> str:
    """Return the command that copies the origin's packages to where they are pulled from, if one mirror has them all."""
    mirrors = [_mirror_of(source, place) for source, place in places]
    if origin.path is None or len(set(mirrors)) != 1 or mirrors[0] is None:
        return "copy them there first, with `xplock mirror` in a checkout of the origin"
    mirror = mirrors[0]
    words = ["mirror", "--to", mirror.to, *([] if mirror.paths == FULL else ["--paths", mirror.paths])]
    return f"copy them there first: {xplock(*words, folder=origin.name)}"


def _mirror_of(source: Source, place: Source) -> Mirror | None:
    """Return the mirror in which a source would have this place."""
    for paths in (FULL, BARE):
        # The end of the path is that of the copy in any mirror.
        ending = str(Mirror("mirror.invalid", paths).place(source)).partition("/")[2]
        if str(place).endswith(f"/{ending}"):
            return Mirror(str(place).removesuffix(f"/{ending}"), paths)
    return None
