"""`install.yaml` → the DeploymentRuntimeConfig of a Provider: how its controller runs."""

from dataclasses import dataclass
from typing import Any

from render.limits import Limits
from render.packages import PACKAGE_GROUP
from render.packages_v1.documents import read_document
from render.packages_v1.findings import Findings
from render.packages_v1.tree import File, Tree
from render.references import PartialSource, parse_dependency_source, split_tag
from render.yaml.fields import Fields

INSTALL_FILE = "install.yaml"
# The container that Crossplane takes for the controller.
_CONTAINER = "package-runtime"
_DEPLOYMENT = "Deployment"
_GROUPS = ("apps", "extensions")
# Crossplane sets these itself, from the package.
_SET_BY_CROSSPLANE = ("serviceAccountName", "serviceAccount")
_KEPT_TEMPLATE_METADATA = ("annotations",)


@dataclass(frozen=True, slots=True)
class Controller:
    """How the controller of a package runs."""

    file: File
    # The spec of its Deployment, without what Crossplane sets.
    spec: dict[str, Any]
    # Whether it runs the image of the package itself.
    own_image: bool


def read_controller(tree: Tree, source: str, limits: Limits, found: Findings) -> Controller | None:
    """Read install.yaml; nothing for a package without a controller."""
    files = tree.named(INSTALL_FILE)
    if not files:
        return None
    if len(files) > 1:
        found.complain(INSTALL_FILE, f"a package has at most one; found {', '.join(map(str, files))}")
        return None
    fields = read_document(files[0], limits, found)
    if fields is None:
        found.complain(files[0], "it contains no Deployment")
        return None
    return _read_deployment(files[0], fields, source, found)


def runtime_config(name: str, controller: Controller | None) -> dict[str, Any]:
    """Return the DeploymentRuntimeConfig; of a package without a controller, it runs nothing."""
    # The API server requires a selector, and Crossplane fills it in.
    nothing = {"replicas": 0, "selector": {}, "template": {}}
    spec: dict[str, Any] = {"deploymentTemplate": {"spec": controller.spec if controller else nothing}}
    if controller:
        spec["serviceAccountTemplate"] = {"metadata": {"name": name}}
    return {
        "apiVersion": f"{PACKAGE_GROUP}/v1beta1",
        "kind": "DeploymentRuntimeConfig",
        "metadata": {"name": name},
        "spec": spec,
    }


def _read_deployment(file: File, fields: Fields, source: str, found: Findings) -> Controller | None:
    kind, group = fields.text("kind"), fields.text("apiVersion").partition("/")[0]
    if kind != _DEPLOYMENT or group not in _GROUPS:
        fields.complain(
            f"expected a {_DEPLOYMENT}; a Provider of today runs nothing else; found {kind!r}", "kind"
        )
        return None
    spec = fields.mapping("spec")
    pod = spec.mapping("template").mapping("spec")
    containers = pod.mappings("containers")
    if not containers:
        pod.complain("it is missing or empty", "containers")
        return None
    own_image = containers[0].get("image") in (None, "")
    _check_containers(containers, pod)
    written = [_container(one, i, source, file, found) for i, one in enumerate(containers)]
    return Controller(file, _kept(spec, pod, written), own_image)


def _check_containers(containers: list[Fields], pod: Fields) -> None:
    for one in (*containers[1:], *pod.mappings("initContainers")):
        if not one.text("image"):
            one.complain("it is missing; only the first container runs the image of the package", "image")


def _kept(spec: Fields, pod: Fields, containers: list[dict[str, Any]]) -> dict[str, Any]:
    others = {key: value for key, value in spec.value.items() if key not in ("selector", "template")}
    inner = {key: value for key, value in pod.value.items() if key not in (*_SET_BY_CROSSPLANE, "containers")}
    described = spec.mapping("template").mapping("metadata")
    kept = {key: described.get(key) for key in _KEPT_TEMPLATE_METADATA if described.get(key)}
    metadata = {"metadata": kept} if kept else {}
    template = {**metadata, "spec": {**inner, "containers": containers}}
    return {**dict(sorted(others.items())), "selector": {}, "template": template}


def _container(one: Fields, index: int, source: str, file: File, found: Findings) -> dict[str, Any]:
    image = one.text("image")
    name = _CONTAINER if index == 0 else one.text("name")
    rest = {key: value for key, value in one.value.items() if key not in ("name", "image")}
    if not image:
        return {"name": name, **rest}
    with one.errors_at("image"):
        image = _complete(image, source)
    place = f"{file}: spec.template.spec.containers[{index}].image"
    if "@" not in image:
        found.warn(place, f"no lock holds {image}; write it with its digest, and mirror it yourself")
    else:
        found.warn(place, f"no lock holds {image}; mirror it yourself")
    return {"name": name, "image": image, **rest}


def _complete(image: str, source: str) -> str:
    """Return an image with its registry; one without gets the source, as an install object gave it."""
    repository = split_tag(image.partition("@")[0])[0]
    if source and isinstance(parse_dependency_source(repository), PartialSource):
        return f"{source}/{image}"
    return image
