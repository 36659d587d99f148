"""What moves versions between folders and locks many of them, in deploy/: every line of shell is run, against real remotes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rig.builders.projects import World
from rig.deploy.ci import Job, fresh_clone, read_workflow, run_job
from rig.deploy.kustomize import DEPLOY, SECONDS, parsed, read_one
from rig.git.repositories import git, set_author, write_program

from render.cli.run import run
from render.inputs.below import find_projects_below, parse_shard
from render.limits import Limits
from render.system.files import LOCK_FILE

STAGING, PRODUCTION = "clusters/staging", "clusters/production"
# Enough for every part to have some.
CLUSTERS = [f"clusters/{name}" for name in ("amber", "blue", "coral", "dune", "elm", "fern")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A repository whose projects find their packages beside themselves."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main", "work")
    world = World(tmp_path / "work", relative=True)
    for version in ("v1.0.0", "v1.1.0"):
        world.publish(f"net {version}", kind="Provider")
    return world


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """The remote, which is empty."""
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", "server.git")
    return tmp_path / "server.git"


def push(world: World, server: Path, message: str = "a change") -> str:
    """Commit everything and push it; return the commit."""
    git(world.folder, "add", "--all")
    git(world.folder, "commit", "--quiet", "--message", message)
    git(world.folder, "push", "--quiet", str(server), "HEAD:main")
    return git(world.folder, "rev-parse", "HEAD").strip()


def lock(world: World, *names: str) -> None:
    assert run(["-q", "lock", *(str(world.folder / name) for name in names)]) == 0


def environ_of(folder: Path, **more: str) -> dict[str, str]:
    """Return what a runner for workflows sets."""
    (folder / "temp").mkdir(exist_ok=True)
    files = {name: str(folder / "temp" / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return {"RUNNER_TEMP": str(folder / "temp"), "TOKEN": "a-token", **files, **more}


def output_of(folder: Path) -> str:
    """Return the output of a step with several lines."""
    lines = (folder / "temp/GITHUB_OUTPUT").read_text().splitlines()
    assert lines[0] == f"text<<{lines[-1]}"
    return "\n".join(lines[1:-1])


@pytest.fixture
def promoted(world: World, server: Path, tmp_path: Path) -> str:
    """Staging is ahead of production, and its workflow has run: the text of the pull request."""
    world.project(STAGING, "net:v1.1.0")
    world.project(PRODUCTION, "net:v1.0.0")
    lock(world, STAGING, PRODUCTION)
    push(world, server)
    job = read_workflow(DEPLOY / "ci/promote.yaml", "promote")
    codes = run_job(job, fresh_clone(server, tmp_path / "clone"), environ_of(tmp_path))
    assert set(codes.values()) == {0}
    return output_of(tmp_path)


def test_a_workflow_pushes_what_is_promoted_to_a_branch_of_its_own(promoted: str, server: Path) -> None:
    changed = git(server, "diff", "--name-only", "main", "xplock/promote-production").split()

    assert changed == [f"{PRODUCTION}/{LOCK_FILE}", f"{PRODUCTION}/xplock.yaml"]
    assert promoted.startswith(f"# lock {PRODUCTION}: 1 updated\n")
    assert "net:v1.1.0" in git(server, "show", f"xplock/promote-production:{PRODUCTION}/xplock.yaml")


def test_what_was_promoted_already_is_no_news(world: World, server: Path, tmp_path: Path) -> None:
    for name in (STAGING, PRODUCTION):
        world.project(name, "net:v1.1.0")
    lock(world, STAGING, PRODUCTION)
    push(world, server)
    job = read_workflow(DEPLOY / "ci/promote.yaml", "promote")

    codes = run_job(job, fresh_clone(server, tmp_path / "clone"), environ_of(tmp_path))

    assert set(codes.values()) == {0}
    assert output_of(tmp_path) == ""
    assert git(server, "branch", "--format=%(refname:short)").split() == ["main"]


@pytest.mark.parametrize(("open_one", "command"), [("", "pr create"), ("7", "pr edit")])
def test_a_pull_request_is_opened_once_and_gets_new_texts(
    promoted: str, tmp_path: Path, open_one: str, command: str
) -> None:
    programs = tmp_path / "github"
    script = f'#!/bin/sh\necho "$@" >> {programs}/calls\ncase "$*" in *list*) echo {open_one};; *) cat > {programs}/text;; esac\n'
    write_program(programs / "gh", script)
    job = read_workflow(DEPLOY / "ci/promote.yaml", "propose")
    [step] = job.steps.values()

    done = subprocess.run(
        ["bash", "-e", "-c", step],
        env={"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", **job.variables, "TEXT": promoted},
        check=True,
        timeout=SECONDS,
    )

    calls = (programs / "calls").read_text().splitlines()
    assert done.returncode == 0
    assert len(calls) == 2 and command in calls[1]
    assert f"--title lock {PRODUCTION}: 1 updated" in calls[1]
    assert (programs / "text").read_text() == f"{promoted}\n"


def test_the_token_may_do_one_thing_in_each_job() -> None:
    workflow = read_one(DEPLOY / "ci/promote.yaml")

    rights = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert workflow["permissions"] == {"contents": "read"}
    assert rights == {"promote": {"contents": "write"}, "propose": {"pull-requests": "write"}}


def test_what_kargo_copies_is_what_promote_locks_where_both_folders_ask_for_the_same(
    world: World, server: Path
) -> None:
    for name in (STAGING, PRODUCTION):
        world.project(name, "net")
    lock(world, STAGING)
    push(world, server)
    by_promotion = world.folder / PRODUCTION / LOCK_FILE
    assert run(["-q", "promote", *(str(world.folder / name) for name in (STAGING, PRODUCTION))]) == 0
    expected = by_promotion.read_text()
    by_promotion.unlink()

    for step in kargo_steps():
        if step["uses"] == "copy":
            places = [step["config"][key].split("/", 2) for key in ("inPath", "outPath")]
            assert [place[1] for place in places] == ["origin", "target"]
            shutil.copy(*(world.folder / place[2] for place in places))

    assert by_promotion.read_text() == expected
    assert run(["-q", "check", str(world.folder / PRODUCTION)]) == 0


def kargo_steps() -> list[dict[str, Any]]:
    """Return the steps of the task, with the variables that its stage sets."""
    objects = {value["kind"]: value for value in parsed((DEPLOY / "examples/kargo.yaml").read_bytes())}
    [call] = objects["Stage"]["spec"]["promotionTemplate"]["spec"]["steps"]
    task = objects["PromotionTask"]
    assert call["task"] == {"name": task["metadata"]["name"]}
    values = {one["name"]: one.get("value") for one in (*task["spec"]["vars"], *call["vars"])}
    text = json.dumps(task["spec"]["steps"])
    filled = re.sub(r"\$\{\{ vars\.(\w+) \}\}", lambda found: str(values[found[1]]), text)
    return list(json.loads(filled))


def test_kargo_watches_the_lock_that_it_copies_and_nothing_else() -> None:
    objects = {value["kind"]: value for value in parsed((DEPLOY / "examples/kargo.yaml").read_bytes())}

    [subscription] = objects["Warehouse"]["spec"]["subscriptions"]
    [copy] = [step["config"] for step in kargo_steps() if step["uses"] == "copy"]
    [wanted] = objects["Stage"]["spec"]["requestedFreight"]
    assert subscription["git"]["includePaths"] == [copy["inPath"].removeprefix("./origin/")]
    assert wanted["origin"]["name"] == objects["Warehouse"]["metadata"]["name"]
    assert {value["metadata"].get("namespace") for value in objects.values()} == {
        None,
        objects["Project"]["metadata"]["name"],
    }


@pytest.fixture
def rendered(world: World, server: Path, tmp_path: Path) -> dict[str, str]:
    """The commits of a branch as the source hydrator writes them, before and after an upgrade of production."""
    return hydrated(world, server, tmp_path, "net:v1.0.0", "net:v1.1.0")


def hydrated(world: World, server: Path, tmp_path: Path, *roots: str) -> dict[str, str]:
    commits = []
    for root in roots:
        world.project(PRODUCTION, root)
        lock(world, PRODUCTION)
        commits.append(push(world, server))
    git(tmp_path, "clone", "--quiet", str(server), "hydrator")
    git(tmp_path / "hydrator", "checkout", "--quiet", "--orphan", "rendered/production")
    git(tmp_path / "hydrator", "rm", "-rfq", ".")
    made = {}
    for name, commit in zip(("BASE", "HEAD"), commits, strict=True):
        (tmp_path / "hydrator/hydrator.metadata").write_text(json.dumps({"drySha": commit}, indent=2))
        git(tmp_path / "hydrator", "add", "hydrator.metadata")
        git(tmp_path / "hydrator", "commit", "--quiet", "--message", commit)
        made[name] = git(tmp_path / "hydrator", "rev-parse", "HEAD").strip()
    git(tmp_path / "hydrator", "push", "--quiet", "origin", "HEAD:rendered/production-next")
    return made


def gate(server: Path, folder: Path, commits: dict[str, str]) -> dict[str, int]:
    job = read_workflow(DEPLOY / "ci/gate.yaml", "gate")
    git(folder, "clone", "--quiet", str(server), "clone")
    return run_job(job, folder / "clone", environ_of(folder, **commits))


def test_the_gate_shows_what_a_promotion_changes(
    rendered: dict[str, str], server: Path, tmp_path: Path
) -> None:
    codes = gate(server, tmp_path, rendered)

    assert set(codes.values()) == {0}
    assert "| `v1.0.0` | `v1.1.0` |" in (tmp_path / "temp/GITHUB_STEP_SUMMARY").read_text()


def test_the_gate_refuses_what_the_api_server_would_refuse(
    world: World, server: Path, tmp_path: Path
) -> None:
    world.publish("store v1.0.0", kind="Provider", defines=["buckets.store.example.org v1"])
    world.publish("store v1.1.0", kind="Provider", defines=["buckets.store.example.org v2"])
    commits = hydrated(world, server, tmp_path, "store:v1.0.0", "store:v1.1.0")

    assert set(gate(server, tmp_path, commits).values()) == {3}


def test_the_gate_refuses_what_could_not_be_rendered(
    world: World, rendered: dict[str, str], server: Path, tmp_path: Path
) -> None:
    (world.folder / PRODUCTION / LOCK_FILE).unlink()
    broken = push(world, server)
    (tmp_path / "hydrator/hydrator.metadata").write_text(json.dumps({"drySha": broken}))
    git(tmp_path / "hydrator", "commit", "--quiet", "--all", "--message", "broken")
    git(tmp_path / "hydrator", "push", "--quiet", "origin", "HEAD:rendered/production-next")
    head = git(tmp_path / "hydrator", "rev-parse", "HEAD").strip()

    assert set(gate(server, tmp_path, {**rendered, "HEAD": head}).values()) == {3}


@pytest.fixture
def fleet(world: World, server: Path) -> World:
    """Projects of which every one is behind, and locked."""
    for name in CLUSTERS:
        world.project(name, "net:v1.0.0")
    lock(world, *CLUSTERS)
    for name in CLUSTERS:
        world.project(name, "net")
    lock(world, *CLUSTERS)
    push(world, server)
    return world


def part_of(fleet: World, part: int, parts: int) -> set[str]:
    """Return the locks of a part."""
    top = fleet.folder / "clusters"
    found = find_projects_below(top, Limits(), parse_shard(f"{part}/{parts}")).projects
    return {f"{path.relative_to(fleet.folder)}/{LOCK_FILE}" for path in found}


def test_the_parts_of_a_matrix_push_a_branch_each_at_the_same_time(
    fleet: World, server: Path, tmp_path: Path
) -> None:
    job = read_workflow(DEPLOY / "ci/fleet.yaml", "lock")
    [script] = job.steps.values()
    parts = range(1, int(job.variables["PARTS"]) + 1)
    children = []
    for part in parts:
        folder = tmp_path / str(part)
        folder.mkdir()
        fresh_clone(server, folder / "clone")
        children.append(start(job, script, folder, environ_of(folder, PART=str(part))))

    assert [child.wait(SECONDS) for child in children] == [0 for _ in parts]

    changed = [
        set(git(server, "diff", "--name-only", "main", f"xplock/update-{part}").split())
        for part in parts
        if part_of(fleet, part, len(parts))
    ]
    assert changed == [part_of(fleet, part, len(parts)) for part in parts if part_of(fleet, part, len(parts))]
    assert set().union(*changed) == {f"{name}/{LOCK_FILE}" for name in CLUSTERS}


def start(job: Job, script: str, folder: Path, environ: dict[str, str]) -> "subprocess.Popen[bytes]":
    programs = folder / "programs"
    write_program(programs / "xplock", f'#!/bin/sh\nexec {sys.executable} -m render "$@"\n')
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, "PATH": path, **{k: str(v) for k, v in job.variables.items()}, **environ}
    return subprocess.Popen(["sh", "-e", "-c", script], cwd=folder / "clone", env=given)


def test_two_pods_of_an_indexed_job_push_to_one_branch_at_the_same_time(
    fleet: World, server: Path, tmp_path: Path
) -> None:
    # What each of them finds out of date.
    for name in CLUSTERS:
        fleet.project(name, "net:v1.1.0")
    before = push(fleet, server)
    spec = read_one(DEPLOY / "examples/fleet-cronjob.yaml")["spec"]["jobTemplate"]["spec"]
    [container] = spec["template"]["spec"]["containers"]
    command = container["command"][2:]
    assert (spec["completionMode"], spec["completions"]) == ("Indexed", int(command[4]))
    command[4] = "2"
    children = []
    for index in (0, 1):
        folder = tmp_path / str(index)
        folder.mkdir()
        git(folder, "clone", "--quiet", "--single-branch", str(server), "clone")
        set_author(folder / "clone")
        job = Job({}, {"JOB_COMPLETION_INDEX": str(index)})
        script = "exec " + " ".join(f"'{word}'" for word in command)
        children.append(start(job, script, folder, {}))

    assert [child.wait(SECONDS) for child in children] == [0, 0]

    commits = git(server, "rev-list", f"{before}..main").split()
    changed = [set(git(server, "show", "--format=", "--name-only", commit).split()) for commit in commits]
    assert sorted(map(sorted, changed)) == sorted(sorted(part_of(fleet, part, 2)) for part in (1, 2))
    assert set().union(*changed) == {f"{name}/{LOCK_FILE}" for name in CLUSTERS}


def test_an_application_set_has_the_projects_in_the_order_of_their_environments() -> None:
    spec = read_one(DEPLOY / "examples/applicationset.yaml")["spec"]

    steps = spec["strategy"]["rollingSync"]["steps"]
    [own] = [one["git"]["directories"] for one in spec["generators"]]
    assert [step["matchExpressions"][0]["values"] for step in steps] == [["staging"], ["production"]]
    assert own == [{"path": "clusters/*"}, {"path": "clusters/argocd", "exclude": True}]
    # It is off in an Application that is a part of a rolling sync.
    assert "automated" not in spec["template"]["spec"]["syncPolicy"]
    assert spec["strategy"]["rollingSync"]["defaultPrune"] is True
