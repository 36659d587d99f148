"""The projects and packages of examples/, ready to be locked; `make examples` writes what is expected of them anew."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from render.app.operator_settings import OperatorSettings
from render.app.packages.first_format import Choices, build_first_format, open_folder, write_manifests
from render.app.packages.package import build_into_layout
from render.app.render import render_folder
from render.app.reporter import SilentReporter
from render.cli.run import run
from render.limits import Limits
from render.manifests.text import format_yaml
from render.references import Reference, parse_reference
from render.registry.layout import Layout
from render.system.files import LOCK_FILE
from render.xpkg.building.build import BuiltPackage, build_package

EXAMPLES = Path(__file__).parents[3] / "examples"
PROJECTS = sorted(path.parent.name for path in EXAMPLES.glob("*/xplock.yaml"))
# A folder of its own: what lies beside the manifests is an input.
RENDERED = Path("expected/rendered.yaml")
# Each package is at home in the first; the second is a copy of that, and the third is where it was before.
# What building the packages writes.
_BUILT = ["registry", "converted"]
_HOSTS = ("xpkg.example.org", "mirror.example.org/xpkg", "old.example.org")


def copy_examples(folder: Path) -> Path:
    """Copy the examples, and build their packages into the layout that the projects name."""
    shutil.copytree(EXAMPLES, folder, ignore=lambda path, _: _BUILT if Path(path) == EXAMPLES else [])
    layout = Layout(folder / "registry", Limits())
    for package in sorted(folder.glob("packages/*/*/*")):
        organisation, name, version = package.parts[-3:]
        references = [parse_reference(f"{host}/{organisation}/{name}:{version}") for host in _HOSTS]
        build_into_layout(_build(package, folder, references), layout, references)
    return folder


def _build(package: Path, examples: Path, references: Sequence[Reference]) -> BuiltPackage:
    origin = open_folder(package, Limits())
    if origin is None:
        return build_package(package, Limits())
    operator, reporter = OperatorSettings.from_environment({}), SilentReporter()
    built, converted = build_first_format(
        origin, Choices(source=_HOSTS[0]), references, None, operator, reporter
    )
    write_manifests(converted, examples / "converted" / references[0].source.repository)
    return built


def write_expected() -> None:
    """Write the lock and the manifests of every project as they come out now, for somebody to read the diff."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = copy_examples(Path(scratch) / "examples")
        for name in PROJECTS:
            (copy / name / LOCK_FILE).unlink(missing_ok=True)
            if run(["-q", "lock", str(copy / name)]):
                sys.exit(1)
            shutil.copy(copy / name / LOCK_FILE, EXAMPLES / name / LOCK_FILE)
            rendered = format_yaml(render_folder(copy / name, OperatorSettings.from_environment(os.environ)))
            (EXAMPLES / name / RENDERED).parent.mkdir(exist_ok=True)
            (EXAMPLES / name / RENDERED).write_text(rendered, encoding="utf-8")


if __name__ == "__main__":
    write_expected()
