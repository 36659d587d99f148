"""What is deployed beside Argo CD: the plugin, its sidecar, and the examples around them."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from rig.deploying import ARGOCD, DEPLOY, SECONDS, TOP, build_component, kubectl, parsed, read_one
from rig.examples import EXAMPLES, RENDERED
from rig.projects import small_world
from rig.repositories import git

from render import __version__
from render.cli.root import xplock
from render.files import LOCK_FILE

IMAGE = f"registry.example.org/xplock:{__version__}"
README = (TOP / "README.md").read_text()
EXECUTABLES = ["/usr/bin/tini", "--"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A small Argo CD with all of deploy/ that is not an example."""
    return build_component(tmp_path_factory.mktemp("argocd"))


@pytest.fixture(scope="module")
def pod(built: dict[str, Any]) -> dict[str, Any]:
    """The pod of its repo-server."""
    spec: dict[str, Any] = built["Deployment/argocd-repo-server"]["spec"]["template"]["spec"]
    return spec


@pytest.fixture(scope="module")
def sidecar(pod: dict[str, Any]) -> dict[str, Any]:
    """The container in it that is ours."""
    return by_name(pod["containers"])["xplock"]


def by_name(items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {item["name"]: item for item in items}
    assert len(found) == len(items)
    return found


def mounts(container: dict[str, Any]) -> dict[str, str]:
    return {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}


def variables(container: dict[str, Any]) -> dict[str, str]:
    return {name: item["value"] for name, item in by_name(container["env"]).items()}


# plugin.yaml


def test_the_plugin_is_used_by_its_name_alone() -> None:
    plugin = read_one(TOP / "plugin.yaml")

    # Whatever else was there, misspelt or not, Argo CD would take without a word.
    assert plugin.keys() == {"apiVersion", "kind", "metadata", "spec"}
    assert (plugin["kind"], plugin["metadata"]) == ("ConfigManagementPlugin", {"name": "xplock"})
    assert plugin["spec"] == {
        "generate": {"command": ["xplock", "plugin", "generate"], "args": ["--lock-policy", "commit"]},
        "parameters": {"dynamic": {"command": ["xplock", "plugin", "parameters"]}},
    }


def test_the_plugin_file_that_is_deployed_is_the_one_at_the_top() -> None:
    assert (DEPLOY / "plugin.yaml").read_bytes() == (TOP / "plugin.yaml").read_bytes()


def call_plugin(section: dict[str, Any], folder: Path) -> bytes:
    """Run a command of plugin.yaml as Argo CD does: in the folder, without a shell."""
    command: list[str] = section["command"] + section.get("args", [])
    assert command[0] == "xplock"
    done = subprocess.run(
        [sys.executable, "-m", "render", *command[1:]], cwd=folder, capture_output=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_what_the_plugin_calls_renders_and_announces(examples: Path) -> None:
    spec = read_one(TOP / "plugin.yaml")["spec"]

    rendered = call_plugin(spec["generate"], examples / "shop")
    announced = call_plugin(spec["parameters"]["dynamic"], examples / "shop")

    assert rendered == (EXAMPLES / "shop" / RENDERED).read_bytes()
    assert all(entry["name"] for entry in json.loads(announced))


# The component


def test_the_folder_builds_by_itself() -> None:
    [config] = parsed(kubectl("kustomize", DEPLOY))

    assert config["data"] == {"plugin.yaml": (TOP / "plugin.yaml").read_text()}


def test_the_sidecar_runs_the_plugin_server_behind_an_init(sidecar: dict[str, Any]) -> None:
    assert sidecar["image"] == IMAGE
    assert sidecar["command"] == [*EXECUTABLES, "/var/run/argocd/argocd-cmp-server"]
    assert "args" not in sidecar


def test_the_sidecar_finds_everything_where_argo_cd_puts_it(
    pod: dict[str, Any], sidecar: dict[str, Any]
) -> None:
    found = mounts(sidecar)

    assert found["/var/run/argocd"] == "var-files"
    assert found["/home/argocd/cmp-server/plugins"] == "plugins"
    assert found.keys() == {
        "/var/run/argocd",
        "/home/argocd/cmp-server/plugins",
        "/home/argocd/cmp-server/config/plugin.yaml",
        "/tmp",
        "/var/cache/xplock",
        "/etc/xplock/docker",
        "/etc/xplock/git",
    }
    assert set(found.values()) <= by_name(pod["volumes"]).keys()


def test_the_plugin_file_is_the_generated_one(
    built: dict[str, Any], pod: dict[str, Any], sidecar: dict[str, Any]
) -> None:
    [mount] = [mount for mount in sidecar["volumeMounts"] if mount["name"] == "xplock-plugin"]
    config = built["ConfigMap/xplock-plugin"]

    # A changed file has another name, and so the pod is another one too.
    assert re.fullmatch(r"xplock-plugin-\w+", config["metadata"]["name"])
    assert by_name(pod["volumes"])["xplock-plugin"]["configMap"]["name"] == config["metadata"]["name"]
    assert mount["subPath"] in config["data"]


def test_temporary_files_are_not_shared_with_the_repo_server(
    pod: dict[str, Any], sidecar: dict[str, Any]
) -> None:
    server = mounts(by_name(pod["containers"])["argocd-repo-server"])

    assert mounts(sidecar)["/tmp"] != server["/tmp"]
    assert "emptyDir" in by_name(pod["volumes"])[mounts(sidecar)["/tmp"]]
    assert set(mounts(sidecar).values()) & set(server.values()) == {"plugins"}


def test_the_sidecar_may_do_as_little_as_argo_cd_itself(pod: dict[str, Any], sidecar: dict[str, Any]) -> None:
    assert sidecar["securityContext"] == {
        "runAsUser": 999,
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["automountServiceAccountToken"] is False


def test_secrets_may_be_missing_and_are_where_the_environment_says(
    pod: dict[str, Any], sidecar: dict[str, Any]
) -> None:
    volumes, environment = by_name(pod["volumes"]), variables(sidecar)
    secrets = {name: volume["secret"] for name, volume in volumes.items() if "secret" in volume}

    assert secrets.keys() == {"xplock-registries", "xplock-git"}
    assert all(secret["optional"] for secret in secrets.values())
    assert secrets["xplock-registries"]["items"] == [{"key": ".dockerconfigjson", "path": "config.json"}]
    assert mounts(sidecar)[environment["DOCKER_CONFIG"]] == "xplock-registries"
    assert mounts(sidecar)[str(Path(environment["GIT_CONFIG_GLOBAL"]).parent)] == "xplock-git"


def test_what_is_written_goes_to_volumes_of_its_own(pod: dict[str, Any], sidecar: dict[str, Any]) -> None:
    environment, volumes = variables(sidecar), by_name(pod["volumes"])

    for name in ("HOME", "XPLOCK_CACHE_DIR"):
        assert "emptyDir" in volumes[mounts(sidecar)[environment[name]]]


def test_the_rest_of_argo_cd_stays_as_it_is(built: dict[str, Any], pod: dict[str, Any]) -> None:
    before = {value["kind"]: value for value in parsed(ARGOCD.read_bytes())}
    template = before["Deployment"]["spec"]["template"]["spec"]

    for key in ("containers", "initContainers", "volumes"):
        now = by_name(pod[key])
        assert {item["name"]: now[item["name"]] for item in template[key]} == by_name(template[key])
    data = built["ConfigMap/argocd-cm"]["data"]
    assert {key: data[key] for key in before["ConfigMap"]["data"]} == before["ConfigMap"]["data"]


def test_the_commands_of_the_readme_do_the_same_without_kustomize(
    tmp_path: Path, built: dict[str, Any], sidecar: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = re.findall(r"^kubectl -n argocd (.*)$", README, re.MULTILINE)
    create, *patches = [shlex.split(line) for line in lines]
    before = {
        (value["kind"].lower(), value["metadata"]["name"]): value for value in parsed(ARGOCD.read_bytes())
    }
    monkeypatch.chdir(TOP)

    created = json.loads(kubectl(*create, "--dry-run=client", "-o", "json"))
    patched = {}
    for verb, kind, name, *options in patches:
        (tmp_path / "object.json").write_text(json.dumps(before.pop((kind, name))))
        answer = kubectl(verb, "--local", "-f", tmp_path / "object.json", *options, "-o", "json")
        patched[kind] = json.loads(answer)

    pod = patched["deployment"]["spec"]["template"]["spec"]
    assert by_name(pod["containers"])["xplock"] == sidecar
    assert by_name(pod["volumes"])["xplock-plugin"]["configMap"]["name"] == created["metadata"]["name"]
    assert created["data"] == built["ConfigMap/xplock-plugin"]["data"]
    assert patched["configmap"]["data"] == built["ConfigMap/argocd-cm"]["data"]
    assert before == {}


# Examples


def test_committing_is_allowed_by_a_patch_of_its_own(tmp_path: Path, pod: dict[str, Any]) -> None:
    allowed = build_component(tmp_path, patches=("examples/commit.yaml",))
    containers = by_name(allowed["Deployment/argocd-repo-server"]["spec"]["template"]["spec"]["containers"])

    before, now = variables(by_name(pod["containers"])["xplock"]), variables(containers["xplock"])

    added = {name: now[name] for name in now.keys() - before.keys()}
    source = read_one(DEPLOY / "examples/application.yaml")["spec"]["source"]
    assert before.items() <= now.items()
    assert added == {
        "XPLOCK_COMMIT_TO": f"{source['repoURL']}#main",
        "XPLOCK_GIT_TOKEN_FILE": "/etc/xplock/git/token",
    }
    assert containers["argocd-repo-server"] == by_name(pod["containers"])["argocd-repo-server"]


def test_the_application_names_the_plugin_and_syncs_by_itself() -> None:
    spec = read_one(DEPLOY / "examples/application.yaml")["spec"]

    assert spec["source"]["plugin"] == {"name": read_one(TOP / "plugin.yaml")["metadata"]["name"]}
    assert spec["syncPolicy"]["automated"] == {"prune": True, "selfHeal": True}
    assert spec["syncPolicy"]["retry"]["limit"] > 0
    # Nothing that adds a wave, or keeps one Application from taking over what another one dropped.
    assert spec["syncPolicy"]["syncOptions"] == ["SkipDryRunOnMissingResource=true"]


def test_the_hydrated_application_differs_in_where_it_is_applied_from() -> None:
    plain = read_one(DEPLOY / "examples/application.yaml")["spec"]
    hydrated = read_one(DEPLOY / "examples/hydrator.yaml")["spec"]

    hydrator = hydrated.pop("sourceHydrator")

    assert hydrator["drySource"] == plain.pop("source")
    assert hydrator["syncSource"].keys() == {"targetBranch", "path"}
    assert hydrator["syncSource"]["path"] not in (".", "")
    assert hydrated == plain


def test_the_cron_job_clones_and_locks_as_little_as_the_sidecar_may_do(sidecar: dict[str, Any]) -> None:
    job = read_one(DEPLOY / "examples/cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    [clone], [lock] = job["initContainers"], job["containers"]
    source = read_one(DEPLOY / "examples/application.yaml")["spec"]["source"]

    assert clone["command"][-3:] == ["--", source["repoURL"], lock["workingDir"]]
    assert lock["command"][-4:] == ["lock", "--commit", "--push", source["path"]]
    for container in (clone, lock):
        assert container["command"][:2] == EXECUTABLES
        assert {**job["securityContext"], **container["securityContext"]} == {
            **sidecar["securityContext"],
            "runAsGroup": 999,
        }
        assert set(mounts(container).values()) == by_name(job["volumes"]).keys()
    assert job["automountServiceAccountToken"] is False


def test_what_the_cron_job_runs_locks_and_pushes(tmp_path: Path) -> None:
    server, first, clone = tmp_path / "server", tmp_path / "first", tmp_path / "clone"
    source = read_one(DEPLOY / "examples/application.yaml")["spec"]["source"]
    small_world(tmp_path).project(f"first/{source['path']}", "app:v1.0.0")
    server.mkdir()
    git(server, "init", "--bare", "--initial-branch=main")
    for command in (["init", "--initial-branch=main"], ["add", "."], ["commit", "-m", "first"]):
        git(first, *command)
    git(first, "push", str(server), "main")
    (tmp_path / "config").write_text("[user]\nname = Locker\nemail = locker@example.org\n")
    job = read_one(DEPLOY / "examples/cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    places = {source["repoURL"]: server.as_uri(), "/clone/repository": str(clone)}
    own = {"HOME": tmp_path, "XPLOCK_CACHE_DIR": tmp_path / "cache", "GIT_CONFIG_GLOBAL": tmp_path / "config"}

    for container in (*job["initContainers"], *job["containers"]):
        command = [places.get(word, word) for word in container["command"][2:]]
        program = [sys.executable, "-m", "render"] if command[0] == "xplock" else command[:1]
        subprocess.run(
            [*program, *command[1:]],
            cwd=places.get(container.get("workingDir"), tmp_path),
            env=os.environ | variables(container) | own | {"GIT_ALLOW_PROTOCOL": "file"},
            check=True,
            timeout=SECONDS,
        )

    changed = git(server, "show", "--format=%an", "--name-only", "main").split()
    assert changed == ["Locker", f"{source['path']}/{LOCK_FILE}"]


def commands() -> Iterator[list[str]]:
    """Yield every command of ours in deploy/, its shell variables replaced by what CI sets them to."""
    job = read_one(DEPLOY / "examples/cronjob.yaml")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    yield job["containers"][0]["command"][2:]
    github = read_one(DEPLOY / "ci/github.yaml")["jobs"]["lock"]
    for step in github["steps"]:
        if "run" in step:
            yield shlex.split(step["run"].replace("$PROJECT", github["env"]["PROJECT"]))
    gitlab = read_one(DEPLOY / "ci/gitlab.yaml")["xplock"]
    for line in gitlab["script"]:
        yield shlex.split(line.replace("$PROJECT", gitlab["variables"]["PROJECT"]))


def test_every_command_that_is_deployed_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "clusters/production").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    called = []
    for program, name, *arguments in commands():
        command = xplock.get_command(click.Context(xplock), name)
        assert command
        command.make_context(name, arguments)
        called.append((program, name))

    assert called == [("xplock", "lock"), *[("xplock", "check"), ("xplock", "lock")] * 2]


def test_whatever_runs_xplock_runs_the_same_version() -> None:
    texts = {
        path: path.read_text() for path in [*DEPLOY.rglob("*.yaml"), TOP / "Dockerfile", TOP / "README.md"]
    }

    images = {
        path.name: set(re.findall(r"registry\.example\.org/xplock:[\w.-]+", text))
        for path, text in texts.items()
    }

    named = {name: found for name, found in images.items() if found}
    assert set().union(*named.values()) == {IMAGE}
    assert {
        "Dockerfile",
        "README.md",
        "repo-server.yaml",
        "cronjob.yaml",
        "github.yaml",
        "gitlab.yaml",
    } <= named.keys()


def test_the_readme_names_only_files_that_exist() -> None:
    named = set(re.findall(r"\bdeploy/[\w./-]*\w", README))

    assert {name for name in named if not (TOP / name).exists()} == set()
    assert {f"deploy/{name}" for name in ("plugin.yaml", "repo-server.yaml", "argocd-cm.yaml")} <= named


def test_nothing_in_the_folder_is_unknown_to_these_tests() -> None:
    assert sorted(os.path.relpath(path, DEPLOY) for path in DEPLOY.rglob("*") if path.is_file()) == [
        "argocd-cm.yaml",
        "ci/github.yaml",
        "ci/gitlab.yaml",
        "examples/application.yaml",
        "examples/commit.yaml",
        "examples/cronjob.yaml",
        "examples/hydrator.yaml",
        "kustomization.yaml",
        "plugin.yaml",
        "repo-server.yaml",
    ]
