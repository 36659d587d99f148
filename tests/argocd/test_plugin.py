"""xplock plugin: what Argo CD gets from it, in whatever surroundings it is called."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from rig.builders.projects import World, small_world
from rig.git.repositories import new_repository, save, start_xplock, write_program
from rig.registry.http_server import RecordingServer, answer, silence
from rig.time_limits import growing, written

from render.cli.run import run
from render.system.files import LOCK_FILE

SECONDS = 120
GENERATE = ("plugin", "generate")
ODD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\ndata:\n  text: größer als ✓\n"
MISSING = f"error: . has no {LOCK_FILE}\n  why:  nothing has been locked there yet\n"
ADVICE = "  next: run `xplock lock` in a clone, and commit what it writes\n"
HEAVY = ("urllib3", "git", "jinja2", "click", "yaml", "rich", "oras", "requests", "subprocess", "json")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem, in a repository: app, tool and old all need base."""
    return small_world(new_repository(tmp_path))


@pytest.fixture
def project(world: World) -> Path:
    """A folder whose lock is up to date: app and base, and an object of its own."""
    folder = world.project("shop", "app:v1.0.0")
    (folder / "odd.yaml").write_text(ODD)
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


@pytest.fixture
def unlocked(world: World) -> Path:
    """A folder that has never been locked."""
    return world.project("shop", "app:v1.0.0")


def call(
    folder: Path, *arguments: str, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command as a child, with its folder as the current one."""
    return subprocess.run(
        [sys.executable, "-m", "render", *arguments],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )


def generate(folder: Path, *arguments: str, **environ: str) -> tuple[int, str, str]:
    """Call the plugin and return how it ended."""
    done = call(folder, *GENERATE, *arguments, environ={**os.environ, **environ})
    return (done.returncode, done.stdout.decode(), done.stderr.decode())


def rendered(folder: Path) -> bytes:
    """Return what render writes."""
    done = call(folder, "render")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def parameters(*entries: Mapping[str, object]) -> str:
    """Return parameters as Argo CD hands them over."""
    return json.dumps(entries)


@pytest.mark.parametrize("policy", ["frozen", "resolve", "commit"])
def test_a_current_lock_renders_the_same_bytes_as_render_under_every_policy(
    project: Path, policy: str
) -> None:
    done = call(project, *GENERATE, "--lock-policy", policy)

    assert (done.returncode, done.stdout, done.stderr) == (0, rendered(project), b"")
    assert done.stdout.startswith(b"---\n")


def test_surroundings_change_no_byte(project: Path, tmp_path: Path) -> None:
    bare = {"PATH": os.environ["PATH"]}
    surroundings = [
        bare,
        bare | {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
        bare | {"LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        bare | {"KUBE_VERSION": "", "KUBE_API_VERSIONS": ""},
        bare | {"KUBE_VERSION": "1.34.0", "KUBE_API_VERSIONS": "v1,pkg.crossplane.io/v1/Provider"},
        bare | {"ARGOCD_APP_NAME": "ns_shop", "ARGOCD_APP_REVISION": "streamed"},
        bare | {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": ""},
        {"PATH": str(tmp_path / "nothing")},
    ]

    outputs = {call(project, *GENERATE, environ=environ).stdout for environ in surroundings}

    assert outputs == {rendered(project)}


@pytest.mark.parametrize("policy", ["frozen", "resolve", "commit"])
def test_a_lock_is_enough_where_nothing_else_of_the_repository_is(
    world: World, policy: str, tmp_path: Path
) -> None:
    platform = world.project("platform", "base:v1.0.0")
    folder = world.project("shop", "app:v1.0.0", more="uses: [../platform]\n")
    assert run(["-q", "lock", str(platform), str(folder)]) == 0
    expected = rendered(folder)
    alone = tmp_path / "alone/shop"
    shutil.copytree(folder, alone)
    shutil.rmtree(world.layout)

    assert generate(alone, "--lock-policy", policy) == (0, expected.decode(), "")
    assert rendered(alone) == expected


@pytest.mark.parametrize(
    ("command", "code"), [(GENERATE, 1), (("plugin", "parameters"), 1), (("render",), 0)]
)
def test_manifests_that_nobody_reads_are_no_success(
    project: Path, command: tuple[str, ...], code: int
) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run(
        [sys.executable, "-m", "render", *command],
        cwd=project,
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    os.close(writing)
    assert done.returncode == code
    assert done.stderr.startswith(
        "error: stdout was closed before all manifests were written\n" if code else ""
    )
    assert "Traceback" not in done.stderr


def test_a_folder_that_nobody_can_write_is_rendered(project: Path) -> None:
    expected = rendered(project)
    for path in (*project.iterdir(), project):
        path.chmod(path.stat().st_mode & ~0o222)

    done = call(project, *GENERATE)

    project.chmod(0o755)
    assert (done.returncode, done.stdout) == (0, expected)


def test_nothing_is_written_beside_the_files_that_were_there(unlocked: Path) -> None:
    before = sorted(unlocked.iterdir())

    generate(unlocked, "--lock-policy", "resolve")

    assert sorted(unlocked.iterdir()) == before


def test_with_a_current_lock_nothing_is_imported_that_only_resolving_needs(project: Path) -> None:
    code = (
        "import sys; from render.cli.run import run; code = run(['plugin', 'generate', '--lock-policy', 'commit']); "
        "sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in sys.modules}))); sys.exit(code)"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, timeout=SECONDS)

    assert done.returncode == 0
    assert set(done.stderr.decode().split()) & {*HEAVY} == set()


@pytest.mark.parametrize("policy", [[], ["--lock-policy", "frozen"], ["--lock-policy=frozen"]])
def test_a_missing_lock_is_an_error_that_says_what_to_run(unlocked: Path, policy: list[str]) -> None:
    assert generate(unlocked, *policy) == (3, "", MISSING + ADVICE)


def test_a_lock_that_is_out_of_date_names_the_input(world: World, project: Path) -> None:
    world.project("shop", "app:v2.0.0")

    code, out, err = generate(project, ARGOCD_APP_SOURCE_PATH="clusters/shop")

    assert (code, out) == (3, "")
    assert err.splitlines()[0] == f"error: {LOCK_FILE} is out of date"
    assert "xpkg.example.org/acme/app changed" in err
    assert err.endswith("  next: run `xplock lock clusters/shop` in a clone, and commit what it writes\n")


def _broken_lock(folder: Path) -> None:
    (folder / LOCK_FILE).write_text("kind: Lock\n")


def _conflict(folder: Path) -> None:
    text = (folder / LOCK_FILE).read_text()
    (folder / LOCK_FILE).write_text(f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n")


def _nothing_asked(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def _broken_input(folder: Path) -> None:
    (folder / "odd.yaml").write_text("a: [")


def _lock_is_a_pipe(folder: Path) -> None:
    (folder / LOCK_FILE).unlink()
    os.mkfifo(folder / LOCK_FILE)


BREAK: tuple[Callable[[Path], None], ...] = (
    _broken_lock,
    _conflict,
    _nothing_asked,
    _broken_input,
    _lock_is_a_pipe,
)


@pytest.mark.parametrize("policy", ["frozen", "resolve", "commit"])
@pytest.mark.parametrize("break_it", BREAK)
def test_whatever_fails_has_no_output_and_the_same_short_text_every_time(
    project: Path, break_it: Callable[[Path], None], policy: str
) -> None:
    break_it(project)

    first, second = (generate(project, "--lock-policy", policy) for _ in range(2))

    assert first == second
    assert first[0] in (1, 2, 3)
    assert first[1] == ""
    assert first[2].startswith("error: ")
    assert "Traceback" not in first[2]
    assert str(project) not in first[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["generat"],
        ["generate", "--lock-policy", "thaw"],
        ["generate", "--lock-policy"],
        ["generate", "--lock-policy="],
        ["generate", "--quiet"],
        ["generate", "folder"],
        ["parameters", "more"],
    ],
)
def test_a_plugin_yaml_that_is_wrong_is_told(project: Path, arguments: list[str]) -> None:
    done = call(project, "plugin", *arguments)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"error: the plugin is called in a wrong way\n")


def test_resolve_renders_what_it_would_lock(unlocked: Path) -> None:
    code, out, _ = generate(unlocked, "--lock-policy", "resolve")

    assert not (unlocked / LOCK_FILE).exists()
    assert run(["-q", "lock", str(unlocked)]) == 0
    assert (code, out.encode()) == (0, rendered(unlocked))


def test_resolve_starts_from_the_lock_that_is_there(world: World, project: Path) -> None:
    world.publish("base v1.2.0")
    world.project("shop", "app:v1.0.0", "tool:v1.0.0")

    _, out, _ = generate(project, "--lock-policy", "resolve")

    assert "acme/tool:v1.0.0" in out
    assert "acme/base:v1.1.0" in out
    assert "acme/base:v1.2.0" not in out


def test_the_sidecars_environment_may_name_the_policy(unlocked: Path) -> None:
    code, out, _ = generate(unlocked, XPLOCK_LOCK_POLICY="resolve")

    assert code == 0
    assert "acme/app:v1.0.0" in out


def test_an_argument_wins_over_the_environment(unlocked: Path) -> None:
    done = generate(unlocked, "--lock-policy", "frozen", XPLOCK_LOCK_POLICY="resolve")

    assert done == (3, "", MISSING + ADVICE)


@pytest.mark.parametrize("prefix", ["ARGOCD_ENV_", "PARAM_"])
def test_a_tenant_has_no_say_in_the_lock_policy(unlocked: Path, prefix: str) -> None:
    tenant = {f"{prefix}{name}": "resolve" for name in ("XPLOCK_LOCK_POLICY", "LOCK_POLICY")}

    assert generate(unlocked, **tenant) == (3, "", MISSING + ADVICE)


def test_a_tenant_has_no_say_in_the_deadline_and_the_limits(project: Path) -> None:
    nonsense = dict.fromkeys(("XPLOCK_DEADLINE", "XPLOCK_LIMIT_FILES"), "nonsense")
    tenant = {f"ARGOCD_ENV_{name}": text for name, text in nonsense.items()}

    assert generate(project, **tenant) == (0, rendered(project).decode(), "")
    # The same from the operator would not have been overlooked.
    assert [generate(project, **{name: text})[0] for name, text in nonsense.items()] == [2, 2]


def test_a_tenant_cannot_allow_plain_http_or_name_a_cache(world: World, tmp_path: Path) -> None:
    with RecordingServer(silence()) as server:
        folder = asks_registry(world, server.host)
        tenant = {
            "ARGOCD_ENV_XPLOCK_PLAIN_HTTP": server.host,
            "ARGOCD_ENV_XPLOCK_CACHE_DIR": str(tmp_path / "cache"),
        }

        code, out, _ = generate(
            folder, "--lock-policy", "resolve", XPLOCK_DEADLINE="2", XPLOCK_CACHE_DIR="", **tenant
        )

        assert server.requests == ()

    assert (code, out) == (1, "")
    assert not (tmp_path / "cache").exists()


def asks_registry(world: World, host: str) -> Path:
    """Write a project that asks a registry for a package."""
    folder = world.folder / "asking"
    folder.mkdir(exist_ok=True)
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {host}/acme/app:v1.0.0\n")
    return folder


def wait_for_registry(world: World, host: str, seconds: float) -> tuple[int, str, str]:
    """Call the plugin for a folder that needs a registry which never answers."""
    folder = asks_registry(world, host)
    operator = {"XPLOCK_DEADLINE": f"{seconds:g}", "XPLOCK_PLAIN_HTTP": host}
    return generate(folder, "--lock-policy", "resolve", **operator)


def late(host: str, seconds: float) -> str:
    """Return what is said of a registry that does not answer in time."""
    return f"out of time after {seconds:g} seconds, waiting for {host}: its answer takes too long"


def test_a_registry_that_hangs_is_named_before_the_time_is_up(world: World) -> None:
    with RecordingServer(silence()) as server:
        host = server.host
        for seconds in growing(6, until=lambda: bool(server.requests)):
            code, out, err = wait_for_registry(world, host, seconds)

    # The plugin keeps some of the time for the error itself.
    assert (code, out) == (1, "")
    assert err.splitlines()[0] == f"error: {late(host, max(seconds / 2, seconds - 5))}"
    assert err.count("error:") == 1


def test_however_short_the_time_is_there_is_one_clear_error(world: World) -> None:
    with RecordingServer(silence()) as server:
        host = server.host
        code, out, err = wait_for_registry(world, host, 1)

    # So little time may be up before the registry is asked, or before that is even tried.
    unasked = f"out of time after 0.5 seconds, waiting for {host}"
    possible = (late(host, 0.5), unasked, "no manifests after 1 seconds")
    assert (code, out) == (1, "")
    assert err.splitlines()[0] in [f"error: {text}" for text in possible]
    assert err.count("error:") == 1


def hanging_kustomize(folder: Path) -> str:
    """Return a PATH with a kustomize that says who it is and never ends."""
    write_program(
        folder / "bin/kustomize", f"#!/bin/sh\necho $$ > {folder}/pid\nexec {shutil.which('sleep')} 600\n"
    )
    return f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


def test_a_program_that_hangs_is_ended_when_the_time_is_up(project: Path, tmp_path: Path) -> None:
    (project / "kustomization.yaml").write_text("resources: [odd.yaml]\n")

    pid, path = tmp_path / "pid", hanging_kustomize(tmp_path)

    for seconds in growing(2, until=written(pid)):
        code, out, err = generate(project, XPLOCK_DEADLINE=f"{seconds:g}", PATH=path)

    assert (code, out) == (1, "")
    assert err.splitlines()[0] == f"error: no manifests after {seconds:g} seconds"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("text", ["nonsense", "0", "-1", "nan", "inf"])
def test_a_deadline_that_is_no_number_is_told(project: Path, text: str) -> None:
    code, out, err = generate(project, XPLOCK_DEADLINE=text)

    assert (code, out) == (2, "")
    assert err.startswith(f"error: XPLOCK_DEADLINE={text} is not a time\n")


def test_who_is_asked_to_stop_says_so_and_leaves(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(silence()) as server:
        monkeypatch.chdir(asks_registry(world, server.host))
        plugin = start_xplock(
            *GENERATE, "--lock-policy", "resolve", environ={"XPLOCK_PLAIN_HTTP": server.host}
        )
        server.wait_for(1)

        plugin.send_signal(signal.SIGTERM)
        # Less than its own deadline, which would end it, too.
        out, err = plugin.communicate(timeout=SECONDS / 3)

    assert (plugin.returncode, out) == (1, b"")
    assert err == b"error: stopped before the manifests were ready\n"


def test_parameters_win_over_the_applications_env_and_that_over_the_sidecars(project: Path) -> None:
    flat, graph = generate(project)[1], generate(project, XPLOCK_WAVES="graph")[1]
    chosen = parameters({"name": "waves", "string": "flat"})

    assert flat != graph
    assert generate(project, XPLOCK_WAVES="flat", ARGOCD_ENV_XPLOCK_WAVES="graph")[1] == graph
    assert generate(project, ARGOCD_APP_PARAMETERS="null", XPLOCK_WAVES="graph")[1] == graph
    assert generate(project, ARGOCD_APP_PARAMETERS=chosen, ARGOCD_ENV_XPLOCK_WAVES="graph")[1] == flat


def test_bad_parameters_are_told_and_nothing_is_rendered(project: Path) -> None:
    bad = parameters({"name": "waves", "string": "tidal"})

    code, out, err = generate(project, ARGOCD_APP_PARAMETERS=bad)

    assert (code, out) == (2, "")
    assert "waves: expected flat or graph, found 'tidal'" in err


def test_parameters_are_announced_with_the_values_that_hold(project: Path) -> None:
    with (project / "xplock.yaml").open("a") as file:
        file.write("waves: graph\n")

    done = call(project, "plugin", "parameters")

    announced = {entry["name"]: entry for entry in json.loads(done.stdout)}
    assert (done.returncode, done.stderr) == (0, b"")
    assert announced["waves"]["string"] == "graph"
    assert {entry["collectionType"] for entry in announced.values()} == {"string"}


@pytest.mark.parametrize(("broken", "waves"), [("odd.yaml", "graph"), ("xplock.yaml", "flat")])
def test_parameters_are_announced_for_a_folder_that_is_broken(project: Path, broken: str, waves: str) -> None:
    with (project / "xplock.yaml").open("a") as file:
        file.write("waves: graph\n")
    (project / broken).write_text("a: [")

    done = call(project, "plugin", "parameters")

    announced = [(entry["name"], entry["string"]) for entry in json.loads(done.stdout)]
    assert (done.returncode, done.stderr) == (0, b"")
    assert announced == [("waves", waves), ("overlay", "")]


def test_parameters_are_announced_without_building_anything(project: Path, tmp_path: Path) -> None:
    (project / "kustomization.yaml").write_text("resources: [odd.yaml]\n")
    path = hanging_kustomize(tmp_path)

    done = call(project, "plugin", "parameters", environ={**os.environ, "PATH": path})

    assert (done.returncode, done.stderr) == (0, b"")
    assert not (tmp_path / "pid").exists()


def test_what_the_operator_chose_for_everybody_is_announced(project: Path) -> None:
    operator = {"XPLOCK_WAVES": "graph", "XPLOCK_OVERLAY": "overlays/usual"}

    done = call(project, "plugin", "parameters", environ={**os.environ, **operator})

    announced = {entry["name"]: entry["string"] for entry in json.loads(done.stdout)}
    assert announced == {"waves": "graph", "overlay": "overlays/usual"}


def test_git_is_not_asked_while_the_lock_is_current(project: Path, tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "repository")
    shutil.copytree(project, repository / "shop")
    save(repository)
    (repository / ".git/config").write_text("[nonsense\n")

    assert generate(repository / "shop") == (0, rendered(project).decode(), "")


def test_an_error_stands_alone_whatever_was_odd_on_the_way(world: World, tmp_path: Path) -> None:
    refusal = answer(401, headers={"WWW-Authenticate": 'Basic realm="us"'})
    with RecordingServer(refusal) as server:
        folder = asks_registry(world, server.host)
        # Everybody can read it, which is worth a warning elsewhere.
        config = {"auths": {server.host: {"auth": "cm9iaW46cm9iaW4="}}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        (tmp_path / "config.json").chmod(0o644)
        operator = {"XPLOCK_PLAIN_HTTP": server.host, "DOCKER_CONFIG": str(tmp_path)}

        code, out, err = generate(folder, "--lock-policy", "resolve", **operator)

    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert "warning: " not in err


def test_who_has_an_error_to_tell_is_not_interrupted_by_the_end_of_the_time(unlocked: Path) -> None:
    code = (
        "import os, signal\nfrom render.errors import RenderError\nfrom render.cli.output import Output\n"
        "from render.argocd.plugin import run_plugin\n"
        "try:\n    run_plugin(['generate'], os.environ, Output())\n"
        "except RenderError:\n"
        "    print(signal.getitimer(signal.ITIMER_REAL)[0], signal.getsignal(signal.SIGTERM).name)\n"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=unlocked, capture_output=True, timeout=SECONDS)

    assert done.stdout == b"0.0 SIG_DFL\n"
