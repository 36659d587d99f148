"""The Renovate that end-to-end tests run: npm installs what the lock file says, from wherever this machine gets packages."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rig.deploy.kustomize import TOP
from rig.git.repositories import write_program

FOLDER = TOP / "tests/e2e/renovate"
LOCKED: dict[str, dict[str, Any]] = json.loads((FOLDER / "package-lock.json").read_text())["packages"]


def test_its_version_is_exact_and_the_locked_one() -> None:
    [(name, version)] = json.loads((FOLDER / "package.json").read_text())["dependencies"].items()

    assert (name, LOCKED["node_modules/renovate"]["version"]) == ("renovate", version)
    assert re.fullmatch(r"39\.\d+\.\d+", version)


def test_everything_is_installed_by_hash_and_from_no_address() -> None:
    packages = {path: entry for path, entry in LOCKED.items() if path}

    assert [path for path, entry in packages.items() if "integrity" not in entry] == []
    assert [path for path, entry in packages.items() if "resolved" in entry] == []


def check(folder: Path) -> str:
    """Return what is wrong with the Node of a machine whose programs are all in one folder."""
    done = subprocess.run(
        [sys.executable, "-m", "rig.builds.renovate", "--check"],
        env={"PATH": str(folder), "HOME": str(folder), "PYTHONPATH": str(TOP / "tests")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1 if done.stderr else 0, "")
    return done.stderr


@pytest.mark.parametrize(("version", "fits"), [("v18.20.4", False), ("v20.20.2", True), ("v22.10.0", False)])
def test_a_node_that_renovate_does_not_run_on_is_refused_before_anything_is_installed(
    tmp_path: Path, version: str, fits: bool
) -> None:
    write_program(tmp_path / "node", f"#!/bin/sh\necho {version}\n")
    write_program(tmp_path / "npm", "#!/bin/sh\nexit 1\n")

    told = check(tmp_path)

    renovate = LOCKED["node_modules/renovate"]
    refused = all(text in told for text in (renovate["version"], renovate["engines"]["node"], version))
    assert (told == "", refused) == (fits, not fits)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["node", "npm"]


@pytest.mark.parametrize("program", ["node", "npm"])
def test_without_node_or_npm_one_line_tells_which_are_needed(tmp_path: Path, program: str) -> None:
    write_program(tmp_path / program, "#!/bin/sh\necho v20.20.2\n")

    told = check(tmp_path)

    assert "needs npm and Node" in told and told.count("\n") == 1
