"""A demo: a project whose packages are built into a folder that stands in for their registry."""

from dataclasses import replace
from pathlib import Path

from render.app.packages.package import build_into_layout
from render.app.scaffold.files import File, ScaffoldReport, check_way, write_scaffold, writing
from render.commands import as_path, xplock
from render.errors import InvalidInput
from render.limits import Limits
from render.references import Reference, parse_source
from render.registry.layout import Layout
from render.system.files import is_there
from render.system.scratch import scratch_folder
from render.xpkg.building.build import build_package

_SOURCES = Path(__file__).with_name("demo_files")
_SOURCE = "xpkg.example.org/demo"
_REGISTRY = Path("registry")


class NotEmpty(InvalidInput):
    """A folder that a demo would mix with what is there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} gets no demo",
            why="it has files already, and a demo is a folder of its own",
            next=xplock("init", "--demo", as_path(folder / "demo")),
        )


def scaffold_demo(folder: Path, limits: Limits, *, dry_run: bool) -> ScaffoldReport:
    """Write a project, the sources of its packages, and the layout that they are built into."""
    with writing(folder):
        if is_there(folder) and (not folder.is_dir() or any(folder.iterdir())):
            raise NotEmpty(folder)
    files = {folder / path: File(data) for path, data in {**_build(limits), **_read(_SOURCES)}.items()}
    for path in files:
        with writing(path):
            check_way(folder, path)
    report = write_scaffold(files, force=False, dry_run=dry_run)
    blobs = folder / _REGISTRY / "blobs"
    # Named by their digests, they say nothing to a reader.
    return replace(report, written=tuple(p for p in report.written if not p.is_relative_to(blobs)))


def _build(limits: Limits) -> dict[Path, bytes]:
    """Return the files of a layout with all packages: built before a file is written, so a failure leaves none."""
    with scratch_folder("the packages of the demo") as scratch:
        layout = Layout(scratch / _REGISTRY, limits)
        for package in sorted(_SOURCES.glob("packages/*/*")):
            source = parse_source(f"{_SOURCE}/{package.parent.name}")
            build_into_layout(build_package(package, limits), layout, [Reference(source, package.name)])
        return _read(scratch)


def _read(folder: Path) -> dict[Path, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in paths}
