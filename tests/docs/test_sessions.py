"""Every command in README and docs/ is run, and the output that they show is the real one. If that differs: make docs"""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from rig.builders.projects import small_world
from rig.deploy.kustomize import read_one
from rig.docs.examples import EXAMPLES, RENDERED
from rig.docs.machine import Machine
from rig.docs.pages import PAGES, TOP, Session, is_shown, read_sessions
from rig.docs.sessions import run_session
from rig.docs.shell import SECONDS, Ran

from render.argocd.commit_policy import LockCommitted
from render.system.alarm import OutOfTime

FIRST_STEPS = TOP / "docs/first-steps.md"
SESSIONS = [session for page in PAGES if page != FIRST_STEPS for session in read_sessions(page)]


def follow(session: Session, examples: Path, machine: Machine, folder: Path) -> list[Ran]:
    """Do what a session says, and see that it works and that the output is the one it shows."""
    ran = run_session(session, examples, machine, folder)
    failed = [(each.step.command, each.output) for each in ran if each.step.shown is None and each.code]
    assert failed == []
    assert len(ran) == sum(len(block.steps) for block in session.blocks)
    for each, then in zip(ran, [*ran[1:], None], strict=True):
        if each.step.shown is None:
            continue
        assert is_shown(each.step.shown, each.output), each.output
        # A reader sees by the text whether a command fails, or is told.
        told = then is not None and then.step.command == "echo $?"
        assert told or bool(each.code) == bool(re.search("^error: ", each.output, re.MULTILINE))
    return ran


@pytest.mark.parametrize("session", SESSIONS, ids=str)
def test_every_command_works_and_its_output_is_the_one_shown(
    session: Session, examples: Path, machine: Machine, tmp_path: Path
) -> None:
    follow(session, examples, machine, tmp_path)


def test_the_first_steps_lead_from_pip_to_what_argo_cd_applies(
    examples: Path, machine: Machine, tmp_path: Path
) -> None:
    [session] = read_sessions(FIRST_STEPS)

    ran = follow(session, examples, machine, tmp_path)

    # Argo CD has no shell.
    checkout = tmp_path / "place/checkout/clusters/production"
    plugin = read_one(tmp_path / "place/checkout/argocd/plugin.yaml")["spec"]["generate"]
    called = subprocess.run(
        plugin["command"] + plugin["args"],
        cwd=checkout,
        env={"PATH": f"{tmp_path}/place/xplock-venv/bin", "ARGOCD_APP_SOURCE_PATH": "clusters/production"},
        capture_output=True,
        timeout=SECONDS,
    )
    expected = (EXAMPLES / "shop" / RENDERED).read_text()
    assert "pip install ." in session.blocks[0].text.splitlines()
    [generated] = [one for one in ran if "plugin generate" in one.step.command]
    assert generated.step.command.splitlines()[-1] == shlex.join(plugin["command"] + plugin["args"])
    assert generated.output == expected
    assert (called.returncode, called.stdout.decode(), called.stderr) == (0, expected, b"")


def test_what_argo_cd_shows_is_what_the_plugin_says(machine: Machine, tmp_path: Path) -> None:
    world = small_world(tmp_path)
    folder = world.project("shop", "app:v1.0.0")

    # In processes of their own: the plugin's clock would go on ticking in this one.
    def refusal() -> str:
        command = ["xplock", "plugin", "generate"]
        done = subprocess.run(
            command, cwd=folder, env=machine.environ, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stderr.partition("\n")[0]

    missing = refusal()
    machine.run("xplock", "lock", folder)
    world.project("shop", "app:v2.0.0")
    said = [missing, refusal()]

    page = (TOP / "docs/troubleshooting.md").read_text()
    others = [str(LockCommitted("")).partition(";")[0].strip(), str(OutOfTime(50)).partition("\n")[0]]
    for text in (*said, *(f"error: {text}" for text in others)):
        assert f"`{text}`" in page
