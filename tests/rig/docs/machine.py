"""The machine of a new user: a clone of this repository, a Python with pip, and a name that git knows."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.docs.pages import TOP
from rig.docs.shell import SECONDS

_CLONED = (
    ".pre-commit-hooks.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Dockerfile",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "deploy",
    "docs",
    "examples",
    "plugin.yaml",
    "pyproject.toml",
    "render",
)
# What the image installs, by hash; and what pip itself asks for, to install a clone that can be edited and to make an
# environment.
_LOCKED = ("build", "runtime")
_BUILD = ("editables", "pip")
# Ways to install a command apart from everything else, as the README names them.
_INSTALLERS = ("pipx", "uv")
# The settings of the person who runs the tests, before a test hides them: pip fetches and caches as it does for them.
_HOME, _FIND_LINKS = Path.home(), os.environ.get("PIP_FIND_LINKS", "")
# Commits have the same name every time.
_NOW = "2026-01-01T12:00:00Z"
_GIT_CONFIG = """\
[user]
	name = Robin
	email = robin@example.org
[url "{servers}/"]
	insteadOf = https://git.example.org/
"""


def copy_clone(folder: Path) -> Path:
    """Copy the files of a clone that a user needs."""
    folder.mkdir(parents=True)
    for name in _CLONED:
        if (TOP / name).is_dir():
            left = ("__pycache__", "registry") if name == "examples" else ("__pycache__",)
            shutil.copytree(TOP / name, folder / name, ignore=shutil.ignore_patterns(*left))
        else:
            shutil.copy2(TOP / name, folder)
    return folder


@dataclass(frozen=True, slots=True)
class Machine:
    """A Python whose pip finds what xplock needs, and a git whose server is a folder."""

    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a shell there."""
        programs = [str(self.folder / "venv/bin"), str(self.folder / "installers/bin"), os.environ["PATH"]]
        return {
            **{name: text for name, text in os.environ.items() if not name.startswith("XPLOCK_")},
            "PATH": os.pathsep.join(programs),
            "HOME": str(self.folder),
            # Instead of a package index: xplock is not released, and a package of that name there may be anything.
            "PIP_FIND_LINKS": str(self.folder / "wheels"),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_CONFIG_FILE": str(self.folder / "uv.toml"),
            "UV_PYTHON_DOWNLOADS": "never",
            "GIT_AUTHOR_DATE": _NOW,
            "GIT_COMMITTER_DATE": _NOW,
        }

    @property
    def servers(self) -> Path:
        """The repositories of https://git.example.org."""
        return self.folder / "git.example.org"

    def run(self, *command: str | Path, environ: Mapping[str, str] | None = None) -> None:
        """Run a program that has to work."""
        done = subprocess.run(
            command, env={**self.environ, **(environ or {})}, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr


def new_machine(folder: Path) -> Machine:
    """Make a machine on which a clone is installed, and the wheels that its pip finds."""
    machine = Machine(folder)
    (folder / ".gitconfig").write_text(_GIT_CONFIG.format(servers=machine.servers))
    # In a file: uv forgets such variables when it builds.
    (folder / "uv.toml").write_text(f'no-index = true\nfind-links = ["{folder}/wheels"]\n')
    machine.run(sys.executable, "-m", "venv", folder / "venv")
    machine.run(sys.executable, "-m", "venv", folder / "installers")
    source = copy_clone(folder / "source")
    online = {"HOME": str(_HOME), "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": _FIND_LINKS}
    locked = [f"--requirement={source}/deploy/requirements/{name}.txt" for name in _LOCKED]
    for wanted in (["--require-hashes", *locked], _BUILD):
        machine.run("pip", "wheel", "--quiet", "--wheel-dir", folder / "wheels", *wanted, environ=online)
    machine.run(folder / "installers/bin/pip", "install", "--quiet", *_INSTALLERS, environ=online)
    machine.run("pip", "install", f"{source}[verify]")
    _serve(machine, source, "tools/xplock")
    return machine


def _serve(machine: Machine, source: Path, path: str) -> None:
    """Make a repository of a folder, and put it on the server."""
    machine.run("git", "init", "--quiet", "--initial-branch=main", source)
    machine.run("git", "-C", source, "add", ".")
    machine.run("git", "-C", source, "commit", "--quiet", "--message", "xplock")
    machine.run("git", "clone", "--quiet", "--bare", source, machine.servers / path)
