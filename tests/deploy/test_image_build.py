"""The image, built as far as that is possible without an engine: every command that is ours, in folders of their own."""

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from rig.deploy.dockerfile import Build, read_dockerfile
from rig.deploy.kustomize import SECONDS, TOP, read_one
from rig.docs.examples import EXAMPLES, RENDERED
from rig.docs.machine import Machine

from render import __version__

STAGES = {stage.name: stage for stage in read_dockerfile()[1]}
# Packages of Debian come from the base image's own servers; and Python there is not the one that runs these tests.
BUILT = ("wheel", "environment", "base")
WITHOUT = ("apt-get", "python -m compileall")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, machine: Machine) -> Build:
    """All stages that the image is made of."""
    made = Build(tmp_path_factory.mktemp("image"), machine.environ, WITHOUT)
    for name in BUILT:
        made.make(STAGES[name])
    return made


def xplock(build: Build, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command of the image with the variables of the image, its paths led to where they are here."""
    [environment] = STAGES["base"].all("ENV")
    variables = dict(pair.split("=", 1) for pair in environment.split())
    path = variables["PATH"].replace("/opt/", f"{build.root('base')}/opt/")
    return subprocess.run(
        ["xplock", *arguments],
        cwd=folder,
        env={**variables, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


def test_one_wheel_comes_out_of_what_is_copied(build: Build) -> None:
    [wheel] = (build.root("wheel") / "wheel").iterdir()

    assert wheel.name == f"xplock-{__version__}-py3-none-any.whl"
    assert sorted(path.name for path in (build.root("wheel") / "source").iterdir()) == [
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "render",
    ]


def test_what_is_installed_has_all_that_it_needs_and_no_pip(build: Build) -> None:
    packages = next((build.root("base") / "opt/xplock/lib").glob("python*/site-packages"))
    found = {path.name for path in packages.iterdir()}

    assert xplock(build, "--version").stdout == f"xplock {__version__}\n"
    assert {"render", "yaml", "urllib3", "git", "jinja2"} <= found
    assert "pip" not in found
    # An image is read-only: what is not compiled now is compiled at every start.
    [compiled] = (packages / "render/argocd/__pycache__").glob("plugin.*.pyc")
    # PEP 552: by hash, and never compared with the source, whose time a layer rounds.
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 0b01


def test_the_image_renders_what_its_plugin_file_asks_for(build: Build, examples: Path) -> None:
    plugin = read_one(build.root("base") / "home/argocd/cmp-server/config/plugin.yaml")["spec"]["generate"]

    done = xplock(build, *plugin["command"][1:], *plugin["args"], folder=examples / "shop")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (EXAMPLES / "shop" / RENDERED).read_text()


def test_files_that_are_no_modules_are_in_it_too(build: Build, tmp_path: Path) -> None:
    done = xplock(build, "init", "--argocd", "argocd", folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "argocd/plugin.yaml").read_bytes() == (TOP / "plugin.yaml").read_bytes()


def test_its_user_has_a_name_and_a_home_that_is_writable_there(build: Build) -> None:
    [user] = (build.root("base") / "etc/passwd").read_text().splitlines()
    [mount] = [
        mount["name"]
        for container in read_one(TOP / "deploy/repo-server.yaml")["spec"]["template"]["spec"]["containers"]
        for mount in container["volumeMounts"]
        if mount["mountPath"] == "/tmp"
    ]

    assert user == "xplock:x:999:999::/tmp:/usr/sbin/nologin"
    assert mount == "xplock-tmp"


def test_the_standard_library_is_compiled_so_that_no_time_counts(machine: Machine, tmp_path: Path) -> None:
    [command] = [rest for rest in STAGES["base"].all("RUN") if "compileall" in rest]
    command, where = re.fullmatch(r'(python -m compileall .*) "\$\((.*)\)"', command).groups()  # type: ignore[union-attr]  # fails if it is another command
    (tmp_path / "module.py").write_text("answer = 42\n")

    asked = subprocess.run(
        ["sh", "-c", where], env=machine.environ, capture_output=True, text=True, timeout=SECONDS
    )
    machine.run("sh", "-ec", f"{command} {tmp_path}")

    [compiled] = (tmp_path / "__pycache__").iterdir()
    assert asked.stdout.strip() == sysconfig.get_path("stdlib")
    # PEP 552: by hash, and never compared with the source.
    assert int.from_bytes(compiled.read_bytes()[4:8], "little") == 0b01


def test_what_is_left_out_here_is_only_what_needs_the_base_image() -> None:
    left = [rest for stage in STAGES.values() for rest in stage.all("RUN") if rest.startswith(WITHOUT)]

    assert [rest.split()[0] for rest in left] == ["apt-get", "python"]
    assert {name for name, stage in STAGES.items() if not stage.all("RUN")} == {*STAGES} - {*BUILT}
