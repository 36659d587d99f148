"""The CI jobs of deploy/, run step by step as their servers run them: a shell in a fresh clone of a repository."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rig.deploy.kustomize import DEPLOY, SECONDS, read_one
from rig.git.repositories import git, write_program

SERVERS = ("github", "gitlab")


@dataclass(frozen=True, slots=True)
class Job:
    """The commands of a job by their names, and the variables that it sets."""

    steps: Mapping[str, str]
    variables: Mapping[str, str]


def read_job(server: str) -> Job:
    """Return the job for a CI server, every line of it that is shell."""
    document = read_one(DEPLOY / f"ci/{server}.yaml")
    [job] = (document["jobs"] if server == "github" else document).values()
    if server == "github":
        steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
        return Job(steps, job["env"])
    return Job({line: line for line in job["script"]}, job["variables"])


def read_workflow(path: Path, name: str) -> Job:
    """Return a job of a workflow for GitHub; an expression stays in its variables, for the test to replace."""
    job = read_one(path)["jobs"][name]
    return Job({step["name"]: step["run"] for step in job["steps"] if "run" in step}, job["env"])


def fresh_clone(server: Path, folder: Path) -> Path:
    """Clone as CI servers do: one commit of one branch, detached."""
    git(server.parent, "clone", "--quiet", "--depth=1", f"file://{server}", str(folder))
    git(folder, "checkout", "--quiet", "--detach")
    return folder


def run_job(job: Job, clone: Path, environ: Mapping[str, str]) -> dict[str, int]:
    """Run every step, even after one that failed, in the shell of a container; return their exit codes."""
    programs = clone.parent / "programs"
    write_program(programs / "xplock", f'#!/bin/sh\nexec {sys.executable} -m render "$@"\n')
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    codes = {}
    for name, script in job.steps.items():
        done = subprocess.run(
            ["sh", "-e", "-c", script],
            cwd=clone,
            env={**os.environ, "PATH": path, "CI": "true", **_texts(job.variables), **environ},
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
        codes[name] = done.returncode
    return codes


def _texts(variables: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in variables.items()}
