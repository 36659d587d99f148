"""xplock init --demo: a project that is locked and rendered without a registry."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rig.builders.packages import write_files

from render.cli.run import run

# Python imports a module of this name before anything else.
NO_NETWORK = """
import sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise ConnectionRefusedError(event)

sys.addaudithook(refuse)
"""


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script with an `xplock` that cannot open a connection."""
    write_files(folder / "no-network", {"sitecustomize.py": NO_NETWORK})
    start = f'xplock() {{ {sys.executable} -m render "$@"; }}\n'
    environ = {**os.environ, "PYTHONPATH": str(folder / "no-network")}
    return subprocess.run(
        ["sh", "-ec", start + script], cwd=folder, env=environ, capture_output=True, text=True, timeout=120
    )


def test_a_demo_is_locked_and_rendered_without_network(tmp_path: Path) -> None:
    done = shell("xplock init --demo 'my demo' && xplock lock 'my demo' && xplock render 'my demo'", tmp_path)

    kinds = re.findall(r"^kind: (\w+)$", done.stdout, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    assert kinds == [*["ImageConfig"] * 3, "Function", "Provider", "Configuration"]
    assert "next: xplock lock 'my demo' && xplock render 'my demo'\n" in done.stderr


def test_what_it_prints_as_next_can_be_pasted(tmp_path: Path) -> None:
    made = shell("xplock init --demo demo", tmp_path)
    [line] = re.findall(r"^next: (.+)$", made.stderr, re.MULTILINE)

    done = shell(f"{line} && xplock check demo && xplock verify demo", tmp_path)

    assert (made.returncode, done.returncode) == (0, 0), made.stderr + done.stderr


def test_the_same_demo_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run(["-q", "init", "--demo", str(tmp_path / name)]) == 0

    one, two = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "two")
    )
    assert one == two


def test_its_packages_can_be_built_again(tmp_path: Path) -> None:
    run(["-q", "init", "--demo", str(tmp_path / "demo")])
    run(["-q", "lock", str(tmp_path / "demo")])
    source = tmp_path / "demo/packages/provider-store/v1.1.0"
    tag = "xpkg.example.org/demo/provider-store:v1.1.0"

    built = run(["-q", "package", "build", str(source), "--to", str(tmp_path / "demo/registry"), "-t", tag])

    assert (built, run(["-q", "verify", str(tmp_path / "demo")])) == (0, 0)


def test_an_empty_folder_gets_a_demo(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()

    assert run(["-q", "init", "--demo", str(tmp_path / "demo")]) == 0
    assert run(["-q", "lock", str(tmp_path / "demo")]) == 0


def test_a_folder_with_files_gets_no_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    code = run(["init", "--demo", str(tmp_path)])

    error = capsys.readouterr().err
    assert (code, [path.name for path in tmp_path.iterdir()]) == (2, ["notes.txt"])
    assert f"{tmp_path} gets no demo" in error
    assert f"next: xplock init --demo {tmp_path}/demo" in error


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_a_place_that_is_no_folder_is_an_error(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")

    code = run(["init", "--demo", str(tmp_path / name)])

    assert code in (1, 2)
    assert str(tmp_path / name) in capsys.readouterr().err


def test_a_dry_run_names_the_files_and_writes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["init", "--demo", str(tmp_path / "demo"), "--dry-run", "-o", "json"])

    report = json.loads(capsys.readouterr().out)
    assert (code, report["dryRun"], (tmp_path / "demo").exists()) == (0, True, False)
    assert f"{tmp_path}/demo/shop.yaml" in report["written"]
