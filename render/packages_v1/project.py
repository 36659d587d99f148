"""A project folder with a package of the first format: its dependencies are roots, as those of every package on disk."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from render.limits import Limits
from render.packages_v1.definitions.crds import Crd, read_crds
from render.packages_v1.dependencies import check_entry, read_other_crd, read_package, read_versions
from render.packages_v1.descriptions import App, read_app
from render.packages_v1.findings import Findings
from render.packages_v1.tree import read_tree
from render.references import Source
from render.system.files import APP_FILE, REGISTRY_FOLDER
from render.versions.constraints import parse_constraint
from render.versions.requests import CrdRoot, Request, Root
from render.xpkg.crd_fields import CRD_KEY
from render.yaml.fields import Fields, format_place


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What the package of a project folder asks for, and the scope of its permissions."""

    roots: tuple[Root | CrdRoot, ...] = ()
    scope: str = ""


def read_on_disk(folder: Path, limits: Limits, problems: list[str]) -> OnDisk:
    """Read the dependencies in `.registry/` of a folder; add to the problems."""
    registry = folder / REGISTRY_FOLDER
    if registry.is_symlink():
        problems.append(f"{REGISTRY_FOLDER}: it is a symbolic link")
        return OnDisk()
    found = Findings()
    tree = read_tree(registry, limits, found)
    app = read_app(tree, limits, found) if tree.named(APP_FILE) else None
    # `package build` reports what is wrong with CRDs.
    crds = read_crds(tree, limits, Findings())
    roots = tuple(_roots(app, crds, found)) if app else ()
    problems.extend(found.problems)
    return OnDisk(roots, app.texts.get("permissionScope", "") if app else "")


def _roots(app: App, crds: list[Crd], found: Findings) -> Iterator[Root | CrdRoot]:
    for fields in app.depends_on:
        check_entry(fields, app, found)
        root = _crd_root(fields, crds, app) if fields.get(CRD_KEY) is not None else _root(fields, app)
        if root:
            yield root


def _crd_root(fields: Fields, crds: list[Crd], app: App) -> CrdRoot | None:
    crd = read_other_crd(fields, crds)
    return CrdRoot(crd, _place(app, fields, CRD_KEY), read_versions(fields)) if crd else None


def _root(fields: Fields, app: App) -> Root | None:
    package, version = read_package(fields)
    if isinstance(package, Source):
        request = Request.of(parse_constraint(version)) if version else Request()
        return Root(package, request, _place(app, fields, "package"))
    if package:
        fields.complain(
            f"{fields.text('package')!r} does not start with a registry host, and this package has no registry to "
            "complete it from; write source with its registry beside it",
            "package",
        )
    return None


def _place(app: App, fields: Fields, key: str) -> str:
    return f"{app.file}: {format_place((*fields.place, key))}"
