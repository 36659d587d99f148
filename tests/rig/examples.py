"""The projects and packages of examples/, ready to be locked."""

import shutil
from pathlib import Path

from render.limits import Limits
from render.packaging import build_into_layout
from render.references import parse_reference
from render.registry.layout import Layout
from render.xpkg.build import build_package

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def copy_examples(folder: Path) -> Path:
    """Copy the examples, and build their packages into the layout that the projects name."""
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("registry"))
    layout = Layout(folder / "registry", Limits())
    for package in sorted(folder.glob("packages/*/*/*")):
        organisation, name, version = package.parts[-3:]
        reference = parse_reference(f"xpkg.example.org/{organisation}/{name}:{version}")
        build_into_layout(build_package(package, Limits()), layout, [reference])
    return folder
