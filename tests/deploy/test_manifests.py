"""What is deployed beside Argo CD: the plugin, its sidecar, and the examples around them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rig.builders.projects import small_world
from rig.deploy.kustomize import (
    ARGOCD,
    BUSY,
    DEPLOY,
    SECONDS,
    TOP,
    build_component,
    kubectl,
    parsed,
    read_one,
)
from rig.docs.examples import EXAMPLES, RENDERED
from rig.docs.pages import DOCS, read_blocks
from rig.git.repositories import git, serve
from rig.leaks import Watcher, watched
from rig.registry.http_server import RecordingServer, make_certificate, redirect

from render import __version__
from render.cli.run import run
from render.system.files import LOCK_FILE

IMAGE = f"registry.example.org/xplock:{__version__}"
PAGE = (TOP / "docs/argo-cd.md").read_text()
EXECUTABLES = ["/usr/bin/tini", "--"]
CRON_JOB = DEPLOY / "examples/cronjob.yaml"


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

    # Argo CD would accept any other key without a warning, misspelt or not.
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


def test_by_itself_the_folder_is_a_config_map_and_nothing_else() -> None:
    [config] = parsed(kubectl("kustomize", DEPLOY))

    assert config["kind"] == "ConfigMap"
    assert "By itself it is a ConfigMap and nothing else" in (DEPLOY / "kustomization.yaml").read_text()
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
        "/var/run/secrets/kubernetes.io/serviceaccount",
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


def test_the_sidecar_may_do_as_little_as_argo_cd_itself(sidecar: dict[str, Any]) -> None:
    assert sidecar["securityContext"] == {
        "runAsUser": 999,
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


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


def test_no_volume_of_ours_can_fill_the_disk_of_its_node(
    pod: dict[str, Any], sidecar: dict[str, Any]
) -> None:
    own = {name for name in mounts(sidecar).values() if name.startswith("xplock-")}
    volumes = [by_name(pod["volumes"])[name] for name in sorted(own)]

    assert [volume["name"] for volume in volumes if "emptyDir" in volume and not volume["emptyDir"]] == []


def test_the_commands_of_the_first_steps_do_the_same_to_a_cluster_without_kustomize(
    tmp_path: Path, built: dict[str, Any], sidecar: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    [block] = [block for block in read_blocks(TOP / "docs/first-steps.md") if block.need]
    first, *lines, last = block.text.splitlines()[1:]
    # It makes a text that is applied, and so may be there already.
    create, _, applied = first.partition(" | ")
    patches = [shlex.split(line.rpartition("kubectl -n argocd ")[2]) for line in lines]
    before = {
        (value["kind"].lower(), value["metadata"]["name"]): value for value in parsed(ARGOCD.read_bytes())
    }
    # The folder that the commands before these end in, and what they wrote.
    run(["-q", "init", str(tmp_path / "clusters/production")])
    run(["-q", "init", "--argocd", str(tmp_path / "argocd")])
    monkeypatch.chdir(tmp_path)

    [created] = parsed(kubectl(*shlex.split(create)[1:]))
    patched = {}
    for verb, kind, name, *options in patches:
        (tmp_path / "object.json").write_text(json.dumps(before.pop((kind, name))))
        answer = kubectl(verb, "--local", "-f", tmp_path / "object.json", *options, "-o", "json")
        patched[kind] = json.loads(answer)

    pod = patched["deployment"]["spec"]["template"]["spec"]
    assert by_name(pod["containers"])["xplock"] == sidecar
    assert by_name(pod["volumes"])["xplock-plugin"]["configMap"]["name"] == created["metadata"]["name"]
    assert created["data"] == built["ConfigMap/xplock-plugin"]["data"]
    assert created["metadata"]["namespace"] == "argocd"
    assert applied == "kubectl -n argocd apply -f -"
    assert patched["configmap"]["data"] == built["ConfigMap/argocd-cm"]["data"]
    assert before == {}
    # What is applied is known to a cluster alone; here it is a file that is there, and an Application of the plugin.
    assert last.startswith("kubectl -n argocd apply -f ")
    assert read_one(Path(last.split()[-1]))["spec"]["source"]["plugin"] == {"name": "xplock"}


@pytest.mark.parametrize(("base", "found"), [(ARGOCD, 1), (BUSY, 0)], ids=["plain", "busy"])
def test_the_first_steps_patch_no_health_check_where_there_is_one(base: Path, found: int) -> None:
    [block] = [block for block in read_blocks(TOP / "docs/first-steps.md") if block.need]
    [line] = [line for line in block.text.splitlines() if "argocd-cm" in line]
    look, _, patch = line.partition(" || ")

    done = subprocess.run(
        ["sh", "-c", look.partition(" | ")[2]], input=base.read_bytes(), capture_output=True
    )

    # The shell patches only if the command before failed.
    assert done.returncode == found
    assert patch.startswith("kubectl -n argocd patch configmap argocd-cm ")


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


@pytest.mark.parametrize(
    "name",
    ["application", "applicationset", "commit", "cronjob", "fleet-cronjob", "hydrator", "kargo", "strategy"],
)
def test_kubectl_reads_an_example_as_we_do(name: str, tmp_path: Path) -> None:
    (tmp_path / "object.yaml").write_bytes((DEPLOY / f"examples/{name}.yaml").read_bytes())
    (tmp_path / "kustomization.yaml").write_text("resources: [object.yaml]\n")

    read = parsed(kubectl("kustomize", tmp_path))

    written = parsed((DEPLOY / f"examples/{name}.yaml").read_bytes())
    assert sorted(read, key=str) == sorted(written, key=str)


def uncommented(text: str, key: str) -> str:
    """Return a commented-out part of a git configuration, without the comment signs."""
    block = next(part for part in text.split("\n\n") if f"# \t{key}" in part)
    return "\n".join(line.removeprefix("# ") for line in block.partition("#\n")[2].splitlines())


def test_the_secret_for_git_is_what_the_sidecar_and_the_cron_job_mount(
    tmp_path: Path, pod: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DEPLOY / "examples/git-config").read_text()
    [command] = re.findall(r"^#   kubectl (.+)$", text, re.MULTILINE)
    (tmp_path / "deploy").symlink_to(DEPLOY)
    (tmp_path / "token").write_text("made-up")
    monkeypatch.chdir(tmp_path)

    secret = json.loads(kubectl(*shlex.split(command), "--dry-run=client", "-o", "json"))

    job = read_one(CRON_JOB)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    names = {by_name(job["volumes"])["git"]["secret"]["secretName"]}
    names.add(by_name(pod["volumes"])["xplock-git"]["secret"]["secretName"])
    assert (secret["metadata"]["name"], secret["metadata"]["namespace"]) == (*names, "argocd")
    assert secret["data"].keys() == {"config", "token"}
    # The page may break the line.
    assert f"`kubectl {command}`" in " ".join(PAGE.split())


def test_the_git_configuration_says_who_commits_and_how_git_gets_in(tmp_path: Path) -> None:
    text = (DEPLOY / "examples/git-config").read_text()
    every = [text, *(uncommented(text, key) for key in ("sslCAInfo", "sshCommand"))]
    (tmp_path / "config").write_text("\n".join(every))

    def configured(*question: str) -> str:
        return git(tmp_path, "config", "--file", str(tmp_path / "config"), *question)

    assert "@" in configured("user.email")
    assert configured("user.name") == "xplock"
    assert (
        configured("--get-urlmatch", "http.sslCAInfo", "https://git.example.org/acme")
        == "/etc/xplock/git/ca.crt"
    )
    ssh = shlex.split(configured("core.sshCommand"))
    assert [word for word in ssh if "/" in word] == [
        "/etc/xplock/git/key",
        "UserKnownHostsFile=/etc/xplock/git/known_hosts",
    ]
    # Every file of those is named where the Secret is made.
    assert set(re.findall(r"--from-file=([\w.]+)", text)) == {
        "config",
        "token",
        "ca.crt",
        "key",
        "known_hosts",
    }


def test_the_hydrated_application_differs_in_where_it_is_applied_from() -> None:
    plain = read_one(DEPLOY / "examples/application.yaml")["spec"]
    hydrated = read_one(DEPLOY / "examples/hydrator.yaml")["spec"]

    hydrator = hydrated.pop("sourceHydrator")

    assert hydrator["drySource"] == plain.pop("source")
    assert hydrator["syncSource"].keys() == {"targetBranch", "path"}
    assert hydrator["syncSource"]["path"] not in (".", "")
    assert hydrated == plain


def test_the_cron_job_clones_and_locks_as_little_as_the_sidecar_may_do(sidecar: dict[str, Any]) -> None:
    job = read_one(CRON_JOB)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
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
        # The same file of the same Secret as where the plugin may commit.
        assert variables(container)["XPLOCK_GIT_TOKEN_FILE"] == "/etc/xplock/git/token"
    assert job["automountServiceAccountToken"] is False


def begin_platform(folder: Path) -> tuple[Path, str]:
    """Make a server's repository with a project that was never locked, and return it with the project's path."""
    path = read_one(DEPLOY / "examples/application.yaml")["spec"]["source"]["path"]
    server, first = folder / "server.git", folder / "first"
    small_world(folder).project(f"first/{path}", "app:v1.0.0")
    server.mkdir()
    git(server, "init", "--bare", "--initial-branch=main")
    for command in (["init", "--initial-branch=main"], ["add", "."], ["commit", "-m", "first"]):
        git(first, *command)
    git(first, "push", str(server), "main")
    (folder / "git").mkdir()
    (folder / "git/config").write_text("[user]\nname = Locker\nemail = locker@example.org\n")
    return server, path


def run_cron_job(folder: Path, url: str, **more: str) -> list[subprocess.CompletedProcess[str]]:
    """Run what the CronJob runs, one container after the other, until one fails; its folders are below this one."""
    repository = read_one(DEPLOY / "examples/application.yaml")["spec"]["source"]["repoURL"]
    job = read_one(CRON_JOB)["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    places = {repository: url, "/clone/": f"{folder}/", "/etc/xplock/": f"{folder}/", "/tmp": str(folder)}

    def place(text: str) -> str:
        # In one go: what is put in may look like what is looked for.
        return re.sub("|".join(map(re.escape, places)), lambda found: places[found[0]], text)

    done: list[subprocess.CompletedProcess[str]] = []
    for container in (*job["initContainers"], *job["containers"]):
        command = [*map(place, container["command"][2:])]
        program = [sys.executable, "-m", "render"] if command[0] == "xplock" else command[:1]
        given = {name: place(value) for name, value in variables(container).items()}
        done.append(
            subprocess.run(
                [*program, *command[1:]],
                cwd=place(container.get("workingDir", "/tmp")),
                env={**os.environ, **given, **more},
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        )
        if done[-1].returncode:
            break
    return done


def test_what_the_cron_job_runs_locks_and_pushes(tmp_path: Path) -> None:
    server, path = begin_platform(tmp_path)

    done = run_cron_job(tmp_path, server.as_uri(), GIT_ALLOW_PROTOCOL="file")

    changed = git(server, "show", "--format=%an", "--name-only", "main").split()
    assert [container.returncode for container in done] == [0, 0], done
    assert changed == ["Locker", f"{path}/{LOCK_FILE}"]


def test_the_cron_job_logs_in_with_the_token_of_the_sidecar_and_shows_it_to_no_other_host(
    tmp_path: Path, canary: str
) -> None:
    server, path = begin_platform(tmp_path)
    certificate = make_certificate(tmp_path)
    (tmp_path / "git/token").write_text(f"{canary}\n")
    with (tmp_path / "git/config").open("a") as config:
        config.write(f"[http]\nsslCAInfo = {certificate.file}\n")
    watcher = Watcher(canary, [tmp_path / "repository", server])
    # A server first says that it wants to know, which is when git asks its helper.
    handler = watched(watcher, serve(tmp_path, f"x-access-token:{canary}"))

    with RecordingServer(handler, certificate=certificate) as running:
        done = run_cron_job(tmp_path, f"{running.url}/server.git")
    watcher.look()

    changed = git(server, "show", "--format=%an", "--name-only", "main").split()
    assert [container.returncode for container in done] == [0, 0], done
    assert changed == ["Locker", f"{path}/{LOCK_FILE}"]
    assert (watcher.arguments, watcher.files) == (set(), set())
    assert {name.partition("-")[0] for name in watcher.environments} <= {"git"}
    assert not any(canary in container.stdout + container.stderr for container in done)


def test_git_asks_for_the_token_for_one_repository_alone(tmp_path: Path, canary: str) -> None:
    begin_platform(tmp_path)
    certificate = make_certificate(tmp_path)
    (tmp_path / "git/token").write_text(canary)
    with (tmp_path / "git/config").open("a") as config:
        config.write(f"[http]\nsslCAInfo = {certificate.file}\n")

    with RecordingServer(serve(tmp_path, f"x-access-token:{canary}"), certificate=certificate) as other:
        there = f"{other.url}/server.git/info/refs?service=git-upload-pack"
        with RecordingServer(redirect(there, 302), certificate=certificate) as server:
            [clone] = run_cron_job(tmp_path, f"{server.url}/server.git")

    assert clone.returncode != 0
    assert other.requests != ()
    assert not other.saw(canary)


def test_all_manifests_run_the_same_version_of_xplock() -> None:
    texts = {path: path.read_text() for path in [*DEPLOY.rglob("*.yaml"), TOP / "Dockerfile", *DOCS]}

    images = {
        path.name: set(re.findall(r"registry\.example\.org/xplock:[\w.-]+", text))
        for path, text in texts.items()
    }

    named = {name: found for name, found in images.items() if found}
    assert set().union(*named.values()) == {IMAGE}
    assert {
        "Dockerfile",
        "argo-cd.md",
        "repo-server.yaml",
        "cronjob.yaml",
        "github.yaml",
        "gitlab.yaml",
    } <= named.keys()


def test_the_page_for_argo_cd_names_every_file_of_the_component() -> None:
    named = set(re.findall(r"`(deploy/[\w./-]*\w)`", PAGE))

    assert {
        f"deploy/{name}" for name in ("plugin.yaml", "repo-server.yaml", "health/argocd-cm.yaml")
    } <= named


def test_nothing_in_the_folder_is_unknown_to_these_tests() -> None:
    assert sorted(os.path.relpath(path, DEPLOY) for path in DEPLOY.rglob("*") if path.is_file()) == [
        "ci/fleet.yaml",
        "ci/gate.yaml",
        "ci/github.yaml",
        "ci/gitlab.yaml",
        "ci/promote.yaml",
        "ci/renovate.json",
        "dist.sh",
        "examples/application.yaml",
        "examples/applicationset.yaml",
        "examples/commit.yaml",
        "examples/cronjob.yaml",
        "examples/fleet-cronjob.yaml",
        "examples/git-config",
        "examples/hydrator.yaml",
        "examples/kargo.yaml",
        "examples/strategy.yaml",
        "health/argocd-cm.yaml",
        "health/kustomization.yaml",
        "kustomization.yaml",
        "plugin.yaml",
        "repo-server.yaml",
        "requirements/build.txt",
        "requirements/hook.txt",
        "requirements/release.txt",
        "requirements/runtime.txt",
    ]
