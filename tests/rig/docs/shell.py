"""Runs the blocks of a page in one shell, as a reader does who copies one after the other."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.docs.pages import Block, Step

SECONDS = 300


@dataclass(frozen=True, slots=True)
class Ran:
    """A step that was run."""

    step: Step
    code: int
    output: str


def run_blocks(blocks: Sequence[Block], folder: Path, environ: Mapping[str, str], scratch: Path) -> list[Ran]:
    """Run blocks in one shell, which ends at the first failing command of a block without output."""
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
    # A failing command ends the shell before its code is written.
    yield f"trap 'code=$?; test -e {scratch}/$step.code || echo $code >{scratch}/$step.code' EXIT"
    for i, step in enumerate(steps):
        # Braces and no subshell: the folder and the variables of a step hold for the next one, and so does its code.
        strict = "set -euo pipefail" if step.shown is None else "set +eu; (exit ${code:-0})"
        yield f"step={i}\n{{\n{strict}\n{step.command}\n}} >{scratch}/{i} 2>&1"
        yield f"code=$?; echo $code >{scratch}/{i}.code"
