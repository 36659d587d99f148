"""A package of the first format → the documents of a package of today, or all problems in one error."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from render.limits import Limits
from render.names import DNS_LABEL_MEANING, is_dns_label
from render.packages import Metadata, PackagedObject
from render.packages_v1.annotations import LABELS, Describing, check_icons, check_size, describe_crd
from render.packages_v1.behavior import BEHAVIOR_FILE, check_behavior
from render.packages_v1.controller import INSTALL_FILE, Controller, read_controller, runtime_config
from render.packages_v1.definitions.crds import CRD_END, CRD_KIND, NAMESPACED, Crd, read_crds
from render.packages_v1.definitions.merging import by_name, merged_spec
from render.packages_v1.dependencies import Answers, DependsOn, read_dependencies
from render.packages_v1.descriptions import GROUP_FILE, RESOURCE_END, App, read_app
from render.packages_v1.findings import Findings, NotConvertible
from render.packages_v1.meta import meta_document
from render.packages_v1.permissions import access_objects
from render.packages_v1.pictures import UI_SCHEMA
from render.packages_v1.tree import File, Tree
from render.system.files import APP_FILE
from render.xpkg.metadata import InvalidMetadata, parse_metadata
from render.yaml.writer import format_document

_CRD_API = "apiextensions.k8s.io/v1"
_OLD_RBAC = "rbac.yaml"
_KNOWN_FILES = (APP_FILE, INSTALL_FILE, GROUP_FILE, BEHAVIOR_FILE, _OLD_RBAC)
_KNOWN_ENDS = (CRD_END, RESOURCE_END, UI_SCHEMA)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the caller says about the package, which its files do not."""

    name: str
    # The folder or image that it is in, for errors.
    place: str = ""
    # The registry of images and packages that name none.
    source: str = ""
    # The versions it is built as; empty: any.
    versions: tuple[str, ...] = ()
    # Whether permissions in one namespace may become permissions in the cluster.
    cluster_wide: bool = False
    # Whether an image to run is known, for a package whose controller is in its own image.
    has_runtime: bool = False
    # Whether the name is made up for a look at the package: a build needs one from the user.
    needs_name: bool = False
    # The packages that stand for CRDs which it depends on.
    answers: Answers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Converted:
    """A package of the first format, as one of today."""

    metadata: Metadata
    crds: tuple[Mapping[str, Any], ...]
    # The content of package.yaml.
    data: bytes
    # Objects that belong to it, and that no package may hold.
    runtime_config: Mapping[str, Any]
    access: tuple[Mapping[str, Any], ...]
    # Whether its controller runs the image of the package itself.
    own_image: bool
    # Whether its permissions were those of one namespace, and become those of the cluster.
    namespaced: bool
    # Whether neither the user nor its folder has named it.
    needs_name: bool
    warnings: tuple[str, ...]

    @property
    def objects(self) -> tuple[PackagedObject, ...]:
        """The objects that it installs."""
        return tuple(PackagedObject(_CRD_API, CRD_KIND, crd["metadata"]["name"]) for crd in self.crds)


def convert(tree: Tree, wanted: Wanted, limits: Limits, found: Findings) -> Converted:
    """Convert a package; nothing is returned unless all of it can be."""
    app = read_app(tree, limits, found) or App(File(PurePosixPath(APP_FILE), b""))
    app = _with_version(app, wanted)
    crds = read_crds(tree, limits, found)
    controller = read_controller(tree, wanted.source, limits, found)
    depends_on = read_dependencies(app, crds, wanted.source, found, wanted.answers)
    _check_files(tree, found)
    check_behavior(tree, crds, limits, found)
    _check_name(wanted, found)
    _check_versions(app, wanted, found)
    _check_scopes(app, crds, found)
    _check_consent(app, controller, wanted, found)
    describing = Describing.read(tree, limits, found)
    documents = _convert_crds(crds, app, describing, found)
    meta = _convert_meta(app, wanted, crds, describing, depends_on, found)
    describing.warn_unused()
    _note_controller(controller, found)
    if found.problems:
        raise NotConvertible(wanted.place or wanted.name, found.problems)
    data = _package_yaml([meta, *documents])
    return Converted(
        metadata=_parse(meta, wanted, limits),
        crds=tuple(documents),
        data=data,
        runtime_config=runtime_config(wanted.name, controller),
        access=tuple(access_objects(wanted.name, depends_on.crds) if controller else ()),
        own_image=controller is not None and controller.own_image,
        namespaced=app.namespaced,
        needs_name=wanted.needs_name,
        warnings=tuple(dict.fromkeys(found.warnings)),
    )


def _check_files(tree: Tree, found: Findings) -> None:
    if not tree.ending(CRD_END):
        found.complain(f"*{CRD_END}", "a package has at least one CRD; found no such file")
    for file in tree.named(_OLD_RBAC):
        found.warn(file, "it was superseded by dependsOn and is left out")
    for file in tree.ending(".yaml", ".yml"):
        if file.name not in _KNOWN_FILES and not file.name.endswith(_KNOWN_ENDS):
            found.warn(file, "Packages v1 has no file of this name; it is left out")


def _check_name(wanted: Wanted, found: Findings) -> None:
    if not is_dns_label(wanted.name):
        found.complain("--name", f"name the package: {DNS_LABEL_MEANING}; {wanted.name!r} is none")


def _check_versions(app: App, wanted: Wanted, found: Findings) -> None:
    version = app.texts.get("version", "")
    for given in wanted.versions:
        if version and not same_version(version, given):
            found.complain(
                f"{app.file}: version", f"expected {given}, as the package is named; found {version}"
            )


def _with_version(app: App, wanted: Wanted) -> App:
    """Return what a package says of itself, with the version that it is built as where it names none."""
    if app.texts.get("version") or len(set(wanted.versions)) != 1:
        return app
    return replace(app, texts={**app.texts, "version": wanted.versions[0]})


def same_version(written: str, tag: str) -> bool:
    """Return whether a version in app.yaml is that of a tag; a tag of today starts with v."""
    return written.removeprefix("v") == tag.removeprefix("v")


def _check_scopes(app: App, crds: Sequence[Crd], found: Findings) -> None:
    for crd in crds:
        if app.namespaced and crd.scope != NAMESPACED:
            found.complain(
                f"{crd.place}: spec.scope", f"expected {NAMESPACED}, as permissionScope in {app.file} is"
            )


def _check_consent(app: App, controller: Controller | None, wanted: Wanted, found: Findings) -> None:
    if app.namespaced and not wanted.cluster_wide:
        found.complain(
            f"{app.file}: permissionScope",
            "a Provider of today has its permissions in the whole cluster; agree to that with --cluster-wide",
        )
    if controller and controller.own_image and not wanted.has_runtime:
        found.complain(
            f"{controller.file}: spec.template.spec.containers[0].image",
            "it is missing, so the controller is in the image of the package; name that image with --runtime-image",
        )


def _convert_crds(
    crds: Sequence[Crd], app: App, describing: Describing, found: Findings
) -> list[dict[str, Any]]:
    documents = []
    icons: Counter[File] = Counter()
    for name, parts in by_name(crds).items():
        annotations, icon = describe_crd(parts, app, describing), describing.icon(parts[0])
        check_size(f"{parts[0].place}: {name}", annotations, icon, found)
        icons.update([icon] if icon else [])
        labels = {**LABELS, **{key: text for crd in reversed(parts) for key, text in crd.labels.items()}}
        metadata = {"name": name, "labels": dict(sorted(labels.items())), "annotations": annotations}
        documents.append(
            {
                "apiVersion": _CRD_API,
                "kind": CRD_KIND,
                "metadata": {key: value for key, value in metadata.items() if value},
                "spec": merged_spec(parts, found),
            }
        )
    check_icons(icons, found)
    return documents


def _convert_meta(
    app: App,
    wanted: Wanted,
    crds: Sequence[Crd],
    describing: Describing,
    depends_on: DependsOn,
    found: Findings,
) -> dict[str, Any]:
    icon = describing.package_icon()
    meta = meta_document(wanted.name, app, crds, describing, depends_on, icon)
    check_size("crossplane.yaml", meta["metadata"].get("annotations", {}), icon, found)
    return meta


def _note_controller(controller: Controller | None, found: Findings) -> None:
    if controller is None:
        found.warn(
            INSTALL_FILE,
            "the package has none, so nothing acts on its CRDs; its Provider runs with replicas: 0",
        )


def _package_yaml(documents: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(f"---\n{format_document(document)}" for document in documents).encode()


def _parse(meta: Mapping[str, Any], wanted: Wanted, limits: Limits) -> Metadata:
    try:
        return parse_metadata(format_document(meta).encode(), limits)
    except InvalidMetadata as error:
        raise NotConvertible(wanted.place or wanted.name, error.problems) from None
