"""`app.yaml`, `group.yaml` and `resource.yaml`: what a package says of itself, its groups and its kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from render.limits import Limits
from render.packages_v1.documents import read_document, warn_unknown
from render.packages_v1.findings import Findings
from render.packages_v1.tree import File, Tree
from render.system.files import APP_FILE
from render.yaml.fields import Fields

FORMAT = "0.1.0"
GROUP_FILE = "group.yaml"
RESOURCE_END = "resource.yaml"
PACKAGE_TYPES = ("Provider", "Stack", "Application", "Addon")
PERMISSION_SCOPES = ("Cluster", "Namespaced")
_TEXTS = (
    "version", "title", "overviewShort", "overview", "readme", "company", "category", "website", "source",
    "license", "packageType", "permissionScope",
)  # fmt: skip
_PEOPLE = ("maintainers", "owners")
_APP_FIELDS = {"apiVersion", "keywords", "dependsOn", *_TEXTS, *_PEOPLE}
_GROUP_TEXTS = ("title", "overview", "overviewShort", "readme")
_RESOURCE_TEXTS = ("title", "titlePlural", "category", "overview", "readme")


@dataclass(frozen=True, slots=True)
class App:
    """What a package says of itself."""

    file: File
    # Without those that are empty.
    texts: Mapping[str, str] = field(default_factory=dict)
    # As `Name <mail>`, joined by commas.
    people: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    depends_on: tuple[Fields, ...] = ()

    @property
    def namespaced(self) -> bool:
        """Whether the package asked for permissions in its own namespace only."""
        return self.texts.get("permissionScope") == "Namespaced"


@dataclass(frozen=True, slots=True)
class Description:
    """The texts of one group.yaml or resource.yaml, by the ends of their annotations."""

    file: File
    # The group, or the kind in lower case; empty if the file does not say.
    about: str
    texts: Mapping[str, str]


def read_app(tree: Tree, limits: Limits, found: Findings) -> App | None:
    """Read the one app.yaml of a package."""
    files = tree.named(APP_FILE)
    if len(files) != 1:
        where = ", ".join(map(str, files)) or "none"
        found.complain(APP_FILE, f"a package has exactly one; found {where}")
        return None
    [file] = files
    fields = read_document(file, limits, found) or Fields(None, found.of(file))
    warn_unknown(fields, _APP_FIELDS, file, found)
    _check_format(fields, file, found)
    texts = {name: fields.text(name).strip("\n") for name in _TEXTS}
    _check_choice(fields, "packageType", PACKAGE_TYPES)
    _check_choice(fields, "permissionScope", PERMISSION_SCOPES)
    if not texts["title"]:
        found.warn(file, "title is missing, so no CRD gets the annotation package-title")
    return App(
        file,
        {name: text for name, text in texts.items() if text},
        {name: text for name in _PEOPLE if (text := _read_people(fields, name))},
        tuple(fields.list_of_texts("keywords")),
        tuple(fields.mappings("dependsOn")),
    )


def _check_format(fields: Fields, file: File, found: Findings) -> None:
    written = fields.get("apiVersion")
    if written not in (None, FORMAT):
        found.warn(file, f"apiVersion: {written} is read as the format {FORMAT}")


def _check_choice(fields: Fields, name: str, words: tuple[str, ...]) -> None:
    text = fields.text(name)
    if text and text not in words:
        fields.complain(f"expected {', '.join(words)}; found {text!r}", name)


def _read_people(fields: Fields, key: str) -> str:
    listed = [(entry.text("name"), entry.text("email")) for entry in fields.mappings(key)]
    shown = [f"{name} <{mail}>" if name and mail else name or mail for name, mail in listed]
    return ", ".join(text for text in shown if text)


def read_groups(tree: Tree, limits: Limits, found: Findings) -> list[Description]:
    """Read every group.yaml."""
    return [_read_group(file, limits, found) for file in tree.named(GROUP_FILE)]


def _read_group(file: File, limits: Limits, found: Findings) -> Description:
    fields = read_document(file, limits, found) or Fields(None, found.of(file))
    warn_unknown(fields, {"group", "category", *_GROUP_TEXTS}, file, found)
    texts = {_ending("group", name): fields.text(name) for name in (*_GROUP_TEXTS, "category")}
    return Description(file, fields.text("group"), {name: text for name, text in texts.items() if text})


def read_resources(tree: Tree, limits: Limits, found: Findings) -> list[Description]:
    """Read every file that describes a kind."""
    return [_read_resource(file, limits, found) for file in tree.ending(RESOURCE_END)]


def _read_resource(file: File, limits: Limits, found: Findings) -> Description:
    fields = read_document(file, limits, found) or Fields(None, found.of(file))
    warn_unknown(fields, {"id", "overviewShort", "shortOverview", *_RESOURCE_TEXTS}, file, found)
    texts = {_ending("resource", name): fields.text(name) for name in _RESOURCE_TEXTS}
    # The table of the format document has one name, its example and the code of that time the other.
    short, other = fields.text("overviewShort"), fields.text("shortOverview")
    if short and other and short != other:
        fields.complain("it differs from overviewShort, which means the same; remove one", "shortOverview")
    texts["resource-overview-short"] = short or other
    if not fields.text("id"):
        found.warn(file, "id is missing, so it describes no CRD")
    return Description(file, fields.text("id").lower(), {name: text for name, text in texts.items() if text})


def _ending(prefix: str, name: str) -> str:
    """Return the end of an annotation: group-overview-short of the field overviewShort."""
    dashed = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)
    return f"{prefix}-{dashed}"
