"""The plugin in hostile and broken surroundings of Argo CD."""

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rig.builders.projects import World, at, small_world
from rig.commands.run import Outcome, files_below
from rig.deploy.kustomize import parsed
from rig.git.repositories import git, new_repository, save, write_program
from rig.registry.client import logins
from rig.registry.http_server import RecordingServer, drip, make_certificate
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package, challenged
from rig.time_limits import growing

from render.cli.run import run
from render.system.files import LOCK_FILE

SECONDS = 120
ODD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: odd\ndata:\n  text: größer als ✓\n"
NOISE = (
    "import atexit, logging, warnings\n"
    "def shout():\n    warnings.warn('old', DeprecationWarning)\n    logging.warning('a log line')\n"
    "shout()\natexit.register(shout)\n"
)
# A read-only root, no folder for temporary files, and a user without a name.
_MAKE_BARREN = """
for place in / /tmp /var/tmp /dev/shm; do
    if [ "$place" = / ] || mountpoint -q "$place"; then mount -o bind,remount,ro "$place" || exit 99; fi
done
exec unshare --user --map-user=54321 --map-group=54321 -- "$@"
"""
BARREN = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _MAKE_BARREN, "sh")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A small ecosystem, in what Argo CD sent of a repository: app, tool and old all need base."""
    return small_world(tmp_path / "repository")


@pytest.fixture
def project(world: World) -> Path:
    """A folder whose lock is up to date: app and base, and an object of its own."""
    folder = world.project("shop", "app:v1.0.0")
    (folder / "odd.yaml").write_text(ODD)
    assert run(["-q", "lock", str(folder)]) == 0
    return folder


PLUGIN = (sys.executable, "-m", "render", "plugin", "generate")
RESOLVE = (sys.executable, "-m", "render", "render", "--resolve")


def call(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> Outcome:
    """Run a program in a folder as Argo CD does, with an environment of its own."""
    done = subprocess.run(
        command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def generate(folder: Path, *arguments: str, **environ: str) -> Outcome:
    """Call the plugin; the environment is the sidecar's."""
    return call([*PLUGIN, *arguments], folder, {**os.environ, **environ})


def resolve(folder: Path, host: str, **more: str) -> Outcome:
    """Have a folder without a lock rendered, from a registry that may be asked without TLS."""
    return generate(folder, "--lock-policy", "resolve", XPLOCK_PLAIN_HTTP=host, **more)


def add_setting(folder: Path, line: str) -> None:
    """Write one more setting into the settings of a project."""
    with (folder / "xplock.yaml").open("a") as settings:
        settings.write(f"{line}\n")


def asking(folder: Path, host: str, *names: str) -> Path:
    """Write a project that asks a registry for packages."""
    folder.mkdir(parents=True)
    listed = "".join(f"  - package: {host}/{name}:v1.0.0\n" for name in names or ("some/name",))
    (folder / "xplock.yaml").write_text(f"roots:\n{listed}")
    return folder


# What libraries and kustomize write


def test_output_of_libraries_and_kustomize_stays_out_of_the_manifests(project: Path, tmp_path: Path) -> None:
    (project / "kustomization.yaml").write_text("resources: [odd.yaml]\ncommonLabels: {a: b}\n")
    (project / "over").mkdir()
    (project / "over/kustomization.yaml").write_text("commonLabels: {c: d}\n")
    add_setting(project, "overlay: over")
    (tmp_path / "noisy").mkdir()
    (tmp_path / "noisy/sitecustomize.py").write_text(NOISE)
    quiet = generate(project)

    noisy = generate(project, PYTHONWARNINGS="always", PYTHONPATH=str(tmp_path / "noisy"))

    assert (quiet.code, quiet.stderr, noisy.code) == (0, "", 0)
    assert noisy.stdout == quiet.stdout
    # The noise was there: Python's own, and that of kustomize, which calls each label deprecated.
    assert "DeprecationWarning: old" in noisy.stderr
    assert "a log line" in noisy.stderr
    assert {"a", "c"} <= parsed(quiet.stdout.encode())[-1]["metadata"]["labels"].keys()
    done = subprocess.run(["kubectl", "kustomize", project], capture_output=True, check=True, timeout=SECONDS)
    assert b"deprecated" in done.stderr


@pytest.mark.parametrize(
    "locale",
    [
        {"LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1:strict", "TZ": "Asia/Tokyo"},
    ],
)
def test_no_locale_changes_a_byte(project: Path, locale: dict[str, str]) -> None:
    expected = generate(project, LC_ALL="C.UTF-8", PYTHONUTF8="1")

    done = generate(project, **locale)

    assert done == expected
    assert "größer als ✓" in str(parsed(done.stdout.encode())[-1])


# Folders that ask for nothing


def _nothing(_: Path) -> None:
    """An empty folder."""


def _comments(folder: Path) -> None:
    (folder / "a.yaml").write_text("# nothing yet\n---\n")


def _no_roots(folder: Path) -> None:
    (folder / "xplock.yaml").write_text("roots: []\n")


def _other_objects(folder: Path) -> None:
    (folder / "odd.yaml").write_text(ODD)


def _a_lock_alone(folder: Path) -> None:
    shutil.copy(small_lock(folder.parent), folder)


def small_lock(folder: Path) -> Path:
    """Return a lock that holds something."""
    locked = small_world(folder / "elsewhere").project("locked", "app:v1.0.0")
    assert run(["-q", "lock", str(locked)]) == 0
    return locked / LOCK_FILE


@pytest.mark.parametrize("policy", ["frozen", "resolve", "commit"])
@pytest.mark.parametrize("fill", [_nothing, _comments, _no_roots, _other_objects])
def test_a_folder_that_asks_for_nothing_is_an_error_and_never_an_empty_set(
    fill: Callable[[Path], None], policy: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    fill(tmp_path / "folder")

    done = generate(tmp_path / "folder", "--lock-policy", policy)

    done.assert_refused(2, "asks for no package")


@pytest.mark.parametrize("policy", ["frozen", "commit"])
def test_a_lock_alone_is_out_of_date(policy: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    _a_lock_alone(tmp_path / "folder")

    done = generate(tmp_path / "folder", "--lock-policy", policy)

    done.assert_refused(3, f"root {at('app')} was removed")


def test_a_lock_alone_is_resolved_to_packages_that_are_leaving(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    _a_lock_alone(tmp_path / "folder")

    done = generate(tmp_path / "folder", "--lock-policy", "resolve")

    packages = [value for value in parsed(done.stdout.encode()) if value["kind"] == "Configuration"]
    assert (done.code, len(packages)) == (0, 2)
    assert all("Prune=false" in str(value["metadata"]["annotations"]) for value in packages)


@pytest.mark.parametrize("policy", ["frozen", "resolve", "commit"])
def test_a_folder_whose_last_package_is_gone_is_an_error_and_never_an_empty_set(
    policy: str, tmp_path: Path
) -> None:
    folder = small_world(tmp_path).project("folder", "app:v1.0.0", more="guard: false\n")
    assert run(["-q", "lock", str(folder)]) == 0
    (folder / "xplock.yaml").write_text("guard: false\n")
    assert run(["-q", "lock", str(folder)]) == 0

    done = generate(folder, "--lock-policy", policy)

    done.assert_refused(2, "error: . has nothing to render")


# Time


def test_a_registry_that_takes_for_ever_is_named_before_argo_cd_gives_up(tmp_path: Path) -> None:
    with RecordingServer(drip(b" " * 10_000, 0.2)) as server:
        folder = asking(tmp_path / "folder", server.host)

        for seconds in growing(8, until=lambda: bool(server.requests)):
            done = resolve(folder, server.host, XPLOCK_DEADLINE=f"{seconds:g}")

        done.assert_refused(1, server.host)
    assert done.stderr.startswith(f"error: out of time after {max(seconds / 2, seconds - 5):g} seconds, ")


def test_without_a_setting_the_time_is_less_than_what_argo_cd_gives(project: Path, tmp_path: Path) -> None:
    (tmp_path / "watched").mkdir()
    (tmp_path / "watched/sitecustomize.py").write_text(
        "import signal, sys\nreal = signal.setitimer\n"
        "def setitimer(which, seconds):\n    sys.stderr.write(f'{seconds:g}\\n')\n    return real(which, seconds)\n"
        "signal.setitimer = setitimer\n"
    )

    done = generate(project, PYTHONPATH=str(tmp_path / "watched"))

    # Set when it starts, and taken back before the first byte is written.
    assert (done.code, done.stderr.split()) == (0, ["50", "0"])


# Settings of the operator

TENANT = {
    "XPLOCK_LOCK_POLICY": "thaw",
    "XPLOCK_DEADLINE": "soon",
    "XPLOCK_PLAIN_HTTP": "http://registry.example",
    "XPLOCK_TRUSTED_REALMS": "auth.example",
    "XPLOCK_ALLOWED_REGISTRIES": "registry.example",
    "XPLOCK_CACHE_DIR": "/dev/null/cache",
    "XPLOCK_LIMIT_FILES": "few",
    "HTTP_PROXY": "http://127.0.0.1:1",
}


@pytest.mark.parametrize("prefix", ["ARGOCD_ENV_", "PARAM_"])
def test_nothing_that_an_application_sets_is_a_setting_of_the_operator(prefix: str, tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        add_package(mini)
        folder = asking(tmp_path / "folder", mini.host)
        policy = {"XPLOCK_LOCK_POLICY": "resolve", "XPLOCK_PLAIN_HTTP": mini.host}
        expected = generate(folder, **policy)
        asked = len(mini.requests)
        shutil.rmtree(os.environ["XDG_CACHE_HOME"])

        done = generate(folder, **policy, **{f"{prefix}{name}": text for name, text in TENANT.items()})

        assert len(mini.requests) == 2 * asked
    assert done == expected
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("name", sorted(TENANT))
def test_the_same_text_from_the_operator_would_have_made_a_difference(name: str, tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        add_package(mini)
        folder = asking(tmp_path / "folder", mini.host)
        operator = {"XPLOCK_LOCK_POLICY": "resolve", "XPLOCK_PLAIN_HTTP": mini.host, name: TENANT[name]}

        done = generate(folder, XPLOCK_LIMIT_ATTEMPTS="1", **operator)

    assert done.stderr != ""


@pytest.mark.parametrize(("prefix", "code"), [("", 0), ("ARGOCD_ENV_", 1), ("PARAM_", 1)])
def test_only_the_operator_sets_certificate_authorities(prefix: str, code: int, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path / "certificate")
    with MiniRegistry(certificate=certificate) as mini:
        add_package(mini)
        folder = asking(tmp_path / "folder", mini.host)
        chosen = {f"{prefix}{name}": str(certificate.file) for name in ("XPLOCK_CA_BUNDLE", "SSL_CERT_FILE")}
        chosen["XPLOCK_ALLOWED_REGISTRIES"] = mini.host

        done = generate(folder, "--lock-policy", "resolve", **chosen)

        assert (done.code, bool(mini.requests)) == (code, not code)


@pytest.mark.parametrize(("prefix", "code"), [("", 0), ("ARGOCD_ENV_", 1), ("PARAM_", 1)])
def test_only_the_operator_sets_credentials(prefix: str, code: int, tmp_path: Path, canary: str) -> None:
    basic = f"Basic {base64.b64encode(f'robin:{canary}'.encode()).decode()}"
    with MiniRegistry() as mini, RecordingServer(challenged(mini, "Basic realm=x", basic)) as server:
        add_package(mini)
        folder = asking(tmp_path / "folder", server.host)
        chosen = {f"{prefix}{name}": text for name, text in logins({server.host: canary}).items()}

        done = resolve(folder, server.host, **chosen)

        assert (done.code, server.saw(canary)) == (code, not code)


@pytest.mark.parametrize("name", ["plainHttp", "allowedRegistries", "deadline", "cacheDir", "commitTo"])
def test_the_repository_cannot_set_them_either(name: str, project: Path) -> None:
    add_setting(project, f"{name}: registry.example")

    generate(project).assert_refused(2, name)


# A shared cache


def test_calls_at_once_on_a_cold_cache_all_get_the_same(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        names = [f"acme/p{number}" for number in range(5)]
        for name in names:
            add_package(mini, name, name=name.replace("/", "-"))
        folder = asking(tmp_path / "folder", mini.host, *names)

        with ThreadPoolExecutor(8) as pool:
            calls = [
                pool.submit(resolve, folder, mini.host, XPLOCK_CACHE_DIR=str(tmp_path / "cache"))
                for _ in range(8)
            ]
            outcomes = {call.result() for call in calls}

        assert outcomes == {resolve(folder, mini.host, XPLOCK_CACHE_DIR="")}
    [outcome] = outcomes
    assert (outcome.code, outcome.stderr) == (0, "")
    assert [path for path in files_below(tmp_path / "cache") if path.name.startswith("tmp-")] == []


def test_a_flipped_byte_in_the_cache_changes_nothing_and_costs_a_request_at_most(tmp_path: Path) -> None:
    with MiniRegistry() as mini:
        package = add_package(mini)
        folder, cache = asking(tmp_path / "folder", mini.host), tmp_path / "cache"
        cold = resolve(folder, mini.host, XPLOCK_CACHE_DIR=str(cache))
        mini.server.forget()
        resolve(folder, mini.host, XPLOCK_CACHE_DIR=str(cache))
        warm = len(mini.requests)
        whole = {path: path.read_bytes() for path in files_below(cache)}

        more = {}
        for path, data in whole.items():
            # Without what was worked out from it, so that the bytes themselves are asked for.
            shutil.rmtree(cache / "facts", ignore_errors="facts" not in path.parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
            mini.server.forget()
            assert resolve(folder, mini.host, XPLOCK_CACHE_DIR=str(cache)) == cold
            more[path.name] = len(mini.requests) - warm
            assert path.read_bytes() == data

    assert cold.code == 0
    assert more[package.layer["digest"].removeprefix("sha256:")] == 1
    assert set(more.values()) <= {0, 1}


# Repositories


def test_without_git_and_without_a_repository_a_lock_is_rendered(project: Path, tmp_path: Path) -> None:
    expected = generate(project)
    (tmp_path / "bin").mkdir()

    done = call([*PLUGIN, "--lock-policy", "commit"], project, {"PATH": str(tmp_path / "bin")})

    assert done == expected
    assert (done.code, done.stderr) == (0, "")


def test_a_lock_is_rendered_in_a_repository_that_git_would_refuse(project: Path, tmp_path: Path) -> None:
    repository = new_repository(tmp_path / "refused")
    shutil.copytree(project, repository / "shop")
    save(repository)
    (repository / ".git/config").write_text("[nonsense\n")

    assert generate(repository / "shop", "--lock-policy", "commit") == generate(project)


def _no_repository(_: Path) -> None:
    """A part of a repository, without what git knows."""


def _empty_repository(folder: Path) -> None:
    (folder / ".git").mkdir()


def _dangling_repository(folder: Path) -> None:
    (folder / ".git").write_text("gitdir: /nowhere/.git/worktrees/shop\n")


def _damaged_repository(folder: Path) -> None:
    new_repository(folder)
    save(folder)
    (folder / ".git/config").write_text("[nonsense\n")


@pytest.mark.parametrize(
    "leave", [_no_repository, _empty_repository, _dangling_repository, _damaged_repository]
)
@pytest.mark.parametrize("git", ["with git", "without git"])
@pytest.mark.parametrize(
    "command", [[*PLUGIN, "--lock-policy", "resolve"], RESOLVE], ids=["plugin", "render"]
)
def test_packages_are_resolved_in_any_remains_of_a_repository(
    world: World, command: Sequence[str], git: str, leave: Callable[[Path], None], tmp_path: Path
) -> None:
    folder = world.project("shop", "app:v1.0.0")
    leave(folder.parent)
    (tmp_path / "bin").mkdir()
    path = os.environ["PATH"] if git == "with git" else str(tmp_path / "bin")

    done = call(command, folder, {**os.environ, "PATH": path, "ARGOCD_APP_SOURCE_PATH": "shop"})

    assert (done.code, done.stderr) == (0, "")
    assert "xpkg.example.org/acme/app:v1.0.0" in done.stdout
    assert not (folder / LOCK_FILE).exists()


@pytest.mark.parametrize(
    "command", [[*PLUGIN, "--lock-policy", "resolve"], RESOLVE], ids=["plugin", "render"]
)
@pytest.mark.parametrize("missing", ["HEAD", "HEAD^{tree}"])
def test_a_repository_that_lacks_something_does_not_say_how_to_get_it(
    world: World, missing: str, command: Sequence[str], tmp_path: Path
) -> None:
    folder = world.project("shop", "app:v1.0.0")
    root, canary = new_repository(folder.parent), tmp_path / "canary"
    save(root)
    # Uploaded files can include a repository: here a partial clone, and a program that completes it.
    write_program(tmp_path / "program", f"#!/bin/sh\ntouch {canary}\n")
    lost = git(root, "rev-parse", missing)
    (root / f".git/objects/{lost[:2]}/{lost[2:]}").unlink()
    with (root / ".git/config").open("a") as file:
        file.write("[core]\nrepositoryFormatVersion = 1\n[extensions]\npartialClone = origin\n")
        file.write(f'[remote "origin"]\nurl = file://{tmp_path}\nuploadPack = {tmp_path}/program\n')

    done = call(command, folder, os.environ)

    assert not canary.exists()
    assert (done.code, done.stderr) == (0, "")
    git(root, "cat-file", "-t", lost, check=False)
    assert canary.exists()


def barren(folder: Path, *arguments: str, **environ: str) -> Outcome:
    """Call the plugin where nothing can be written, for a user without a name, with nothing set."""
    return call([*BARREN, *PLUGIN, *arguments], folder, {"PATH": os.environ["PATH"], **environ})


def test_nothing_can_be_written_where_these_tests_say_so(tmp_path: Path) -> None:
    found = (
        "import os, pwd, tempfile\n"
        "for question in (lambda: pwd.getpwuid(os.getuid()), tempfile.gettempdir, lambda: open('here', 'w')):\n"
        "    try:\n        print(question())\n    except Exception as error:\n        print(type(error).__name__)\n"
    )

    done = call([*BARREN, sys.executable, "-c", found], tmp_path, {"PATH": os.environ["PATH"]})

    assert (done.stdout.split(), done.stderr) == (["KeyError", "FileNotFoundError", "OSError"], "")


def test_where_nothing_can_be_written_a_lock_is_rendered(project: Path) -> None:
    expected = generate(project)

    done = barren(project, "--lock-policy", "commit", XPLOCK_CACHE_DIR=str(project / "cache"))

    assert done == expected
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("cache", ["unset", "unwritable"])
def test_where_nothing_can_be_written_packages_are_resolved_with_one_warning(
    cache: str, tmp_path: Path
) -> None:
    with MiniRegistry() as mini:
        for number in range(3):
            add_package(mini, f"acme/p{number}", name=f"p{number}")
        folder = asking(tmp_path / "folder", mini.host, *(f"acme/p{number}" for number in range(3)))
        expected = resolve(folder, mini.host, XPLOCK_CACHE_DIR="")
        named = {} if cache == "unset" else {"XPLOCK_CACHE_DIR": str(tmp_path / "cache")}

        done = barren(folder, "--lock-policy", "resolve", XPLOCK_PLAIN_HTTP=mini.host, **named)

    assert (done.code, done.stdout) == (0, expected.stdout)
    [warning] = done.stderr.splitlines()
    assert warning.startswith("warning: nothing is cached" if cache == "unset" else "warning: the cache in ")
