"""The Dockerfile as stages of instructions, and as much of a build as can be done without an engine."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rig.deploy.kustomize import SECONDS, TOP

# A user who may create users, in a namespace of its own.
_AS_ROOT = ("unshare", "--user", "--map-root-user")


@dataclass
class Stage:
    """A stage: its name, what it starts from, and its instructions in order."""

    name: str
    base: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """Return what follows a word, once for each instruction that starts with it."""
        return [rest for instruction, rest in self.instructions if instruction == word]


def read_dockerfile() -> tuple[dict[str, str], list[Stage]]:
    """Return the arguments in front of the first stage, and the stages."""
    text = re.sub(r"^\s*#.*\n", "", (TOP / "Dockerfile").read_text(), flags=re.MULTILINE)
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(name, base))
        elif word and stages:
            stages[-1].instructions.append((word, rest))
        elif word:
            name, _, value = rest.partition("=")
            arguments[name] = value
    return arguments, stages


@dataclass(frozen=True, slots=True)
class Build:
    """The file systems of all stages, each one a folder; a path of ours in a command leads into that folder."""

    folder: Path
    environ: Mapping[str, str]
    # Commands that are left out, by the word that they start with.
    without: tuple[str, ...] = ()

    def root(self, stage: str) -> Path:
        """Return the folder of a stage."""
        return self.folder / stage

    def make(self, stage: Stage) -> None:
        """Do what a stage says, starting from nothing but users and a few folders."""
        root, here = self.root(stage.name), Path("/")
        for name in ("passwd", "group", "shadow", "gshadow"):
            (root / "etc").mkdir(parents=True, exist_ok=True)
            (root / "etc" / name).touch()
        for word, rest in stage.instructions:
            if word == "WORKDIR":
                here = Path(rest)
                self._inside(root, here).mkdir(parents=True)
            elif word == "COPY":
                self._copy(rest.split(), root, here)
            elif word == "RUN" and not rest.startswith(self.without):
                self._run(rest, root, here)

    def _inside(self, root: Path, path: Path) -> Path:
        return root / path.relative_to("/")

    def _copy(self, words: list[str], root: Path, here: Path) -> None:
        start = self.root(words.pop(0).partition("=")[2]) if words[0].startswith("--from=") else TOP
        *sources, target = words
        # As .dockerignore says of what comes from here.
        left = shutil.ignore_patterns("__pycache__") if start == TOP else None
        into = self._inside(root, here / target)
        for source in sources:
            path = start / source.lstrip("/")
            # A folder's content is copied, and a file into a folder if the target is one.
            to = into / path.name if target.endswith("/") else into
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, to, symlinks=True, ignore=left)
            else:
                shutil.copy(path, to)

    def _run(self, command: str, root: Path, here: Path) -> None:
        command = re.sub(r"(?<=[\s(\"])(?=/(?:wheel|opt)\b)", str(root), command)
        command = re.sub(r"\b(groupadd|useradd) ", rf"\1 --prefix {root} ", command)
        done = subprocess.run(
            [*_AS_ROOT, "sh", "-ec", command],
            cwd=self._inside(root, here),
            env={**os.environ, **self.environ},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
