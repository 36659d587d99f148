"""xplock.yaml → Settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from render.documents import file_rules, parse_documents
from render.errors import RenderError
from render.inputs.asked import OBJECT_NAME, OBJECT_NAME_MEANING, parse_package, parse_request
from render.inputs.keys import Choice, Entries, Entry, Key, Text, read_entry
from render.inputs.problems import complaints, describe, placed
from render.limits import Limits
from render.references import parse_source
from render.registry.rewrites import Rewrite
from render.roots import Root
from render.versions import Version, parse_version

SETTINGS_FILE = "xplock.yaml"


class Families(StrEnum):
    """Which version of a family package is preferred."""

    FOLLOW = "follow"
    FREE = "free"


class PartialDependencies(StrEnum):
    """What becomes of a dependency that is written without its registry."""

    COMPLETE = "complete"
    REFUSE = "refuse"


# The parser and the JSON Schema both come from this table.
KEYS = (
    Key(
        "roots",
        Entries(
            (
                Key(
                    "package",
                    Text(),
                    "The package with its registry; a tag means exactly this version, a digest exactly these bytes, "
                    "neither any version that suits everyone.",
                    required=True,
                    examples=("xpkg.crossplane.io/crossplane-contrib/provider-nop:v0.4.0",),
                ),
                Key(
                    "version",
                    Text(),
                    "The versions to choose from, as a range; excludes a tag or digest in package.",
                    examples=(">=v1.2.0, <v2.0.0", "^1.2"),
                ),
                Key(
                    "name",
                    Text(OBJECT_NAME, OBJECT_NAME_MEANING),
                    "The name of the object; without it, the one that Crossplane would give a dependency.",
                ),
            )
        ),
        "Packages to install, besides those that manifests in the folder ask for.",
    ),
    Key(
        "rewrites",
        Entries(
            (
                Key("from", Text(), "The beginning of an image reference, as plain text.", required=True),
                Key("to", Text(), "What stands in its place.", required=True),
            )
        ),
        "ImageConfig rewrites that exist in the cluster and not in this folder; the longest match counts.",
    ),
    Key(
        "crossplaneVersion",
        Text(),
        "The version of Crossplane in the cluster; every package has to accept it.",
        examples=("v2.3.4",),
    ),
    Key(
        "families",
        Choice(tuple(Families), default=Families.FOLLOW),
        "follow: a family package has the major version of its members. "
        "free: the highest one that its dependants accept, as Crossplane chooses it.",
    ),
    Key(
        "partialDependencies",
        Choice(tuple(PartialDependencies), default=PartialDependencies.COMPLETE),
        "complete: a dependency without a registry has that of its dependant. refuse: it is an error.",
    ),
    Key(
        "layouts",
        Entries(
            (
                Key("prefix", Text(), "A registry, or a path in one.", required=True),
                Key("folder", Text(), "The OCI layout, relative to this file.", required=True),
            )
        ),
        "OCI layouts on disk that stand in for registries; the longest match counts.",
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What xplock.yaml says."""

    roots: tuple[Root, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    crossplane_version: Version | None = None
    families: Families = Families.FOLLOW
    partial_dependencies: PartialDependencies = PartialDependencies.COMPLETE
    # Each prefix with the folder that answers for it.
    layouts: tuple[tuple[str, Path], ...] = ()
    # What differs from the default values, by key and as written; without roots and rewrites.
    given: Mapping[str, object] = field(default_factory=dict)


def parse_settings(data: bytes, folder: Path, limits: Limits, problems: list[str]) -> Settings:
    """Parse the settings of a folder; what is wrong is added to the problems."""
    found: list[str] = []
    settings = _parse_settings(_parse_document(data, limits, found), folder, found)
    problems.extend(placed(SETTINGS_FILE, found))
    return settings


def _parse_document(data: bytes, limits: Limits, problems: list[str]) -> object:
    try:
        documents = parse_documents(data, file_rules(limits))
    except RenderError as error:
        problems.append(describe(error))
        return None
    if len(documents) > 1:
        problems.append(f"expected one document, found {len(documents):,}")
    return documents[0] if documents else None


def _parse_settings(document: object, folder: Path, problems: list[str]) -> Settings:
    top = read_entry(document, "", KEYS, problems)
    given = {key: value for key, value in top.value.items() if key not in ("roots", "rewrites")}
    return Settings(
        roots=tuple(_parse_roots(top)),
        rewrites=tuple(_parse_rewrites(top)),
        crossplane_version=_parse_crossplane_version(top),
        families=Families(top.texts.get("families", Families.FOLLOW)),
        partial_dependencies=PartialDependencies(
            top.texts.get("partialDependencies", PartialDependencies.COMPLETE)
        ),
        layouts=tuple(_parse_layouts(top, folder)),
        given=given,
    )


def _parse_roots(top: Entry) -> Iterator[Root]:
    for i, entry in enumerate(top.entries.get("roots", ())):
        reference, request = None, None
        with complaints(entry.fields, "package"):
            reference = parse_package(entry.texts["package"]) if "package" in entry.texts else None
        with complaints(entry.fields, "version"):
            request = parse_request(reference, entry.texts.get("version")) if reference else None
        if reference and request:
            yield Root(
                reference.source, request, f"{SETTINGS_FILE}: roots[{i}]", name=entry.texts.get("name")
            )


def _parse_rewrites(top: Entry) -> Iterator[Rewrite]:
    for i, entry in enumerate(top.entries.get("rewrites", ())):
        if entry.texts.keys() >= {"from", "to"}:
            yield Rewrite(entry.texts["from"], entry.texts["to"], f"{SETTINGS_FILE}: rewrites[{i}]")


def _parse_crossplane_version(top: Entry) -> Version | None:
    text = top.texts.get("crossplaneVersion")
    with complaints(top.fields, "crossplaneVersion"):
        return parse_version(text) if text else None
    return None


def _parse_layouts(top: Entry, folder: Path) -> Iterator[tuple[str, Path]]:
    seen: set[str] = set()
    for entry in top.entries.get("layouts", ()):
        if not entry.texts.keys() >= {"prefix", "folder"}:
            continue
        path = folder / entry.texts["folder"]
        if not path.is_dir():
            entry.fields.complain("folder", f"{entry.texts['folder']!r} is not a folder")
        with complaints(entry.fields, "prefix"):
            prefix = _parse_prefix(entry.texts["prefix"])
            if prefix in seen:
                entry.fields.complain("prefix", f"{prefix} has a layout already")
            seen.add(prefix)
            yield prefix, path


def _parse_prefix(text: str) -> str:
    # What goes in front of a source has to be spelled as sources are, or it would never fit.
    return str(parse_source(f"{text.rstrip('/')}/x")).removesuffix("/x")
