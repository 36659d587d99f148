"""A lock in a kustomization: found wherever one names it, and only there."""

from pathlib import Path

import pytest
from rig.builders.projects import small_world

from render.checks.model import Finding, Place
from render.checks.read import read_checked
from render.checks.rules import find_findings
from render.cli.run import run
from render.limits import Limits
from render.system.files import LOCK_FILE

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: own\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder two levels below its repository, locked, with a kustomization that is as it should be."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    folder = small_world(tmp_path).project("clusters/shop", "app:v1.0.0").relative_to(tmp_path)
    (folder / "own.yaml").write_text(MANIFEST)
    run(["-q", "lock", str(folder)])
    kustomize(folder, "resources: [own.yaml]")
    return folder


def kustomize(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kustomization.yaml").write_text(f"{text}\n")


def listed(folder: Path) -> list[Finding]:
    found = find_findings(read_checked([folder], Limits(), {"PATH": "/usr/bin:/bin"}))
    return [finding for finding in found if finding.rule == "lock-listed"]


def test_a_kustomization_without_the_lock_is_well(project: Path) -> None:
    assert listed(project) == []


def test_a_lock_among_the_resources_is_found_with_its_line(project: Path) -> None:
    kustomize(project, f"resources:\n- own.yaml\n- {LOCK_FILE}")

    [finding] = listed(project)

    assert (finding.folder, finding.exit_code) == ("clusters/shop", 2)
    assert finding.message == "clusters/shop/kustomization.yaml lists a lock"
    assert finding.why[0] == f"resources[1] is {LOCK_FILE}"
    assert finding.place == Place(Path("clusters/shop/kustomization.yaml"), 3)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("resources: [./crossplane.lock.yaml]", "resources[0]"),
        ("components: [crossplane.lock.yaml]", "components[0]"),
        ("patches: [{path: crossplane.lock.yaml}]", "patches[0].path"),
        ("patchesStrategicMerge: [crossplane.lock.yaml]", "patchesStrategicMerge[0]"),
        ("transformers: [crossplane.lock.yaml]", "transformers[0]"),
        ("replacements: [{path: crossplane.lock.yaml}]", "replacements[0].path"),
        (
            "configMapGenerator: [{name: a, files: [crossplane.lock.yaml]}]",
            "configMapGenerator[0].files[0]",
        ),
        (
            "configMapGenerator: [{name: a, files: [lock=crossplane.lock.yaml]}]",
            "configMapGenerator[0].files[0]",
        ),
    ],
)
def test_it_is_found_under_every_key_that_names_files(project: Path, text: str, key: str) -> None:
    kustomize(project, text)

    [finding] = listed(project)

    assert finding.why[0].startswith(f"{key} is ")


@pytest.mark.parametrize(
    "text",
    [
        "configMapGenerator: [{name: a, literals: [lock=crossplane.lock.yaml]}]",
        "commonAnnotations: {lock: crossplane.lock.yaml}",
        "resources: [crossplane.lock.yaml.txt]",
        "resources: [",
        "resources: [other/crossplane.lock.yaml/file.yaml]",
    ],
)
def test_a_text_that_is_no_path_to_it_is_not_found(project: Path, text: str) -> None:
    kustomize(project, text)

    assert listed(project) == []


def test_it_is_found_in_what_the_kustomization_builds_on(project: Path) -> None:
    kustomize(project, "resources: [../../base]")
    kustomize(Path("base"), "resources: [../deeper]")
    kustomize(Path("deeper"), f"resources: [{LOCK_FILE}]")

    [finding] = listed(project)

    assert finding.message == "deeper/kustomization.yaml lists a lock"
    assert finding.folder == "clusters/shop"


def test_kustomizations_in_a_circle_are_read_once(project: Path) -> None:
    kustomize(project, "resources: [../../base]")
    kustomize(Path("base"), f"resources: [../clusters/shop, {LOCK_FILE}]")

    assert [finding.message for finding in listed(project)] == ["base/kustomization.yaml lists a lock"]


def test_it_is_found_in_a_folder_above_that_reaches_into_this_one(project: Path) -> None:
    kustomize(Path(), f"resources: [clusters/shop/own.yaml, clusters/shop/{LOCK_FILE}]")

    [finding] = listed(project)

    assert finding.message == "kustomization.yaml lists a lock"
    assert finding.place == Place(Path("kustomization.yaml"))


def test_a_folder_above_that_this_one_is_built_from_is_told_once(project: Path) -> None:
    kustomize(project, "resources: [../..]")
    kustomize(Path(), f"resources: [clusters/shop/{LOCK_FILE}]")

    assert [finding.message for finding in listed(project)] == ["kustomization.yaml lists a lock"]


def test_a_folder_above_that_lists_the_lock_of_another_is_that_ones_matter(project: Path) -> None:
    kustomize(Path(), f"resources: [clusters/other/{LOCK_FILE}, clusters/shop]")

    assert listed(project) == []


def test_nothing_above_the_repository_is_read(project: Path) -> None:
    Path(".git").rmdir()
    (project / ".git").mkdir()
    kustomize(Path(), f"resources: [clusters/shop/{LOCK_FILE}]")

    assert listed(project) == []


def test_without_a_repository_nothing_above_the_folder_is_read(project: Path) -> None:
    Path(".git").rmdir()
    kustomize(Path(), f"resources: [clusters/shop/{LOCK_FILE}]")

    assert listed(project) == []


def test_what_is_generated_from_it_has_another_reason(project: Path) -> None:
    kustomize(project, f"secretGenerator: [{{name: a, files: [{LOCK_FILE}]}}]")

    [finding] = listed(project)

    assert "larger than Kubernetes can store" in finding.why[1]
