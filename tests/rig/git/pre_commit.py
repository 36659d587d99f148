"""This checkout as a repository of hooks, repositories that use it, and the real pre-commit in between."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from render import __version__
from rig.deploy.kustomize import TOP
from rig.git.repositories import REAL_GIT, git, new_repository, save, set_author

CONFIG = ".pre-commit-config.yaml"
REV = f"v{__version__}"
# Packages are downloaded the first time.
_INSTALL_SECONDS = 600
_SECONDS = 120


class Attempt(NamedTuple):
    """How a command ended, and everything that it said."""

    code: int
    output: str


class Hooks(NamedTuple):
    """A repository of hooks, and where pre-commit has what it made of it."""

    source: Path
    home: Path


def install_hooks(folder: Path) -> Hooks:
    """Let pre-commit make an environment out of what is in this checkout, committed or not."""
    hooks = Hooks(folder / "xplock", folder / "home")
    with pytest.MonkeyPatch.context() as environment:
        # In a git hook, variables point to the repository of that hook.
        for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"):
            environment.delenv(name, raising=False)
        environment.setenv("PRE_COMMIT_HOME", str(hooks.home))
        _publish(hooks.source)
        user = new_repository(folder / "user")
        configure(user, hooks, {"id": "xplock-check"})
        done = attempt(user, *_pre_commit("install-hooks"), seconds=_INSTALL_SECONDS)
    assert done.code == 0, done.output
    return hooks


def configure(root: Path, hooks: Hooks, *used: Mapping[str, object]) -> None:
    """Write a configuration that uses hooks of ours."""
    repository = {"repo": str(hooks.source), "rev": REV, "hooks": used}
    # Every JSON document is a YAML document too.
    (root / CONFIG).write_text(json.dumps({"repos": [repository]}, indent=2))


def pre_commit(root: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> Attempt:
    """Run the real pre-commit in a folder."""
    return attempt(root, *_pre_commit(*arguments), environ=environ)


def commit(root: Path, *options: str, environ: Mapping[str, str] | None = None) -> Attempt:
    """Commit what is staged, or what the options say, as people do: with hooks."""
    return attempt(root, REAL_GIT, "commit", "--message", "a change", *options, environ=environ)


def attempt(
    folder: Path, *command: str, environ: Mapping[str, str] | None = None, seconds: float = _SECONDS
) -> Attempt:
    """Run a command that may fail."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    return Attempt(done.returncode, done.stdout)


def _pre_commit(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pre_commit", *arguments]


def _publish(source: Path) -> None:
    """Commit and tag a copy of all files here that git tracks or does not ignore."""
    for name in git(TOP, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0"):
        if name and (TOP / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, source / name)
    git(source, "init", "--quiet")
    set_author(source)
    save(source)
    git(source, "tag", REV)
