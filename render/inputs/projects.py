"""A project folder → Inputs: all that the user asks for, or all problems in one error."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from render.commands import as_path, shell
from render.crd_dependencies import CATALOG_API, CATALOG_KIND, CatalogRow
from render.errors import InvalidInput
from render.inputs.folders import list_kustomizations, list_yaml_files
from render.inputs.problems import InvalidInputs
from render.inputs.reader import FolderReader
from render.inputs.record import make_record
from render.inputs.roots import Document, agree_on_crds, agree_on_rewrites, agree_on_roots, sort_documents
from render.lean import Any, dataclass, field, replace
from render.limits import Limits
from render.packages import is_meta, is_project
from render.rewrites import Rewrite
from render.settings import SETTINGS_FILE, Settings
from render.system.boundary import Boundary
from render.system.files import LOCK_FILE, PACKAGE_FILES, REGISTRY_FOLDER, is_folder, is_there
from render.versions.requests import CrdRoot, Request, Root
from render.yaml.documents import file_rules, iterate_documents
from render.yaml.fields import Fields, Problems

_MISNAMED_SETTINGS = ("xplock.yml", ".xplock.yaml", ".xplock.yml", "xplock.json")
_EXAMPLE = (
    "ask for one, for example in provider.yaml:",
    "apiVersion: pkg.crossplane.io/v1",
    "kind: Provider",
    "metadata:",
    "  name: crossplane-contrib-provider-nop",
    "spec:",
    "  package: xpkg.crossplane.io/crossplane-contrib/provider-nop:v0.4.0",
)


class NothingAsked(InvalidInput):
    """A folder that asks for nothing, and never did: it has no lock either."""

    def __init__(self, folder: Path, boundary: Boundary | None = None) -> None:
        super().__init__(
            f"{folder} asks for no package",
            why=f"it has no Provider, Configuration or Function, no package on disk with dependencies, "
            f"and no roots in {SETTINGS_FILE}",
            next=_advise(folder, boundary),
        )


def _advise(folder: Path, boundary: Boundary | None) -> Sequence[str]:
    # Imported late: only errors need it.
    from render.inputs.nearby import find_nearby_projects

    nearby = [shell(as_path(path)) for path in find_nearby_projects(folder, boundary)]
    if not nearby:
        return _EXAMPLE
    what = "the project folder:" if len(nearby) == 1 else "one of these project folders:"
    return (f"name {what}", *nearby)


@dataclass(frozen=True, slots=True)
class Edits:
    """Changes of a folder that are not written yet: it is read as it will be."""

    # The new bytes of files by name; None for a file that goes.
    files: Mapping[str, bytes | None] = field(default_factory=dict)
    # Roots that no file has yet.
    roots: tuple[Root, ...] = ()


_NO_EDITS = Edits()


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a project folder asks for."""

    folder: Path
    roots: tuple[Root, ...]
    settings: Settings
    # Those of ImageConfigs, then those of the settings.
    rewrites: tuple[Rewrite, ...]
    # Every other object, in the order of files and documents.
    passthrough: tuple[Mapping[str, Any], ...]
    # One entry for each input of the resolution, with the digest of its canonical form.
    record: Mapping[str, str]
    # The CRDs that the user asks for, and the rows of the catalog's files.
    crd_roots: tuple[CrdRoot, ...] = ()
    catalog_rows: tuple[CatalogRow, ...] = ()
    # The repository that no path in the folder may leave; None on a user's own machine.
    boundary: Boundary | None = None


def read_inputs(
    folder: Path,
    limits: Limits,
    environ: Mapping[str, str],
    boundary: Boundary | None = None,
    edits: Edits = _NO_EDITS,
) -> Inputs:
    """Read a project folder; all problems come in one error."""
    problems: list[str] = []
    # The folder may be about to be made, too.
    there = list_yaml_files(folder, limits) if not edits.files or is_folder(folder) else []
    names = _edited_names(there, edits)
    reader = FolderReader(folder, limits, problems, boundary, edits.files)
    settings = _read_settings(reader, names)
    kustomized = bool(list_kustomizations(folder))
    inputs = [name for name in names if name not in settings.catalog_files]
    files = _read_files(reader, _input_names(inputs, kustomized=kustomized))
    documents = _kustomize(reader, environ) if kustomized else files.documents
    found = sort_documents(documents, problems)
    dependencies = [
        *files.dependencies,
        *_read_first_format(folder, documents, found.roots, limits, problems),
    ]
    named = [one for one in dependencies if isinstance(one, Root)]
    roots = agree_on_roots([*found.roots, *named, *settings.roots, *edits.roots], problems)
    crds = [*found.crd_roots, *(one for one in dependencies if isinstance(one, CrdRoot))]
    crd_roots = agree_on_crds(crds, problems)
    rows = _read_catalogs(reader, settings)
    rewrites = agree_on_rewrites([*found.rewrites, *settings.rewrites], problems)
    if problems:
        raise InvalidInputs(folder, problems)
    # Without roots, the packages of a lock are leaving.
    if not roots and not crd_roots and not is_there(folder / LOCK_FILE):
        raise NothingAsked(folder, boundary)
    record = make_record(roots, rewrites, settings, crd_roots, rows)
    return Inputs(folder, roots, settings, rewrites, found.passthrough, record, crd_roots, rows, boundary)


def _edited_names(names: Sequence[str], edits: Edits) -> list[str]:
    return sorted({*names, *edits.files} - {name for name, data in edits.files.items() if data is None})


def _read_first_format(
    folder: Path, documents: Iterable[Document], others: Iterable[Root], limits: Limits, problems: list[str]
) -> Sequence[Root | CrdRoot]:
    """Return the dependencies of a package of the first format in the folder; a package of today comes before it."""
    if not is_there(folder / REGISTRY_FOLDER) or any(is_there(folder / name) for name in PACKAGE_FILES):
        return ()
    # Imported late: few folders are packages of the first format.
    from render.packages_v1.install_objects import find_wrong_scopes
    from render.packages_v1.project import read_on_disk

    found = read_on_disk(folder, limits, problems)
    problems.extend(find_wrong_scopes(found.scope, ((one.value, one.place) for one in documents)))
    # An entry without a version says nothing more about a package that a manifest asks for.
    asked = {root.source for root in others}
    return [
        root
        for root in found.roots
        if isinstance(root, CrdRoot) or root.request != Request() or root.source not in asked
    ]


def read_settings(folder: Path, limits: Limits, boundary: Boundary | None = None) -> Settings:
    """Read only the settings of a folder."""
    problems: list[str] = []
    settings = _read_settings(
        FolderReader(folder, limits, problems, boundary), list_yaml_files(folder, limits)
    )
    if problems:
        raise InvalidInputs(folder, problems)
    return settings


@dataclass(frozen=True, slots=True)
class _Files:
    """The documents of the files, and the dependencies of a package on disk."""

    documents: list[Document]
    dependencies: list[Root | CrdRoot]


def _input_names(names: Sequence[str], *, kustomized: bool) -> list[str]:
    if kustomized:
        return [name for name in names if name in PACKAGE_FILES]
    return [name for name in names if name not in (SETTINGS_FILE, LOCK_FILE, *_MISNAMED_SETTINGS)]


def _read_settings(reader: FolderReader, names: Sequence[str]) -> Settings:
    for name in _MISNAMED_SETTINGS:
        if is_there(reader.folder / name):
            reader.problems.append(f"{name}: settings are read from {SETTINGS_FILE} only; rename the file")
    data = reader.read(SETTINGS_FILE) if SETTINGS_FILE in names else None
    if data is None:
        return Settings()
    # Imported late: only folders with settings need the table of keys.
    from render.inputs.settings.file import parse_settings

    return parse_settings(data, reader.folder, reader.limits, reader.problems, reader.boundary)


def _read_catalogs(reader: FolderReader, settings: Settings) -> tuple[CatalogRow, ...]:
    if not settings.catalog_files:
        return ()
    # Imported late: few folders have a catalog in a file.
    from render.inputs.catalogs import parse_catalog

    rows: list[CatalogRow] = []
    for name in settings.catalog_files:
        if not is_there(reader.folder / name):
            reader.problems.append(
                f"{SETTINGS_FILE}: catalog: {name} does not exist; `xplock catalog build SRC... -o {name}` writes it"
            )
            continue
        data = reader.read(name)
        if data is not None:
            rows += parse_catalog(data, name, reader.limits, reader.problems)
    return tuple(sorted(rows))


def _read_files(reader: FolderReader, names: Sequence[str]) -> _Files:
    files = _Files([], [])
    for name in names:
        data = reader.read(name)
        if data is None:
            continue
        documents = reader.parse(data, name)
        if name in PACKAGE_FILES and any(_describes_package(document.value) for document in documents):
            # Imported late: only folders with a package on disk need it.
            from render.inputs.package_on_disk import parse_dependencies

            files.dependencies.extend(parse_dependencies(data, name, reader.limits, reader.problems))
        elif any(_is_catalog(document.value) for document in documents):
            reader.problems.append(
                f"{name}: it is a catalog that {SETTINGS_FILE} does not name; add catalog: [{{file: {name}}}]"
            )
        else:
            files.documents.extend(documents)
    return files


def _is_catalog(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("apiVersion"), value.get("kind")) == (
        CATALOG_API,
        CATALOG_KIND,
    )


def _describes_package(value: Any) -> bool:
    api_version = value.get("apiVersion") if isinstance(value, dict) else None
    return isinstance(api_version, str) and (is_meta(api_version) or is_project(api_version))


def _kustomize(reader: FolderReader, environ: Mapping[str, str]) -> list[Document]:
    # Imported late: only folders with a kustomization start a program.
    from render.inputs.kustomizations.checks import check_kustomizations
    from render.inputs.kustomizations.kustomize import build_kustomization

    limits = reader.limits
    reader.problems.extend(check_kustomizations(reader.folder, limits, reader.boundary))
    # No program is run for a folder that has problems already.
    if reader.problems:
        return []
    output = build_kustomization(reader.folder, limits, environ)
    rules = file_rules(replace(limits, file_bytes=limits.kustomize_bytes))
    values = reader.budget.take_values(iterate_documents(output, rules))
    return [Document(value, _kustomized_place(value)) for value in values]


def _kustomized_place(value: Any) -> str:
    fields = Fields(value, Problems())
    return f"kustomization: {fields.text('kind')}/{fields.mapping('metadata').text('name')}"
