"""Files of a package of the first format are found in a folder, whatever it is called."""

import os
from pathlib import Path

import pytest
from rig.builders.first_format import APP, crd, package, write_package
from rig.builders.packages import PROVIDER, write_files

from render.limits import LimitExceeded, Limits
from render.packages_v1.findings import Findings
from render.packages_v1.tree import find_registry, read_tree


def test_a_folder_with_a_registry_folder_is_a_package_of_the_first_format(tmp_path: Path) -> None:
    assert find_registry(write_package(tmp_path, package())) == tmp_path / ".registry"


def test_the_registry_folder_itself_is_one_too(tmp_path: Path) -> None:
    write_package(tmp_path, package())

    assert find_registry(tmp_path / ".registry") == tmp_path / ".registry"


@pytest.mark.parametrize("other", ["resources/crd.yaml", "mytype.crd.yaml"])
def test_a_folder_of_another_name_is_one_if_it_has_app_yaml_and_crds(tmp_path: Path, other: str) -> None:
    assert find_registry(write_files(tmp_path, {"app.yaml": APP, other: crd()})) == tmp_path


def test_a_folder_that_only_has_an_app_yaml_is_none(tmp_path: Path) -> None:
    assert find_registry(write_files(tmp_path, {"app.yaml": "kind: Deployment\n"})) is None


@pytest.mark.parametrize("name", ["crossplane.yaml", "upbound.yaml", "index.json"])
def test_a_folder_with_a_package_of_today_is_none(tmp_path: Path, name: str) -> None:
    write_files(write_package(tmp_path, package()), {name: PROVIDER})

    assert find_registry(tmp_path) is None


def test_any_other_folder_is_none(tmp_path: Path) -> None:
    assert find_registry(tmp_path) is None


def test_files_are_read_with_their_paths_sorted(tmp_path: Path) -> None:
    write_files(tmp_path, {"b.yaml": "b", "a/c.yaml": "c", ".hidden": "h"})

    tree = read_tree(tmp_path, Limits(), Findings())

    assert [(str(file), file.data) for file in tree.files] == [
        (".registry/.hidden", b"h"),
        (".registry/a/c.yaml", b"c"),
        (".registry/b.yaml", b"b"),
    ]


def test_a_link_is_refused_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").symlink_to("/etc/hostname")
    (tmp_path / "folder").symlink_to("/etc")
    found = Findings()

    tree = read_tree(tmp_path, Limits(), found)

    assert tree.files == ()
    assert found.problems == [".registry/app.yaml: it is a symbolic link"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "app.yaml")
    found = Findings()

    read_tree(tmp_path, Limits(), found)

    assert found.problems == [".registry/app.yaml: it is not a plain file"]


@pytest.mark.parametrize("limits", [Limits(files=1), Limits(package_bytes=3)])
def test_too_many_or_too_large_files_are_refused(tmp_path: Path, limits: Limits) -> None:
    write_files(tmp_path, {"a": "12", "b": "34"})

    with pytest.raises(LimitExceeded):
        read_tree(tmp_path, limits, Findings())
