"""The operator's policy cannot be weakened by what a project, an Application or a lock says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at, small_world, text_of
from rig.commands.run import Outcome, run_command

from render.limits import Limits
from render.lock.model import LockedPackage
from render.lock.text.file import read_lock
from render.references import parse_source

DENY_BASE = f"policy: {{sources: {{deny: [{{prefix: {at('base')}, reason: not in this company}}]}}}}\n"
ALLOW_ALL = "policy: {sources: {allow: [xpkg.example.org]}}\n"
PLUGIN = (sys.executable, "-m", "render", "plugin", "generate")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem: app needs base."""
    return small_world(tmp_path / "repository")


@pytest.fixture
def operator(tmp_path: Path) -> Path:
    """A policy that denies base, linked twice as Kubernetes mounts it."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "policy.yaml").write_text(DENY_BASE)
    (tmp_path / "policy.yaml").symlink_to(tmp_path / "..data" / "policy.yaml")
    return tmp_path / "policy.yaml"


def plugin(folder: Path, *options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environ.setdefault("ARGOCD_APP_SOURCE_PATH", folder.name)
    return subprocess.run(
        [*PLUGIN, *options],
        cwd=folder,
        env={**os.environ, "XPLOCK_CACHE_DIR": "", **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )


def assert_denied(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stdout) == (4, "")
    assert "not in this company" in done.stderr


@pytest.mark.parametrize("lock_policy", ["frozen", "resolve", "commit"])
def test_the_plugin_renders_no_lock_that_the_operator_refuses(
    lock_policy: str, world: World, operator: Path
) -> None:
    project = world.project("shop", "app:v1.0.0")
    assert run_command("lock", str(project)).code == 0
    assert plugin(project, "--lock-policy", lock_policy).returncode == 0

    assert_denied(plugin(project, "--lock-policy", lock_policy, XPLOCK_POLICY=str(operator)))


def test_the_plugin_resolves_nothing_that_the_operator_refuses(world: World, operator: Path) -> None:
    project = world.project("shop", "app:v1.0.0")

    assert_denied(plugin(project, "--lock-policy", "resolve", XPLOCK_POLICY=str(operator)))


def test_an_application_can_neither_replace_nor_set_the_policy(world: World, operator: Path) -> None:
    project = world.project("shop", "app:v1.0.0", more=ALLOW_ALL)
    mine = project / "mine.policy"
    mine.write_text(ALLOW_ALL)
    tenant = {
        "ARGOCD_ENV_XPLOCK_POLICY": str(mine),
        "ARGOCD_APP_PARAMETERS": json.dumps([{"name": "policy", "string": str(mine)}]),
    }

    only_env = {"ARGOCD_ENV_XPLOCK_POLICY": str(mine), "XPLOCK_POLICY": str(operator)}
    assert_denied(plugin(project, "--lock-policy", "resolve", **only_env))
    refused = plugin(project, "--lock-policy", "resolve", XPLOCK_POLICY="", **tenant)
    assert refused.returncode == 2
    assert "'policy' is not a parameter" in refused.stderr

    # And none sets one, either: what an Application says is no policy of the operator.
    mine.write_text(DENY_BASE)
    assert plugin(project, "--lock-policy", "resolve", ARGOCD_ENV_XPLOCK_POLICY=str(mine)).returncode == 0


def test_a_file_of_the_project_is_never_the_operators_policy(world: World) -> None:
    """The plugin runs in the project's folder, where a relative path would lead."""
    project = world.project("shop", "app:v1.0.0")
    (project / "policy.txt").write_text(ALLOW_ALL)

    done = plugin(project, "--lock-policy", "resolve", XPLOCK_POLICY="policy.txt")

    assert (done.returncode, done.stdout) == (2, "")
    assert "XPLOCK_POLICY has to be a whole path" in done.stderr


WEAKER = {
    "allow": "policy: {sources: {allow: [xpkg.example.org]}}\n",
    "exception": f"policy: {{exceptions: [{{source: {at('base')}, rule: sources, reason: please}}]}}\n",
    "clarified": f"policy: {{licences: {{clarify: [{{source: {at('base')}, licence: MIT}}]}}}}\n",
    "rewrite": f"rewrites: [{{from: {at('base')}, to: {at('app')}}}]\n",
    "mirror": "mirror: {to: mirror.example}\n",
    "partial": "partialDependencies: complete\n",
}


@pytest.mark.parametrize("how", WEAKER)
def test_no_setting_of_a_project_weakens_the_operators_policy(how: str, world: World, operator: Path) -> None:
    project = world.project("shop", "app:v1.0.0", more=WEAKER[how])

    done = run_command("lock", str(project), environ={"XPLOCK_POLICY": str(operator)})

    done.assert_refused(4, "not in this company")


@pytest.mark.parametrize("state", ["orphaned", "wanted"])
def test_a_lock_that_calls_a_package_leaving_is_refused_all_the_same(
    state: str, world: World, operator: Path
) -> None:
    project = world.project("shop", "base:v1.0.0", "tool")
    assert run_command("lock", str(project)).code == 0
    if state == "orphaned":
        world.publish("alone v1.0.0")
        world.project("shop", "alone")
        assert run_command("lock", str(project)).code == 0
        assert b"state: orphaned" in text_of(project)

    assert_denied(plugin(project, XPLOCK_POLICY=str(operator)))


OPEN = "policy: {licences: {allow: [MIT], unknown: refuse}}\n"
LICENCE = "meta.crossplane.io/license"


def package_of(folder: Path, name: str) -> LockedPackage:
    lock = read_lock(folder, Limits())
    assert lock
    return lock.packages[parse_source(at(name))]


def judged(*command: str | Path, policy: str, tmp_path: Path) -> Outcome:
    """Run a command by a policy of the operator."""
    file = tmp_path / "written.yaml"
    file.write_text(policy)
    return run_command(*map(str, command), environ={"XPLOCK_POLICY": str(file)})


@pytest.mark.parametrize("rule", ["sources", "licences", "age"])
def test_the_exception_for_a_tag_is_for_the_bytes_that_the_registry_has_there(
    rule: str, tmp_path: Path
) -> None:
    """A project may name any tag beside a digest, and lay out or rewrite what a tag is."""
    world = World(tmp_path / "repository")
    world.publish("old v1.0.0", annotations={LICENCE: "BUSL-1.1"})
    world.publish("old v2.0.0", annotations={LICENCE: "BUSL-1.1"})
    rules = {
        "sources": f"sources: {{deny: [{{prefix: {at('old')}, reason: none of it}}]}}",
        "licences": "licences: {allow: [MIT]}",
        "age": "age: {minimum: 99999w, unknown: refuse}",
    }
    exception = f"{{source: {at('old')}, version: v1.0.0, rule: {rule}, reason: we know these bytes}}"
    policy = f"policy: {{{rules[rule]}, exceptions: [{exception}]}}\n"
    other = world.project("other", "old:v2.0.0")
    assert run_command("lock", str(other)).code == 0
    digest = package_of(other, "old").digest
    honest = world.project("honest", "old:v1.0.0")
    renamed = world.project("renamed", f"old:v1.0.0@{digest}")
    rewritten = world.project(
        "rewritten",
        "old:v1.0.0",
        more=f"rewrites: [{{from: '{at('old')}:v1.0.0', to: '{at('old')}:v2.0.0'}}]\n",
    )

    def lock(folder: Path) -> Outcome:
        return judged(
            "lock", folder, "--layout", f"xpkg.example.org={world.layout}", policy=policy, tmp_path=tmp_path
        )

    assert lock(honest).code == 0
    for folder in (renamed, rewritten):
        lock(folder).assert_refused(
            4, "its registry does not say that v1.0.0 names these bytes, so no exception for it counts"
        )


def test_a_lock_that_calls_a_package_leaving_does_not_hide_its_bytes(tmp_path: Path) -> None:
    world = World(tmp_path / "repository")
    world.publish("good v1.0.0", annotations={LICENCE: "MIT"})
    world.publish("bad v1.0.0", annotations={LICENCE: "BUSL-1.1"})
    project = world.project("shop", "good", "bad")
    assert run_command("lock", str(project)).code == 0
    world.project("shop", "good")
    assert run_command("lock", str(project)).code == 0
    file = project / "crossplane.lock.yaml"

    assert judged("lock", project, policy=OPEN, tmp_path=tmp_path).code == 0
    assert package_of(project, "bad").licence == "BUSL-1.1"
    for command in ("render", "check"):
        done = judged(command, project, policy=OPEN, tmp_path=tmp_path)
        assert done.code == 4
        assert f"{at('bad')} v1.0.0 has the licence BUSL-1.1" in done.stdout + done.stderr
    # Edited, it is read from the bytes again.
    file.write_bytes(text_of(project).replace(b"licence: BUSL-1.1", b"licence: MIT"))
    assert judged("lock", "--check", project, policy=OPEN, tmp_path=tmp_path).code == 3
    # The way out that the error names.
    assert judged("lock", project, policy=OPEN, tmp_path=tmp_path).code == 0
    for more in ([], ["--synced"]):
        done = judged("retire", at("bad"), "-C", project, *more, policy=OPEN, tmp_path=tmp_path)
        assert done.code == 0, done.stderr
    assert judged("render", project, policy=OPEN, tmp_path=tmp_path).code == 0


def test_an_image_config_leads_no_package_of_another_folder_to_a_place_that_is_not_allowed(
    tmp_path: Path,
) -> None:
    """It counts in the whole cluster, and those packages were judged without it."""
    world = World(tmp_path / "repository")
    world.publish("app v1.0.0")
    project = world.project("shop", "app:v1.0.0")
    lead = {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": "lead"},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": at("other:v1.0.0")}],
            "rewriteImage": {"prefix": "evil.example/other:v6.6.6"},
        },
    }
    (project / "lead.json").write_text(json.dumps(lead))
    assert run_command("lock", str(project)).code == 0

    for command in ("lock", "render", "check"):
        done = judged(command, project, policy=ALLOW_ALL, tmp_path=tmp_path)
        assert done.code == 4
        assert "lead.json: spec.matchImages[0] leads" in done.stdout + done.stderr
    allowing = ALLOW_ALL.replace("[xpkg", "[evil.example, xpkg")
    assert judged("render", project, policy=allowing, tmp_path=tmp_path).code == 0


@pytest.mark.parametrize(
    ("policy", "code"),
    [(OPEN, 4), ("policy: {age: {minimum: 1d, unknown: allow}}\n", 4), (ALLOW_ALL, 0)],
)
def test_rules_about_bytes_ask_for_pins_by_digest(policy: str, code: int, tmp_path: Path) -> None:
    world = World(tmp_path / "repository")
    world.publish("good v1.0.0", annotations={LICENCE: "MIT"})
    project = world.project("shop", "good", more="pin: tag\n")

    done = judged("lock", project, policy=policy, tmp_path=tmp_path)

    assert done.code == code
    assert ("is installed by its tag alone" in done.stderr) is bool(code)
    for mode in ("digest", "native"):
        world.project("shop", "good", more=f"pin: {mode}\n")
        assert judged("lock", project, policy=policy, tmp_path=tmp_path).code == 0
        assert judged("render", project, policy=policy, tmp_path=tmp_path).code == 0


def test_the_text_of_a_package_cannot_write_to_the_terminal(world: World) -> None:
    world.publish("odd v1.0.0", annotations={"meta.crossplane.io/license": "MIT\x1b[2J\x1b]0;x\x07"})
    world.publish("long v1.0.0", annotations={"meta.crossplane.io/license": "MIT OR " * 9_000 + "MIT"})
    project = world.project(
        "shop", "odd", "long", more="policy: {licences: {allow: [MIT], unknown: refuse}}\n"
    )

    done = run_command("lock", str(project))

    done.assert_refused(4, f"{HOME}/", "does not say which licence it has")
    assert len(done.stderr) < 5_000
