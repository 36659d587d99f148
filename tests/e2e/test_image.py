"""The image, built from the Dockerfile: Argo CD's cmp-server runs the plugin out of its files, as in the sidecar."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import grpc
import pytest
from rig.argocd.cmp_server import CmpServer, plugin_with
from rig.argocd.sidecar import Sidecar, declared_variables, new_sidecar, serving
from rig.builders.projects import at
from rig.deploy.image import Image, build_image
from rig.deploy.kustomize import TOP
from rig.git.repositories import git, new_repository, paths_in, save, serve
from rig.live.manifests import package_manifest
from rig.live.package_registry import PackageRegistry
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import Certificate, RecordingServer

from render import __version__
from render.cli.run import run
from render.limits import Limits
from render.system.files import LOCK_FILE
from render.yaml.documents import file_rules, parse_documents

Start: TypeAlias = Callable[..., tuple[Sidecar, CmpServer]]


@pytest.fixture(scope="module")
def image() -> Image:
    """The image of this clone."""
    return build_image()


@pytest.fixture(scope="module")
def config(image: Image) -> dict[str, Any]:
    """What the image says about how to run it."""
    command = ["skopeo", "inspect", "--config", f"oci-archive:{image.archive}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    value: dict[str, Any] = json.loads(done.stdout)["config"]
    return value


@pytest.fixture
def variables(config: dict[str, Any]) -> dict[str, str]:
    """The variables of the image, and those that the manifest adds or changes."""
    return dict(pair.split("=", 1) for pair in config["Env"]) | declared_variables()


@pytest.fixture
def registry(open_registry: RunningRegistry, tmp_path: Path) -> PackageRegistry:
    """A registry with a Configuration and the Provider that it depends on."""
    registry = PackageRegistry(open_registry.host, tmp_path / "packages")
    registry.publish("provider-nop v1.0.0", kind="Provider", crds=["nops.nop.example.org"])
    registry.publish("app v1.0.0", {"provider-nop": "^1.0"})
    return registry


@pytest.fixture
def repository(registry: PackageRegistry, tmp_path: Path) -> Path:
    """A repository whose folder `shop` asks for the Configuration, and is not locked."""
    root = new_repository(tmp_path / "repository")
    (root / "shop").mkdir()
    (root / "shop/app.yaml").write_text(package_manifest("Configuration", "app", f"{at('app')}:v1.0.0"))
    (root / "shop/registry.yaml").write_text(registry.image_config())
    save(root)
    return root


@pytest.fixture
def locked(repository: Path, registry: PackageRegistry, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same repository with a lock in it."""
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", registry.address)
    assert run(["-q", "lock", str(repository / "shop")]) == 0
    save(repository)
    return repository


@pytest.fixture
def rendered(locked: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> list[Any]:
    """What this clone renders, outside of the image."""
    capsysbinary.readouterr()
    assert run(["render", str(locked / "shop")]) == 0
    return parse_documents(capsysbinary.readouterr().out, file_rules(Limits()))


@pytest.fixture
def sidecar(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Sidecar:
    """A container of the image, with the volumes of the manifest."""
    # A socket's path has to be short.
    return new_sidecar(image.root, tmp_path_factory.mktemp("pod"))


@pytest.fixture
def start(
    image: Image, variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Start]:
    """Start the server of a sidecar, with other variables than usual if need be; an empty one is left out."""
    with ExitStack() as stack:

        def start_it(*, policy: str = "commit", **environ: str) -> tuple[Sidecar, CmpServer]:
            folder = tmp_path_factory.mktemp("pod")
            sidecar = new_sidecar(image.root, folder, plugin=plugin_with(folder, policy))
            whole = {name: value for name, value in {**variables, **environ}.items() if value}
            return sidecar, stack.enter_context(serving(sidecar, whole))

        yield start_it


def left_behind(sidecar: Sidecar) -> list[str]:
    """Return what finished calls left in the folder for temporary files, which the server has a folder in."""
    temporary = sidecar.volume("xplock-tmp")
    return sorted(
        str(path.relative_to(temporary)) for path in temporary.rglob("*") if path.name != "_cmp_server"
    )


@pytest.mark.parametrize("home", ["/tmp", ""], ids=["home", "no home"])
def test_argo_cd_gets_from_the_image_what_this_clone_renders(
    start: Start, locked: Path, rendered: list[Any], home: str
) -> None:
    sidecar, server = start(HOME=home)

    assert server.generate(locked, "shop") == rendered
    assert server.parameters(locked, "shop") == {"waves": "flat", "overlay": ""}
    assert left_behind(sidecar) == []


def test_the_image_resolves_with_a_real_registry_and_fills_its_cache(
    start: Start, locked: Path, rendered: list[Any], registry: PackageRegistry
) -> None:
    sidecar, server = start(policy="resolve", **registry.environ)

    objects = server.generate(locked, "shop", without=(".git", f"shop/{LOCK_FILE}"))

    assert objects == rendered
    assert any(sidecar.volume("xplock-cache").iterdir())
    assert left_behind(sidecar) == []


def test_the_image_commits_a_lock_over_https_with_its_own_git(
    start: Start,
    repository: Path,
    registry: PackageRegistry,
    certificate: Certificate,
    canary: str,
    tmp_path: Path,
) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "server.git")
    with RecordingServer(serve(tmp_path, f"x-access-token:{canary}"), certificate=certificate) as front:
        url = f"{front.url}/server.git"
        operator = {
            "XPLOCK_COMMIT_TO": f"{url}#main",
            "XPLOCK_GIT_TOKEN_FILE": "/etc/xplock/git/token",
            "XPLOCK_CA_BUNDLE": "/etc/xplock/git/ca.crt",
        }
        sidecar, server = start(**operator, **registry.environ)
        fill_secret(sidecar.volume("xplock-git"), token=canary, ca=certificate.file.read_text())
        asked = {
            "ARGOCD_APP_SOURCE_REPO_URL": url,
            "ARGOCD_APP_SOURCE_PATH": "shop",
            "ARGOCD_APP_SOURCE_TARGET_REVISION": "HEAD",
            "ARGOCD_APP_REVISION": git(repository, "rev-parse", "HEAD"),
        }

        with pytest.raises(grpc.RpcError) as caught:
            server.generate(repository, "shop", asked)

    tip = git(tmp_path / "server.git", "rev-parse", "main")
    shown = str(caught.value.details())
    assert shown.endswith(f"error: lock committed as {tip}; the next refresh renders it")
    assert paths_in(tmp_path / "server.git", "main") == [f"shop/{LOCK_FILE}"]
    assert left_behind(sidecar) == []


def fill_secret(volume: Path, *, token: str, ca: str) -> None:
    """Write the keys of Secret xplock-git."""
    files = {"config": (TOP / "deploy/examples/git-config").read_text(), "token": token, "ca.crt": ca}
    for name, text in files.items():
        (volume / name).write_text(text)


def test_the_image_says_how_it_is_run(config: dict[str, Any]) -> None:
    assert config["User"] == "999:999"
    assert config["Entrypoint"] == ["/usr/bin/tini", "--"]
    assert config["Cmd"] == ["xplock", "--help"]


def test_programs_of_the_image_run_as_its_user_who_has_a_name(
    sidecar: Sidecar, config: dict[str, Any], variables: dict[str, str]
) -> None:
    said = sidecar.run(*config["Entrypoint"], "xplock", "--version", environ=variables)
    whose = sidecar.run("id", environ=variables)
    programs = sidecar.run("sh", "-c", "git --version && ssh -V", environ=variables)

    assert said.stdout == f"xplock {__version__}\n", said.stderr
    assert whose.stdout == "uid=999(xplock) gid=999(xplock) groups=999(xplock)\n", whose.stderr
    assert programs.returncode == 0, programs.stderr


def test_its_user_can_write_to_volumes_alone(sidecar: Sidecar, variables: dict[str, str]) -> None:
    kernel = ("(", "-path", "/proc", "-o", "-path", "/dev", ")", "-prune")
    found = sidecar.run(
        "find", "/", *kernel, "-o", "-writable", "-not", "-type", "l", "-print", environ=variables
    )

    assert sorted(found.stdout.split()) == ["/home/argocd/cmp-server/plugins", "/tmp", "/var/cache/xplock"]


def test_no_module_is_compiled_when_it_starts(sidecar: Sidecar, variables: dict[str, str]) -> None:
    done = sidecar.run("python", "-v", "-m", "render", "plugin", "parameters", environ=variables)

    assert "/opt/xplock/lib/" in done.stderr
    assert re.findall(r"^# (?:wrote .*|code object from .*\.py'?)$", done.stderr, flags=re.MULTILINE) == []


def test_what_is_installed_is_what_the_requirements_lock(sidecar: Sidecar, variables: dict[str, str]) -> None:
    listing = "from importlib.metadata import *\nfor d in distributions(): print(d.name, d.version)"
    locked = re.findall(
        r"^([\w.-]+)==([^\s;]+)", (TOP / "deploy/requirements/runtime.txt").read_text(), re.MULTILINE
    )

    done = sidecar.run("python", "-I", "-c", listing, environ=variables)

    installed = {(normalized(name), version) for name, version in map(str.split, done.stdout.splitlines())}
    ours = {("xplock", __version__)}
    assert ours < installed
    assert installed - ours <= {(normalized(name), version) for name, version in locked}


def normalized(name: str) -> str:
    """Return a name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_nothing_of_the_machine_that_built_it_is_in_the_image(image: Image) -> None:
    root = image.root
    settings = [root / "etc/pip.conf", root / "etc/apt/apt.conf", root / "root/.config", root / "root/ca.crt"]
    searched = [root / name for name in ("etc", "opt", "home", "root")]
    texts = (path.read_bytes() for folder in searched for path in folder.rglob("*") if is_file(path))

    assert [path for path in settings if path.exists()] == []
    assert not any((root / "etc/apt/sources.list.d").glob("build*"))
    assert not any((root / "etc/apt/apt.conf.d").glob("90build*"))
    assert [list((root / name).iterdir()) for name in ("tmp", "mnt", "var/lib/apt/lists")] == [[], [], []]
    assert not any(os.fsencode(TOP) in text for text in texts)


def is_file(path: Path) -> bool:
    """Return whether something is a file of the image, and no link that leads out of it."""
    return path.is_file() and not path.is_symlink()
