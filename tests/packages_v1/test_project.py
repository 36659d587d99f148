"""A folder with a package of the first format is a project: what `app.yaml` depends on are its roots."""

from pathlib import Path

import pytest
from rig.builders.first_format import APP, crd, package, write_package
from rig.builders.packages import write_files

from render.inputs.problems import InvalidInputs
from render.inputs.projects import Inputs, NothingAsked, read_inputs
from render.limits import Limits
from render.system.files import LOCK_FILE
from render.versions.requests import Request

GCP = "xpkg.example.org/crossplane/provider-gcp"
INSTALL = (
    "apiVersion: packages.crossplane.io/v1alpha1\nkind: ClusterPackageInstall\n"
    f"metadata: {{name: gcp}}\nspec: {{package: '{GCP}:v0.1.0'}}\n"
)


def depending(folder: Path, *entries: str) -> Path:
    app = f"{APP}dependsOn:\n" + "".join(f"- {entry}\n" for entry in entries)
    return write_package(folder, package({"app.yaml": app}))


def read(folder: Path) -> Inputs:
    return read_inputs(folder, Limits(), {})


def problems(folder: Path) -> list[str]:
    with pytest.raises(InvalidInputs) as raised:
        read(folder)
    return raised.value.problems


def test_its_dependencies_are_roots_with_file_and_field(tmp_path: Path) -> None:
    depending(
        tmp_path,
        "{crd: mytype.mygroup.example.org/v1alpha1, version: <2.0.0}",
        "{crd: {group: yourstack.example.org, version: v1alpha1, kind: '*'}}",
        f"{{package: '{GCP}:v0.1.0'}}",
        "{package: crossplane/provider-aws, source: xpkg.example.org}",
    )

    found = read(tmp_path)

    assert [(str(one.crd), one.constraint.text, one.place) for one in found.crd_roots] == [
        ("mytype.mygroup.example.org/v1alpha1", "<2.0.0", ".registry/app.yaml: dependsOn[0].crd"),
        ("*.yourstack.example.org/v1alpha1", "*", ".registry/app.yaml: dependsOn[1].crd"),
    ]
    assert [(str(one.source), str(one.request), one.place) for one in found.roots] == [
        ("xpkg.example.org/crossplane/provider-aws", "any version", ".registry/app.yaml: dependsOn[3].package"),
        (GCP, "v0.1.0", ".registry/app.yaml: dependsOn[2].package"),
    ]  # fmt: skip
    assert "crd mytype.mygroup.example.org/v1alpha1" in found.record


def test_its_own_crds_are_no_roots(tmp_path: Path) -> None:
    depending(tmp_path, "{crd: mytype.samples.example.org/v1alpha1}", "{crd: mytype.samples.example.org/v1}")

    assert [str(one.crd) for one in read(tmp_path).crd_roots] == ["mytype.samples.example.org/v1"]


def test_a_package_without_dependencies_asks_for_nothing(tmp_path: Path) -> None:
    write_package(tmp_path, package())

    with pytest.raises(NothingAsked):
        read(tmp_path)


def test_a_package_of_today_beside_it_counts_alone(tmp_path: Path) -> None:
    meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: a}\n"
    write_files(depending(tmp_path, "{crd: nogroup}"), {"crossplane.yaml": meta, LOCK_FILE: ""})

    assert read(tmp_path).crd_roots == ()


def test_an_entry_without_a_version_accepts_that_of_an_install_object(tmp_path: Path) -> None:
    write_files(depending(tmp_path, f"{{package: {GCP}}}"), {"install.yaml": INSTALL})

    [root] = read(tmp_path).roots

    assert (root.request, root.name) == (Request(tag="v0.1.0"), "gcp")


def test_every_wrong_entry_is_named_with_file_and_field(tmp_path: Path) -> None:
    depending(
        tmp_path, "{crd: nogroup}", "{}", "{package: crossplane/provider-gcp}", "{package: 'a.example.org/b:!'}"
    )  # fmt: skip

    found = problems(tmp_path)

    assert [problem.partition(": ")[2].partition(": ")[0] for problem in found] == [
        "dependsOn[0].crd",
        "dependsOn[1]",
        "dependsOn[2].package",
        "dependsOn[3].package",
    ]
    assert all(problem.startswith(".registry/app.yaml: ") for problem in found)
    assert "write source with its registry beside it" in found[2]


def test_two_app_files_are_a_problem_and_a_crd_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    files = {"a/app.yaml": APP, "b/app.yaml": APP, "c/crd.yaml": "a: ["}
    write_package(tmp_path, files)

    assert problems(tmp_path) == [
        "app.yaml: a package has exactly one; found .registry/a/app.yaml, .registry/b/app.yaml"
    ]


def test_a_folder_of_that_name_without_app_yaml_is_no_package(tmp_path: Path) -> None:
    write_package(tmp_path, {"crd.yaml": crd()})
    write_files(tmp_path, {"install.yaml": INSTALL})

    assert len(read(tmp_path).roots) == 1


def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    depending(tmp_path / "elsewhere", "{crd: nogroup}")
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.registry").symlink_to(tmp_path / "elsewhere/.registry")

    assert problems(tmp_path / "project") == [".registry: it is a symbolic link"]
