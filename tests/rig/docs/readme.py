"""The blocks of the README, and a shell that runs them for somebody who copies one after the other."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[3]
README = (TOP / "README.md").read_text()
SHELL = ("sh", "console")
SECONDS = 300

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CLONED = (
    "Makefile",
    "README.md",
    "LICENSE",
    "pyproject.toml",
    "plugin.yaml",
    "deploy",
    "examples",
    "render",
)
# Whose machine this is, before a test hides it: its pip need not fetch everything anew, and knows whom to ask.
_HOME, _FIND_LINKS = Path.home(), os.environ.get("PIP_FIND_LINKS", "")


@dataclass(frozen=True, slots=True)
class Step:
    """What is typed, and what the README says comes out of it, if it does."""

    command: str
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """A step that came to its end."""

    step: Step
    code: int
    output: str


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and the heading that it stands under."""

    section: str
    language: str
    text: str

    @property
    def need(self) -> str:
        """What it needs that a test does not have, as its first line tells everybody."""
        first = self.text.partition("\n")[0]
        return first.removeprefix("# needs ") if first.startswith("# needs ") else ""

    @property
    def steps(self) -> list[Step]:
        """A session is taken apart at its prompts; commands without answers belong together."""
        if self.language == "sh":
            return [Step(self.text)]
        parts = [part.partition("\n") for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE) if part]
        return [Step(command, shown.strip()) for command, _, shown in parts]


def read_blocks(text: str = README) -> list[Block]:
    """Return every fenced block; what stands before the second heading belongs to the first."""
    starts = [
        (match.start(), match[1]) for match in re.finditer(r"^##? (.+)$", _unfenced(text), re.MULTILINE)
    ]
    return [
        Block([title for start, title in starts if start < match.start()][-1], match[1], match[2])
        for match in _FENCED.finditer(text)
    ]


def _unfenced(text: str) -> str:
    """Return the text with every block blanked out: a comment in a shell looks like a heading."""
    return _FENCED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def run_blocks(blocks: Sequence[Block], folder: Path, environ: Mapping[str, str], scratch: Path) -> list[Ran]:
    """Run blocks in one shell, which ends at the first command without an answer that fails."""
    scratch.mkdir()
    steps = [step for block in blocks for step in block.steps]
    script = "\n".join(_script(steps, scratch))
    subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    return [
        Ran(step, int((scratch / f"{i}.code").read_text()), (scratch / f"{i}").read_text())
        for i, step in enumerate(steps)
        if (scratch / f"{i}").exists()
    ]


def _script(steps: Sequence[Step], scratch: Path) -> Iterator[str]:
    # Whatever fails ends the shell before its code is written.
    yield f"trap 'code=$?; test -e {scratch}/$step.code || echo $code >{scratch}/$step.code' EXIT"
    for i, step in enumerate(steps):
        # Braces and no subshell: where a step goes and what it sets holds for the next one.
        strict = "set -euo pipefail" if step.shown is None else "set +eu"
        yield f"step={i}\n{{\n{strict}\n{step.command}\n}} >{scratch}/{i} 2>&1"
        yield f"echo $? >{scratch}/{i}.code"


def copy_clone(folder: Path) -> Path:
    """Copy what somebody has who cloned the repository, as far as the README speaks of it."""
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
    """Where somebody starts: a Python whose pip finds what xplock needs, and a name that git knows."""

    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a shell there."""
        programs = [str(self.folder / "venv/bin"), os.environ["PATH"]]
        return {
            **{name: text for name, text in os.environ.items() if not name.startswith("XPLOCK_")},
            "PATH": os.pathsep.join(programs),
            "HOME": str(self.folder),
            # In the place of a package index, which has no xplock: anybody may have taken that name there.
            "PIP_FIND_LINKS": str(self.folder / "wheels"),
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }

    def run(self, *command: str | Path, environ: Mapping[str, str] | None = None) -> None:
        """Run a program that has to work."""
        done = subprocess.run(
            command, env={**self.environ, **(environ or {})}, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr


def new_machine(folder: Path) -> Machine:
    """Make a Python in which a clone was installed, and the wheels that its pip finds when it is to install one."""
    machine = Machine(folder)
    (folder / ".gitconfig").write_text("[user]\n\tname = Robin\n\temail = robin@example.org\n")
    machine.run(sys.executable, "-m", "venv", folder / "venv")
    source = copy_clone(folder / "source")
    # By its path, with everything that it needs and is built with: that comes from wherever whoever runs the tests gets it.
    command = [
        "pip",
        "wheel",
        "--quiet",
        "--wheel-dir",
        str(folder / "wheels"),
        f"{source}[zstd]",
        "hatchling",
    ]
    machine.run(*command, environ={"HOME": str(_HOME), "PIP_NO_INDEX": "0", "PIP_FIND_LINKS": _FIND_LINKS})
    # Nothing of that name is released.
    for wheel in (folder / "wheels").glob("xplock-*"):
        wheel.unlink()
    machine.run("pip", "install", source)
    return machine
