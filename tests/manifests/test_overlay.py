"""Overlays: built by the real kustomize in a copy, with the output checked."""

import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from render.errors import RenderError
from render.inputs.problems import InvalidInputs
from render.limits import Limits
from render.manifests.overlay import OverlayFailed, UnusableOverlay, apply_overlay
from render.manifests.overlay_checks import BrokenByOverlay
from render.manifests.passthrough import LockAmongInputs
from render.system.scratch import NoPlace

PIN = {
    "apiVersion": "pkg.crossplane.io/v1beta1",
    "kind": "ImageConfig",
    "metadata": {"name": "xplock-store-v1", "annotations": {"argocd.argoproj.io/sync-wave": "-1"}},
    "spec": {
        "matchImages": [{"type": "Prefix", "prefix": "xpkg.example.org/acme/store:v1"}],
        "rewriteImage": {"prefix": f"xpkg.example.org/acme/store@sha256:{'1' * 64}"},
    },
}
STORE = {
    "apiVersion": "pkg.crossplane.io/v1",
    "kind": "Provider",
    "metadata": {"name": "store"},
    "spec": {"package": "xpkg.example.org/acme/store:v1"},
}
APP = {
    "apiVersion": "pkg.crossplane.io/v1",
    "kind": "Configuration",
    "metadata": {"name": "app", "annotations": {"note": "größer als 1: ✓\n---\nkind: x\n", "on": "yes"}},
    "spec": {"package": "xpkg.example.org/acme/app:v1.10", "revisionHistoryLimit": 0},
}
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}}
# Neither by kind nor by name, as kustomize would sort them.
OBJECTS: list[dict[str, Any]] = [PIN, STORE, APP, SPACE]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project folder in a repository."""
    (tmp_path / "repository/.git").mkdir(parents=True)
    (tmp_path / "repository/project").mkdir()
    return tmp_path / "repository/project"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; nothing may stay there, and nobody may hear of it."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def overlay(project: Path, kustomization: str, files: Mapping[str, str] | None = None) -> Path:
    """Write an overlay into a project."""
    folder = project / "over"
    for name, text in {"kustomization.yaml": kustomization, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def apply(folder: Path, project: Path, **environ: str) -> list[dict[str, Any]]:
    return apply_overlay(OBJECTS, folder, project, Limits(), {"PATH": os.environ["PATH"], **environ})


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [f"{value['kind']}/{value['metadata']['name']}" for value in objects]


def test_an_empty_overlay_changes_nothing(project: Path, scratch: Path) -> None:
    folder = overlay(project, "kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\n")

    assert apply(folder, project) == OBJECTS
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_its_kustomization_has_three_names(project: Path, name: str) -> None:
    folder = overlay(project, "labels: [{pairs: {team: a}}]\n")
    (folder / "kustomization.yaml").rename(folder / name)

    made = apply(folder, project)

    assert {value["metadata"]["labels"]["team"] for value in made} == {"a"}


def test_patches_labels_and_more_objects_come_in_and_the_order_stays(project: Path) -> None:
    patch = "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: store}\nspec: {runtimeConfigRef: {name: big}}\n"
    more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"
    base = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"
    folder = overlay(
        project,
        "resources: [more.yaml, base]\nlabels: [{pairs: {team: a}}]\npatches: [{path: patch.yaml}]\n"
        "sortOptions: {order: fifo}\n",
        {
            "patch.yaml": patch,
            "more.yaml": more,
            "base/kustomization.yaml": "resources: [b.yaml]",
            "base/b.yaml": base,
        },
    )

    made = apply(folder, project)

    expected = ["ImageConfig/xplock-store-v1", "Provider/store", "Configuration/app", "Namespace/later"]
    assert names(made) == [*expected, "ConfigMap/more", "ConfigMap/base"]
    assert made[1] == {
        **STORE,
        "metadata": {"name": "store", "labels": {"team": "a"}},
        "spec": {"package": "xpkg.example.org/acme/store:v1", "runtimeConfigRef": {"name": "big"}},
    }


def test_an_overlay_may_set_a_namespace(project: Path) -> None:
    made = apply(overlay(project, "namespace: crossplane-system\n"), project)

    assert names(made)[:3] == names(OBJECTS)[:3]


@pytest.mark.parametrize(
    ("kustomization", "problem"),
    [
        ("namePrefix: prod-\n", "Provider/store is removed or renamed"),
        ("nameSuffix: -prod\n", "Configuration/app is removed or renamed"),
        (
            "patches: [{target: {kind: Provider}, patch: '"
            '[{"op": "replace", "path": "/spec/package", "value": "x:v2"}]'
            "'}]\n",
            "Provider/store: spec.package is x:v2, and was xpkg.example.org/acme/store:v1",
        ),
        (
            "patches: [{target: {kind: Provider}, patch: '{apiVersion: pkg.crossplane.io/v1, kind: Provider, "
            "metadata: {name: store}, $patch: delete}'}]\n",
            "Provider/store is removed or renamed",
        ),
        (
            "patches: [{target: {kind: ImageConfig}, patch: "
            """'[{"op": "replace", "path": "/spec/rewriteImage/prefix", "value": "evil"}]'}]\n""",
            "ImageConfig/xplock-store-v1: spec.rewriteImage is {'prefix': 'evil'}, "
            f"and was {{'prefix': 'xpkg.example.org/acme/store@sha256:{'1' * 64}'}}",
        ),
        ("resources: [new.yaml]\n", "Function/new is new, and a package has to be locked"),
    ],
)
def test_an_overlay_must_not_change_packages_and_pins(
    project: Path, scratch: Path, kustomization: str, problem: str
) -> None:
    new = "apiVersion: pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: new}\nspec: {package: x:v1}\n"
    folder = overlay(project, kustomization, {"new.yaml": new})

    with pytest.raises(BrokenByOverlay) as raised:
        apply(folder, project)

    assert problem in raised.value.why
    assert raised.value.exit_code == 2
    assert list(scratch.iterdir()) == []


def test_an_overlay_must_not_add_a_lock(project: Path, scratch: Path) -> None:
    lock = "apiVersion: pkg.crossplane.io/v1beta1\nkind: Lock\nmetadata: {name: lock}\n"
    folder = overlay(project, "resources: [lock.yaml]\n", {"lock.yaml": lock})

    with pytest.raises(LockAmongInputs) as raised:
        apply(folder, project)

    assert raised.value.what.startswith(f"{folder} contains a Lock")
    assert f"out of {folder}, " in raised.value.next[0]
    assert list(scratch.iterdir()) == []


def test_a_base_outside_is_refused_since_only_the_folder_is_copied(project: Path) -> None:
    folder = overlay(project, "resources: [../base]\n")
    (project / "base").mkdir()
    (project / "base/kustomization.yaml").write_text("resources: []\n")

    with pytest.raises(InvalidInputs) as raised:
        apply(folder, project)

    assert raised.value.problems == [
        "kustomization.yaml: resources[0]: '../base' is outside of the folder, which is built alone"
    ]


@pytest.mark.parametrize(
    ("kustomization", "entry"),
    [
        (
            "configMapGenerator: [{name: x, files: [../../secret]}]\n",
            "configMapGenerator[0].files[0]: '../../secret'",
        ),
        ("secretGenerator: [{name: x, files: [a=../s]}]\n", "secretGenerator[0].files[0]: 'a=../s'"),
        ("patches: [{path: /etc/passwd}]\n", "patches[0].path: '/etc/passwd'"),
        ("patchesStrategicMerge: [../x.yaml]\n", "patchesStrategicMerge[0]: '../x.yaml'"),
        ("crds: [over/../../x.json]\n", "crds[0]: 'over/../../x.json'"),
    ],
)
def test_a_file_outside_is_refused_before_anything_looks_for_it(
    project: Path, kustomization: str, entry: str
) -> None:
    folder = overlay(project, kustomization)

    with pytest.raises(InvalidInputs) as raised:
        apply(folder, project, PATH="")

    assert raised.value.problems == [
        f"kustomization.yaml: {entry} is outside of the folder, which is built alone"
    ]


@pytest.mark.parametrize(
    ("kustomization", "why"),
    [
        ("resources: ['https://example.org/x.yaml']\n", "looks remote"),
        ("generators: [run.yaml]\n", "only kustomize's builtin plugins are allowed"),
        ("helmCharts: []\n", "charts are not inflated"),
    ],
)
def test_remote_resources_and_plugins_are_refused(project: Path, kustomization: str, why: str) -> None:
    folder = overlay(
        project, kustomization, {"run.yaml": "apiVersion: x/v1\nkind: Run\nmetadata: {name: x}\n"}
    )

    # Without any program to run: it is refused before one would be needed.
    with pytest.raises(InvalidInputs, match=why):
        apply(folder, project, PATH="")


def test_a_folder_without_a_kustomization_is_refused(project: Path) -> None:
    (project / "over").mkdir()

    with pytest.raises(InvalidInputs, match="expected one kustomization, found none"):
        apply(project / "over", project)


def test_the_project_folder_itself_is_refused(project: Path) -> None:
    with pytest.raises(UnusableOverlay) as raised:
        apply(project / "../project", project)

    assert (raised.value.why, raised.value.exit_code) == (("it is the project folder itself",), 2)


@pytest.mark.parametrize("linked", [False, True])
def test_an_overlay_outside_of_the_repository_is_refused(project: Path, linked: bool) -> None:
    outside = overlay(project.parent.parent / "elsewhere", "labels: []\n")
    if linked:
        (project / "over").symlink_to(outside)

    with pytest.raises(UnusableOverlay) as raised:
        apply(project / "over" if linked else outside, project)

    assert raised.value.why == ("it is outside of the repository",)


def test_a_link_in_the_overlay_is_refused(project: Path, scratch: Path) -> None:
    folder = overlay(project, "labels: []\n")
    (project.parent.parent / "secret").write_text("canary")
    (folder / "secret").symlink_to("../../../secret")

    with pytest.raises(RenderError) as raised:
        apply(folder, project)

    assert raised.value.why == ("it is a symbolic link",)
    assert "canary" not in str(raised.value)
    assert list(scratch.iterdir()) == []


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize(
    ("kustomization", "told"),
    [
        ("patches: [{path: missing.yaml}]\n", "missing.yaml"),
        (
            "patches: [{patch: '{apiVersion: pkg.crossplane.io/v1, kind: Provider, metadata: {name: no}}'}]\n",
            "no",
        ),
        ("resources: [twice.yaml]\n", "store"),
    ],
)
def test_a_build_error_names_the_overlay_and_not_its_copy(
    project: Path, kustomization: str, told: str
) -> None:
    twice = "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: store}\n"
    folder = overlay(project, kustomization, {"twice.yaml": twice})

    with pytest.raises(OverlayFailed) as raised:
        apply(folder, project)

    text = str(raised.value)
    assert raised.value.exit_code == 2
    assert raised.value.what == f"the kustomization in {folder} does not build"
    assert told in text
    assert "/pytest" not in "".join(raised.value.why)
    assert "xplock-" not in text.replace("xplock-store", "")


@pytest.mark.usefixtures("scratch")
def test_a_build_error_about_a_rendered_object_does_not_name_the_copy(project: Path) -> None:
    unnamed = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "a-"}}
    folder = overlay(project, "labels: []\n")

    with pytest.raises(OverlayFailed) as raised:
        apply_overlay([*OBJECTS, unnamed], folder, project, Limits(), {"PATH": os.environ["PATH"]})

    assert "missing metadata.name in object" in str(raised.value)
    assert "/pytest" not in "".join(raised.value.why)


@pytest.mark.parametrize("limits", [Limits(kustomize_bytes=700), Limits(kustomize_seconds=0)])
def test_errors_about_limits_do_not_name_the_copy(project: Path, scratch: Path, limits: Limits) -> None:
    folder = overlay(
        project, "commonAnnotations: {long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}\n"
    )

    with pytest.raises(OverlayFailed) as raised:
        apply_overlay(OBJECTS, folder, project, limits, {"PATH": os.environ["PATH"]})

    assert str(folder) in raised.value.what
    assert str(scratch) not in str(raised.value)
    assert raised.value.exit_code == 1
    assert list(scratch.iterdir()) == []


def test_a_missing_kustomize_is_an_error(project: Path, scratch: Path) -> None:
    folder = overlay(project, "labels: []\n")

    with pytest.raises(OverlayFailed) as raised:
        apply(folder, project, PATH="")

    assert raised.value.exit_code == 1
    assert raised.value.why == ("neither kustomize nor kubectl is in PATH",)
    assert str(scratch) not in str(raised.value)


def test_a_missing_temporary_folder_is_an_error(project: Path, scratch: Path) -> None:
    folder = overlay(project, "labels: []\n")
    scratch.rmdir()

    with pytest.raises(RenderError) as raised:
        apply(folder, project)

    assert raised.value.exit_code == 1
    assert raised.value.next == ("set TMPDIR to a folder that can be written to",)


def test_a_full_temporary_folder_is_an_error(project: Path, scratch: Path) -> None:
    folder = overlay(project, "labels: []\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))

    try:
        with pytest.raises(NoPlace) as raised:
            apply(folder, project)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert raised.value.what == f"there is no place for a copy of the overlay in {folder}"
    assert raised.value.why == ("file too large",)
    assert list(scratch.iterdir()) == []


def test_the_users_files_are_not_changed(project: Path) -> None:
    folder = overlay(project, "# mine\nresources: []\nlabels: [{pairs: {team: a}}]\n")

    apply(folder, project)

    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [
        ("kustomization.yaml", "# mine\nresources: []\nlabels: [{pairs: {team: a}}]\n")
    ]
