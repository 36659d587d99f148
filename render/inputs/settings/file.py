"""xplock.yaml → Settings."""

import posixpath
from collections.abc import Iterator
from pathlib import Path

from render.crossplane import first_version, unfit_settings
from render.errors import RenderError, in_one_line
from render.inputs.problems import placed
from render.inputs.roots import parse_package, parse_request
from render.inputs.settings.entries import (
    parse_catalog_files,
    parse_catalog_sources,
    parse_moves,
    parse_override,
    parse_uses,
)
from render.inputs.settings.keys import KEYS
from render.inputs.settings.table import Entry, read_entry
from render.lean import TYPE_CHECKING
from render.limits import Limits
from render.mirrors import FULL, Mirror
from render.overrides import Override, parse_prefix
from render.rewrites import Rewrite
from render.settings import (
    SETTINGS_FILE,
    Detach,
    Families,
    PartialDependencies,
    PinMode,
    Settings,
    Waves,
)
from render.system.boundary import Boundary
from render.system.files import is_folder
from render.versions.requests import Root
from render.versions.version import Version, parse_version
from render.yaml.documents import file_rules, parse_documents
from render.yaml.fields import Fields, Problems

if TYPE_CHECKING:
    from render.policy.model import Policy


def parse_settings(
    data: bytes, folder: Path, limits: Limits, problems: list[str], boundary: Boundary | None = None
) -> Settings:
    """Parse the settings of a folder; add to the problems."""
    found = Problems()
    top = Fields(_parse_document(data, limits, found), found)
    settings = _parse_settings(top, folder, limits, boundary)
    problems.extend(placed(SETTINGS_FILE, found.texts()))
    return settings


def _parse_document(data: bytes, limits: Limits, problems: Problems) -> object:
    try:
        documents = parse_documents(data, file_rules(limits))
    except RenderError as error:
        problems.add((), in_one_line(error))
        return None
    if len(documents) > 1:
        problems.add((), f"expected one document, found {len(documents):,}")
    return documents[0] if documents else None


def _parse_settings(fields: Fields, folder: Path, limits: Limits, boundary: Boundary | None) -> Settings:
    top = read_entry(fields, KEYS)
    said = top.plain
    settings = Settings(
        roots=tuple(_parse_roots(top)),
        rewrites=tuple(_parse_rewrites(top)),
        moves=parse_moves(top, SETTINGS_FILE, limits),
        uses=tuple(parse_uses(top, folder, boundary)),
        environments=tuple(_parse_environments(top)),
        crossplane_version=_parse_crossplane_version(top),
        families=Families(said.get("families", Families.FOLLOW)),
        partial_dependencies=PartialDependencies(
            said.get("partialDependencies", PartialDependencies.COMPLETE)
        ),
        overrides=tuple(_parse_overrides(top)),
        pin=PinMode(said.get("pin", PinMode.DIGEST)),
        detach=Detach(said.get("detach", Detach.NEEDED)),
        guard=said.get("guard", True),
        waves=Waves(said.get("waves", Waves.FLAT)),
        overlay=_parse_overlay(top, folder, boundary),
        catalog=tuple(parse_catalog_sources(top, SETTINGS_FILE)),
        catalog_files=tuple(parse_catalog_files(top)),
        layouts=tuple(_parse_layouts(top, folder)),
        mirror=_parse_mirror(top),
        policy=_parse_policy(top),
        given={key: value for key, value in top.value.items() if key not in ("roots", "rewrites")},
    )
    _refuse_unfit(fields, settings)
    return settings


def _refuse_unfit(fields: Fields, settings: Settings) -> None:
    """Complain about settings that the Crossplane of the cluster is too old for."""
    for setting in unfit_settings(settings):
        needs = f"{setting} needs Crossplane {first_version(setting)} or newer"
        advice = "; write pin: tag" if setting == "pin: digest" else ""
        default = ", the default is digest" if advice and "pin" not in fields.value else ""
        fields.complain(
            f"{settings.crossplane_version} is too old: {needs}{advice}{default}", "crossplaneVersion"
        )


def _parse_roots(top: Entry) -> Iterator[Root]:
    for i, entry in enumerate(top.entries.get("roots", ())):
        said = entry.plain
        reference, request = None, None
        with entry.fields.errors_at("package"):
            reference = parse_package(said["package"]) if "package" in said else None
        with entry.fields.errors_at("version"):
            request = parse_request(reference, said.get("version")) if reference else None
        if reference and request:
            yield Root(reference.source, request, f"{SETTINGS_FILE}: roots[{i}]", name=said.get("name"))


def _parse_rewrites(top: Entry) -> Iterator[Rewrite]:
    for i, entry in enumerate(top.entries.get("rewrites", ())):
        if entry.plain.keys() >= {"from", "to"}:
            yield Rewrite(entry.plain["from"], entry.plain["to"], f"{SETTINGS_FILE}: rewrites[{i}]")


def _parse_environments(top: Entry) -> Iterator[str]:
    taken: set[str] = set()
    for i, text in enumerate(top.plain.get("environments", ())):
        path = posixpath.normpath(text)
        if "\0" in text or path.startswith(("/", "../")) or path in ("..", "."):
            top.fields.complain(f"{text!r} is no folder below this one", "environments", i)
        elif path in taken:
            top.fields.complain(f"{path} is listed a second time", "environments", i)
        else:
            taken.add(path)
            yield path


def _parse_crossplane_version(top: Entry) -> Version | None:
    text = top.plain.get("crossplaneVersion")
    with top.fields.errors_at("crossplaneVersion"):
        return parse_version(text) if text else None
    return None


def _parse_overrides(top: Entry) -> Iterator[Override]:
    taken: set[str] = set()
    for entry in top.entries.get("overrides", ()):
        prefix = _parse_prefix(entry, taken)
        if prefix:
            yield parse_override(prefix, entry)


def _parse_layouts(top: Entry, folder: Path) -> Iterator[tuple[str, Path]]:
    taken: set[str] = set()
    for entry in top.entries.get("layouts", ()):
        prefix, text = _parse_prefix(entry, taken), entry.plain.get("folder")
        # Rendering needs no layout, so a missing folder is reported only where it is read.
        if text is not None and "\0" in text:
            entry.fields.complain(f"{text!r} is no path", "folder")
        elif prefix and text:
            yield prefix, folder / text


def _parse_mirror(top: Entry) -> Mirror | None:
    entry = top.groups.get("mirror")
    if entry is None or "to" not in entry.plain:
        return None
    said = entry.plain
    with entry.fields.errors_at("to"):
        return Mirror(parse_prefix(said["to"]), said.get("paths", FULL), said.get("pullSecret"))
    return None


def _parse_policy(top: Entry) -> "Policy | None":
    if "policy" not in top.groups:
        return None
    # Imported late: few folders have a policy, and rendering applies none.
    from render.inputs.policies.parse import parse_policy

    return parse_policy(top, SETTINGS_FILE)


def _parse_prefix(entry: Entry, taken: set[str]) -> str | None:
    if "prefix" not in entry.plain:
        return None
    with entry.fields.errors_at("prefix"):
        prefix = parse_prefix(entry.plain["prefix"])
        if prefix in taken:
            entry.fields.complain(f"{prefix} has an entry already", "prefix")
        taken.add(prefix)
        return prefix
    return None


def _parse_overlay(top: Entry, folder: Path, boundary: Boundary | None) -> Path | None:
    text: str | None = top.plain.get("overlay")
    if text is None:
        return None
    if boundary and not boundary.includes(folder / text):
        top.fields.complain(f"{text!r} is outside of the repository", "overlay")
    elif not is_folder(folder / text):
        top.fields.complain(f"{text!r} is not a folder", "overlay")
    return folder / text
