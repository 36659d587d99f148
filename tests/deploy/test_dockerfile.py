"""The Dockerfile: its stages, the user that it runs as, and the files that it copies."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rig.deploy.dockerfile import Stage, read_dockerfile
from rig.deploy.kustomize import DEPLOY, TOP, read_one

PUBLISHED = ("xplock", "xplock-with-kustomize")


ARGUMENTS, STAGES = read_dockerfile()
BY_NAME = {stage.name: stage for stage in STAGES}


def lineage(name: str) -> list[Stage]:
    """Return a stage and those of ours that it starts from, the first one first."""
    stage = BY_NAME[name]
    return [*(lineage(stage.base) if stage.base in BY_NAME else []), stage]


def last(name: str, word: str) -> str:
    """Return what holds in the end for an instruction that replaces the one before."""
    return [rest for stage in lineage(name) for rest in stage.all(word)][-1]


def environment(name: str) -> dict[str, str]:
    texts = [rest for stage in lineage(name) for rest in stage.all("ENV")]
    return dict(pair.split("=", 1) for text in texts for pair in text.split())


def test_every_line_is_an_instruction_that_this_image_needs() -> None:
    used = {word for stage in STAGES for word, _ in stage.instructions}

    assert used == {"CMD", "COPY", "ENTRYPOINT", "ENV", "RUN", "USER", "WORKDIR"}


def test_a_wheel_is_built_in_one_stage_and_installed_in_the_next() -> None:
    build = BY_NAME["wheel"].all("RUN")[-1]
    [install] = BY_NAME["environment"].all("RUN")

    assert " wheel " in build
    assert "--from=wheel /wheel /wheel" in BY_NAME["environment"].all("COPY")
    assert "python -m venv " in install
    assert "/wheel/*.whl" in install
    # Neither pip's cache nor a compiler comes along.
    assert "--from=environment /opt/xplock /opt/xplock" in BY_NAME["base"].all("COPY")


def test_everything_that_pip_downloads_is_checked_by_its_hash() -> None:
    commands = [part for stage in STAGES for rest in stage.all("RUN") for part in rest.split("&&")]
    installs = [part for part in commands if re.search(r"\bpip\b.* (install|wheel) ", part)]

    assert len(installs) == 4
    assert all("--require-hashes" in part or "--no-deps" in part for part in installs)
    # A build in isolation downloads its own tools.
    assert all("--no-build-isolation" in part for part in installs if " wheel " in part)


def test_every_base_image_is_named_by_its_exact_version() -> None:
    assert all(re.search(r":v?\d+\.\d+\.\d+\b", reference) for reference in ARGUMENTS.values())


def test_what_is_built_without_a_target_has_no_kustomize() -> None:
    assert STAGES[-1].name == "xplock"
    assert [stage.name for stage in lineage("xplock")] == ["base", "xplock"]
    assert "kustomize" not in json.dumps([stage.instructions for stage in lineage("xplock")])
    assert [stage.name for stage in lineage("xplock-with-kustomize")] == ["base", "xplock-with-kustomize"]


def test_images_of_others_are_named_by_a_version() -> None:
    used = {stage.base for stage in STAGES if stage.base not in BY_NAME}

    assert used == {f"${{{name}}}" for name in ARGUMENTS}
    for image in ARGUMENTS.values():
        assert re.search(r":v?\d+\.\d+", image), image


def test_its_python_is_one_that_the_package_accepts() -> None:
    wanted = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["requires-python"]
    version = re.search(r"/python:(\d+)\.(\d+)\.\d+-slim", ARGUMENTS["PYTHON"])

    assert version
    lowest = tuple(map(int, wanted.removeprefix(">=").split(".")))
    assert tuple(map(int, version.groups())) >= lowest


def ignored(path: str) -> bool:
    """Return whether .dockerignore excludes a path at the top: all are, except those with an exclamation mark."""
    lines = [line for line in (TOP / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert lines[0] == "*"
    return f"!{path}" not in lines


def copied() -> list[str]:
    """Return everything that is copied from here."""
    every = [rest for stage in STAGES for rest in stage.all("COPY") if not rest.startswith("--from=")]
    return [source for rest in every for source in rest.split()[:-1]]


def test_what_is_copied_is_there_and_gets_through() -> None:
    assert [path for path in copied() if not (TOP / path).exists() or ignored(path)] == []


def test_nothing_gets_through_that_is_not_copied() -> None:
    lines = (TOP / ".dockerignore").read_text().splitlines()

    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(copied())
    assert not {".", "./", "*"} & set(copied())


def test_stages_copy_only_from_those_before_them() -> None:
    before: set[str] = set()
    for stage in STAGES:
        sources = {re.findall(r"--from=(\S+)", rest)[0] for rest in stage.all("COPY") if "--from" in rest}
        assert sources <= before
        before.add(stage.name)


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_runs_as_the_user_of_argo_cd_who_has_a_name(name: str) -> None:
    made = " ".join(rest for stage in lineage(name) for rest in stage.all("RUN"))

    assert last(name, "USER") == "999:999"
    assert re.search(r"groupadd --gid 999 (\w+) ", made)
    assert re.search(r"useradd --uid 999 --gid 999 ", made)
    assert environment(name)["HOME"] == "/tmp"


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_starts_without_a_shell_behind_an_init(name: str) -> None:
    entrypoint: Any = json.loads(last(name, "ENTRYPOINT"))
    command: Any = json.loads(last(name, "CMD"))
    packages = " ".join(rest for stage in lineage(name) for rest in stage.all("RUN"))
    containers = read_one(DEPLOY / "repo-server.yaml")["spec"]["template"]["spec"]["containers"]

    assert entrypoint == containers[0]["command"][:-1] == ["/usr/bin/tini", "--"]
    assert command[0] == "xplock"
    assert re.search(r"apt-get install [^&]*\bca-certificates git [^&]*\btini ", packages)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_command_is_found_where_it_is_installed(name: str) -> None:
    [install] = BY_NAME["environment"].all("RUN")
    folder = re.search(r"-m venv --without-pip (\S+)", install)

    assert folder
    assert environment(name)["PATH"].split(":")[0] == f"{folder[1]}/bin"


def test_no_secret_can_get_into_a_layer() -> None:
    given = {name for stage in STAGES for name in environment(stage.name)}

    # Without arguments, variables and files there is nothing that a layer could keep.
    assert ARGUMENTS.keys() == {"PYTHON", "KUSTOMIZE"}
    assert given == {"PATH", "HOME"}
    assert set(copied()) == {
        "LICENSE",
        "README.md",
        "deploy/requirements/build.txt",
        "deploy/requirements/runtime.txt",
        "plugin.yaml",
        "pyproject.toml",
        "render",
    }


def test_the_plugin_file_is_also_in_the_image_where_argo_cd_looks_for_it() -> None:
    folder = Path("/home/argocd/cmp-server/config")

    assert f"plugin.yaml {folder / 'plugin.yaml'}" in BY_NAME["base"].all("COPY")
