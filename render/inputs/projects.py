"""A project folder → Inputs: all that the user asks for, or all problems in one error."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from render.errors import InvalidInput, RenderError, in_one_line
from render.inputs.folders import list_kustomizations, list_yaml_files, read_inside
from render.inputs.problems import InvalidInputs
from render.inputs.record import make_record
from render.inputs.roots import Document, agree_on_rewrites, agree_on_roots, sort_documents
from render.lean import Any, dataclass, replace
from render.limits import Limits
from render.packages import is_meta, is_project
from render.requests import Root
from render.rewrites import Rewrite
from render.settings import SETTINGS_FILE, Settings
from render.system.files import LOCK_FILE, PACKAGE_FILES
from render.yaml.documents import file_rules, parse_documents
from render.yaml.fields import Fields, Problems

_EXAMPLE = (
    "ask for one, for example in provider.yaml:",
    "apiVersion: pkg.crossplane.io/v1",
    "kind: Provider",
    "metadata:",
    "  name: provider-nop",
    "spec:",
    "  package: xpkg.example.org/acme/provider-nop:v0.4.0",
)


class NothingAsked(InvalidInput):
    """A folder without any root."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} asks for no package",
            why=f"it has no Provider, Configuration or Function, no package on disk with dependencies, "
            f"and no roots in {SETTINGS_FILE}",
            next=_EXAMPLE,
        )


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


def read_inputs(folder: Path, limits: Limits, environ: Mapping[str, str]) -> Inputs:
    """Read a project folder; all problems come in one error."""
    problems: list[str] = []
    names = list_yaml_files(folder, limits)
    settings = _read_settings(folder, names, limits, problems)
    kustomized = bool(list_kustomizations(folder))
    files = _read_files(folder, _input_names(names, kustomized=kustomized), limits, problems)
    documents = _kustomize(folder, limits, environ, problems) if kustomized else files.documents
    found = sort_documents(documents, problems)
    roots = agree_on_roots([*found.roots, *files.dependencies, *settings.roots], problems)
    rewrites = agree_on_rewrites([*found.rewrites, *settings.rewrites], problems)
    if problems:
        raise InvalidInputs(folder, problems)
    if not roots:
        raise NothingAsked(folder)
    return Inputs(
        folder, roots, settings, rewrites, found.passthrough, make_record(roots, rewrites, settings)
    )


def read_settings(folder: Path, limits: Limits) -> Settings:
    """Read only the settings of a folder."""
    problems: list[str] = []
    settings = _read_settings(folder, list_yaml_files(folder, limits), limits, problems)
    if problems:
        raise InvalidInputs(folder, problems)
    return settings


@dataclass(frozen=True, slots=True)
class _Files:
    """The documents of the files, and the dependencies of a package on disk."""

    documents: list[Document]
    dependencies: list[Root]


def _input_names(names: Sequence[str], *, kustomized: bool) -> list[str]:
    if kustomized:
        return [name for name in names if name in PACKAGE_FILES]
    return [name for name in names if name not in (SETTINGS_FILE, LOCK_FILE)]


def _read_settings(folder: Path, names: Sequence[str], limits: Limits, problems: list[str]) -> Settings:
    data = _read(folder, SETTINGS_FILE, limits, problems) if SETTINGS_FILE in names else None
    if data is None:
        return Settings()
    # Imported late: only folders with settings need the table of keys.
    from render.inputs.settings import parse_settings

    return parse_settings(data, folder, limits, problems)


def _read_files(folder: Path, names: Sequence[str], limits: Limits, problems: list[str]) -> _Files:
    files = _Files([], [])
    for name in names:
        data = _read(folder, name, limits, problems)
        if data is None:
            continue
        documents = _parse(data, name, limits, problems)
        if name in PACKAGE_FILES and any(_describes_package(document.value) for document in documents):
            # Imported late: only folders with a package on disk need it.
            from render.inputs.package_on_disk import parse_dependencies

            files.dependencies.extend(parse_dependencies(data, name, limits, problems))
        else:
            files.documents.extend(documents)
    return files


def _describes_package(value: Any) -> bool:
    api_version = value.get("apiVersion") if isinstance(value, dict) else None
    return isinstance(api_version, str) and (is_meta(api_version) or is_project(api_version))


def _read(folder: Path, name: str, limits: Limits, problems: list[str]) -> bytes | None:
    try:
        return read_inside(folder / name, folder, limits)
    except RenderError as error:
        problems.append(f"{name}: {in_one_line(error)}")
        return None


def _parse(data: bytes, name: str, limits: Limits, problems: list[str]) -> list[Document]:
    try:
        values = parse_documents(data, file_rules(limits))
    except RenderError as error:
        problems.append(f"{name}: {in_one_line(error)}")
        return []
    if len(values) == 1:
        return [Document(values[0], name)]
    return [Document(value, f"{name}: document {i}") for i, value in enumerate(values, start=1)]


def _kustomize(
    folder: Path, limits: Limits, environ: Mapping[str, str], problems: list[str]
) -> list[Document]:
    # Imported late: only folders with a kustomization start a program.
    from render.inputs.kustomization_checks import check_kustomizations
    from render.inputs.kustomize import build_kustomization

    problems.extend(check_kustomizations(folder, limits))
    # No program is run for a folder that has problems already.
    if problems:
        return []
    output = build_kustomization(folder, limits, environ)
    values = parse_documents(output, file_rules(replace(limits, file_bytes=limits.kustomize_bytes)))
    return [Document(value, _kustomized_place(value)) for value in values]


def _kustomized_place(value: Any) -> str:
    fields = Fields(value, Problems())
    return f"kustomization: {fields.text('kind')}/{fields.mapping('metadata').text('name')}"
