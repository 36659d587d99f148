"""The CI jobs of deploy/: every line of shell in them is run, in a fresh clone and against a real registry."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from rig.builders.packages import PROVIDER, build_file, write_files
from rig.deploy.ci import SERVERS, Job, fresh_clone, read_job, run_job
from rig.deploy.kustomize import DEPLOY, parsed, read_one
from rig.git.repositories import git, new_repository, save
from rig.registry.docker import RunningRegistry, docker_registry

from render.cli.fast import HELP_OPTIONS
from render.cli.main import xplock
from render.cli.run import run
from render.system.files import LOCK_FILE

PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
CHECK, LOCK, VERIFY = "check", "lock", "verify"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningRegistry]:
    """A real registry, with a provider in it, that xplock may use without TLS."""
    (tmp_path / "registry").mkdir()
    with docker_registry(tmp_path / "registry", "open") as running:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", running.host)
        monkeypatch.setenv("XPLOCK_CACHE_DIR", "")
        publish(running, tmp_path, "v0.4.0")
        publish(running, tmp_path, "v0.5.0", more="  annotations: {next: one}\n")
        yield running


def publish(registry: RunningRegistry, folder: Path, tag: str, *, more: str = "") -> None:
    file = build_file(folder / f"package-{tag}{len(more)}", {"crossplane.yaml": PROVIDER + more})
    assert run(["-q", "package", "push", str(file), f"{registry.host}/acme/provider-nop:{tag}"]) == 0


def ask(registry: RunningRegistry, root: Path, tag: str, path: str) -> None:
    manifest = {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": "acme-provider-nop"},
        "spec": {"package": f"{registry.host}/acme/provider-nop:{tag}"},
    }
    write_files(root / path, {"provider.yaml": f"{manifest}\n".replace("'", '"')})


@pytest.fixture(params=SERVERS)
def job(request: pytest.FixtureRequest) -> Job:
    """The job of each CI server."""
    return read_job(request.param)


@pytest.fixture
def server(tmp_path: Path, registry: RunningRegistry, job: Job) -> Path:
    """A repository whose project is locked and committed."""
    root = new_repository(tmp_path / "repository")
    ask(registry, root, "v0.4.0", job.variables["PROJECT"])
    assert run(["-q", "lock", str(root / job.variables["PROJECT"])]) == 0
    save(root)
    return root


def outcomes(job: Job, server: Path) -> dict[str, int]:
    """Run the job in a fresh clone; return the exit codes by command of xplock, and see that nothing was left behind."""
    clone = fresh_clone(server, server.parent / "clone")
    codes = run_job(job, clone, {})
    assert git(clone, "status", "--porcelain") == ""
    return {shlex.split(job.steps[name])[1]: code for name, code in codes.items()}


def test_a_repository_with_its_lock_passes_every_step(job: Job, server: Path) -> None:
    assert outcomes(job, server) == {CHECK: 0, LOCK: 0, VERIFY: 0}


def test_a_new_version_upstream_fails_no_step(
    job: Job, server: Path, registry: RunningRegistry, tmp_path: Path
) -> None:
    publish(registry, tmp_path, "v0.6.0", more="  annotations: {newest: one}\n")

    assert outcomes(job, server) == {CHECK: 0, LOCK: 0, VERIFY: 0}


def test_a_commit_without_its_lock_stops_the_job(job: Job, server: Path) -> None:
    (server / job.variables["PROJECT"] / LOCK_FILE).unlink()
    save(server)

    assert outcomes(job, server) == {CHECK: 3, LOCK: 3, VERIFY: 3}


def test_a_manifest_that_was_not_locked_stops_the_job(
    job: Job, server: Path, registry: RunningRegistry
) -> None:
    ask(registry, server, "v0.5.0", job.variables["PROJECT"])
    save(server)

    found = outcomes(job, server)

    assert (found[CHECK], found[LOCK]) == (3, 3)


def test_a_tag_that_moved_is_found_by_the_step_that_asks_registries(
    job: Job, server: Path, registry: RunningRegistry, tmp_path: Path
) -> None:
    publish(registry, tmp_path, "v0.4.0", more="  annotations: {other: bytes}\n")

    found = outcomes(job, server)

    assert (found[CHECK], found[VERIFY]) == (0, 3)


def test_bytes_that_are_gone_are_found_by_the_step_that_asks_registries(
    job: Job, server: Path, tmp_path: Path
) -> None:
    for folder in (tmp_path / "registry/storage").rglob("_manifests"):
        folder.rename(folder.with_name("gone"))

    found = outcomes(job, server)

    assert (found[CHECK], found[VERIFY]) == (0, 1)


@pytest.mark.parametrize("name", SERVERS)
def test_the_step_that_names_registries_is_verify(name: str) -> None:
    text = (DEPLOY / f"ci/{name}.yaml").read_text()

    [command] = re.findall(r"Registries still have what is locked\.?\n +(?:run:|-) (.+)\n", text)

    assert command == 'xplock verify "$PROJECT"'


def test_a_workflow_shows_what_is_wrong_beside_the_lines_of_a_pull_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = read_job("github")
    [step] = [step for step in job.steps.values() if step.startswith("xplock check ")]
    write_files(
        tmp_path / job.variables["PROJECT"], {"xplock.yaml": "roots:\n  - package: xpkg.example.org/a/b:v1\n"}
    )
    monkeypatch.chdir(tmp_path)

    code = run(shlex.split(step.replace("$PROJECT", job.variables["PROJECT"]))[1:])

    assert code == 3
    assert capsys.readouterr().out.startswith("::error file=clusters/production/xplock.yaml,line=2,")


def test_a_workflow_may_read_the_repository_and_nothing_else() -> None:
    workflow = read_one(DEPLOY / "ci/github.yaml")

    [job] = workflow["jobs"].values()
    checkouts = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert workflow["permissions"] == {"contents": "read"}
    # A job could only ask for more.
    assert "permissions" not in job
    assert [step["with"] for step in checkouts] == [{"persist-credentials": False}]


def test_every_action_is_named_by_its_commit_with_the_version_beside_it() -> None:
    texts = [path.read_text() for path in (DEPLOY / "ci").glob("*.yaml")]

    used = [line for text in texts for line in re.findall(r"uses: (.+)", text)]

    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("name", SERVERS)
def test_nothing_but_shell_and_settings_is_in_a_job(name: str) -> None:
    known: dict[str, set[str]] = {
        "github": {"runs-on", "container", "env", "steps"},
        "gitlab": {"stage", "image", "variables", "rules", "script"},
    }
    [document] = parsed((DEPLOY / f"ci/{name}.yaml").read_bytes())

    [job] = (document["jobs"] if name == "github" else document).values()

    # Other keys may hold shell as well, such as before_script.
    assert job.keys() == known[name]
    steps: list[Any] = job.get("steps", [])
    assert all(step.keys() <= {"name", "run", "uses", "with"} for step in steps)


def commands() -> Iterator[list[str]]:
    """Yield every command of ours in deploy/, its shell variables replaced by what CI sets them to."""
    job = read_one(DEPLOY / "examples/cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    yield job["containers"][0]["command"][2:]
    for server in SERVERS:
        job = read_job(server)
        for line in job.steps.values():
            yield shlex.split(line.replace("$PROJECT", job.variables["PROJECT"]))


def test_every_command_that_is_deployed_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clusters/production").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    called = []
    for program, name, *arguments in commands():
        command = xplock.get_command(click.Context(xplock), name)
        assert command
        # A command keeps the help option of its first context.
        command.make_context(name, arguments, help_option_names=[*HELP_OPTIONS])
        called.append((program, name))

    assert called == [("xplock", "lock"), *[("xplock", CHECK), ("xplock", LOCK), ("xplock", VERIFY)] * 2]
