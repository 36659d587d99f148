"""A repository under `resolve` or `commit` names no path outside of itself, and no host inside the operator's network.

Nothing may be learned about such a path or host: the error is the same whether it exists or not.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from rig.argocd.plugin_calls import Fleet
from rig.builders.projects import World, small_world
from rig.commands.run import Outcome, run_command
from rig.git.repositories import new_repository, paths_in
from rig.registry.http_server import Certificate, RecordingServer, answer, make_certificate
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package

from render.cli.run import run
from render.system.files import LOCK_FILE

SECONDS = 120
ROOT = "roots: [{package: 'xpkg.example.org/acme/app:v1.0.0'}]\n"
KUSTOMIZED = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
PROVIDER = (
    "apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: app}\n"
    "spec: {package: 'xpkg.example.org/acme/app:v1.0.0'}\n"
)


@pytest.fixture
def outside(tmp_path: Path) -> World:
    """A layout and locked folders outside of the repository."""
    world = small_world(tmp_path / "outside")
    platform = world.project("platform", "base:v1.0.0")
    assert run(["-q", "lock", str(platform)]) == 0
    (platform / "kustomization.yaml").write_text(KUSTOMIZED)
    return world


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder without a lock in a repository, as Argo CD sends it: without .git."""
    folder = tmp_path / "repository/clusters/shop"
    folder.mkdir(parents=True)
    return folder


def generate(folder: Path, *, policy: str = "resolve", **environ: str) -> Outcome:
    """Call the plugin for the folder clusters/shop of a repository."""
    surroundings = {"ARGOCD_APP_SOURCE_PATH": "clusters/shop", **environ}
    with chdir(folder):
        return run_command("plugin", "generate", "--lock-policy", policy, environ=surroundings)


def _call(folder: Path, environ: dict[str, str], *arguments: str, before: tuple[str, ...] = ()) -> Outcome:
    done = subprocess.run(
        [*before, sys.executable, "-m", "render", *arguments],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def settings(folder: Path, text: str, *, root: str = ROOT) -> None:
    """Write the settings of a folder."""
    (folder / "xplock.yaml").write_text(root + text)


def layouts(path: Path | str) -> str:
    """Return the setting that has a layout stand in for a registry."""
    return f"layouts: [{{prefix: xpkg.example.org, folder: {json.dumps(str(path))}}}]\n"


# Paths


@pytest.mark.parametrize("written", ["absolute", "relative"])
@pytest.mark.parametrize("there", ["registry", "build", "platform/xplock.yaml", "nothing", "circle"])
def test_a_layout_outside_of_the_repository_is_not_even_looked_at(
    outside: World, shop: Path, written: str, there: str
) -> None:
    (outside.folder / "circle").symlink_to("circle")
    path = outside.folder / there
    named = str(path) if written == "absolute" else os.path.relpath(path, shop)
    settings(shop, layouts(named))

    done = generate(shop)

    assert done == Outcome(
        2,
        "",
        f"error: the layout {named} is outside of the repository\n"
        "  why:  it has to stand in for xpkg.example.org, and other files than those of the repository are not read\n"
        "  next: put the layout into the repository, and correct layouts in xplock.yaml\n",
    )


def _link_to_layout(shop: Path, layout: Path) -> str:
    (shop / "link").symlink_to(layout)
    return "link"


def _link_to_parent(shop: Path, layout: Path) -> str:
    (shop / "link").symlink_to(layout.parent)
    return f"link/{layout.name}"


def _link_to_blobs(shop: Path, layout: Path) -> str:
    shutil.copytree(layout, shop / "copy", ignore=shutil.ignore_patterns("blobs"))
    (shop / "copy/blobs").symlink_to(layout / "blobs")
    return "copy"


def _link_to_hashes(shop: Path, layout: Path) -> str:
    shutil.copytree(layout, shop / "copy", ignore=shutil.ignore_patterns("sha256"))
    (shop / "copy/blobs/sha256").symlink_to(layout / "blobs/sha256")
    return "copy"


@pytest.mark.parametrize("make", [_link_to_layout, _link_to_parent, _link_to_blobs, _link_to_hashes])
def test_no_link_makes_a_lock_from_a_layout_outside(
    outside: World, shop: Path, make: Callable[[Path, Path], str]
) -> None:
    named = make(shop, outside.layout)
    settings(shop, layouts(named))

    done = generate(shop)

    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: the layout {named} is outside of the repository\n")


@pytest.mark.parametrize("named", ["../../registry", "../../alias"])
def test_a_layout_elsewhere_in_the_repository_is_read(outside: World, shop: Path, named: str) -> None:
    root = shop.parent.parent
    shutil.copytree(outside.layout, root / "registry")
    (root / "alias").symlink_to("registry")
    settings(shop, layouts(named))

    done = generate(shop)

    assert (done.code, done.stderr) == (0, "")
    assert "xpkg.example.org/acme/app:v1.0.0" in done.stdout


def test_a_repository_that_argo_cd_sent_with_its_git_folder_ends_there(outside: World, shop: Path) -> None:
    root = new_repository(shop.parent.parent)
    shutil.copytree(outside.layout, root / "registry")
    settings(shop, layouts("../../registry"))
    inside = generate(shop)
    settings(shop, layouts(os.path.relpath(outside.layout, shop)))

    beyond = generate(shop)

    assert (inside.code, beyond.code) == (0, 2)


@pytest.mark.parametrize("variables", [{"ARGOCD_APP_SOURCE_PATH": "other"}, {"ARGOCD_APP_SOURCE_PATH": "."}])
def test_of_a_part_of_a_repository_only_that_part_is_read(
    outside: World, shop: Path, variables: dict[str, str]
) -> None:
    # Argo CD sends only the folders that an annotation of the Application names.
    shutil.copytree(outside.layout, shop.parent / "registry")
    settings(shop, layouts("../registry"))

    done = generate(shop, **variables)

    assert (done.code, done.stdout) == (2, "")
    assert "is outside of the repository" in done.stderr


@pytest.mark.parametrize("there", ["platform", "build", "nothing", "circle"])
def test_a_used_folder_outside_of_the_repository_is_not_even_looked_at(
    outside: World, shop: Path, there: str
) -> None:
    (outside.folder / "circle").symlink_to("circle")
    shutil.copytree(outside.layout, shop / "registry")
    named = os.path.relpath(outside.folder / there, shop)
    settings(shop, f"uses: [{json.dumps(named)}]\n" + layouts("registry"))

    done = generate(shop)

    assert done == Outcome(
        2,
        "",
        f"error: {named} is used, and is outside of the repository\n"
        "  why:  `uses` in xplock.yaml names it, and other files than those of the repository are not read\n"
        "  next: move the folder into the repository, or correct `uses`\n",
    )


def test_a_used_folder_does_not_use_one_outside(outside: World, shop: Path) -> None:
    root = shop.parent.parent
    shutil.copytree(outside.layout, root / "registry")
    (root / "platform").mkdir()
    settings(root / "platform", "uses: ['../../outside/platform']\n" + layouts("../registry"))
    settings(shop, "uses: ['../../platform']\n" + layouts("../../registry"))

    done = generate(shop)

    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: ../../../outside/platform is used, and is outside of the repository\n"
    )


def _overlay(shop: Path, path: str) -> dict[str, str]:
    settings(shop, f"overlay: {json.dumps(path)}\n")
    return {}


def _parameter(shop: Path, path: str) -> dict[str, str]:
    settings(shop, "")
    return {"ARGOCD_APP_PARAMETERS": json.dumps([{"name": "overlay", "string": path}])}


def _variable(shop: Path, path: str) -> dict[str, str]:
    settings(shop, "")
    return {"ARGOCD_ENV_XPLOCK_OVERLAY": path}


def _resource(shop: Path, path: str) -> dict[str, str]:
    (shop / "app.yaml").write_text(PROVIDER)
    resources = json.dumps(["app.yaml", path])
    (shop / "kustomization.yaml").write_text(f"{KUSTOMIZED}resources: {resources}\n")
    return {}


def _file(shop: Path, path: str) -> dict[str, str]:
    (shop / "app.yaml").write_text(PROVIDER)
    (shop / "kustomization.yaml").write_text(
        f"{KUSTOMIZED}resources: [app.yaml]\nconfigurations: {json.dumps([path])}\n"
    )
    return {}


@pytest.mark.parametrize("name", [_overlay, _parameter, _variable, _resource, _file])
@pytest.mark.parametrize("policy", ["frozen", "resolve"])
def test_no_path_of_a_kustomization_tells_what_is_outside_of_the_repository(
    outside: World, shop: Path, name: Callable[[Path, str], dict[str, str]], policy: str
) -> None:
    shutil.copytree(outside.layout, shop / "registry")
    (outside.folder / "circle").symlink_to("circle")
    found = set()

    for there in ("platform", "build", "platform/xplock.yaml", "nothing", "circle"):
        named = os.path.relpath(outside.folder / there, shop)
        environ = name(shop, named)
        if (shop / "xplock.yaml").exists():
            with (shop / "xplock.yaml").open("a") as file:
                file.write(layouts("registry"))
            (shop / LOCK_FILE).unlink(missing_ok=True)
            if policy == "frozen" and environ:
                assert run(["-q", "lock", str(shop)]) == 0
        done = generate(shop, policy=policy, **environ)
        assert (done.code, done.stdout) == (2, "")
        found.add(done.stderr.replace(named, "PATH"))

    assert len(found) == 1
    assert "is outside of the repository" in found.pop()


def test_a_folder_without_packages_is_not_told_of_projects_outside(outside: World, shop: Path) -> None:
    (outside.folder.parent / "xplock.yaml").write_text(ROOT)

    done = generate(shop)

    assert (done.code, done.stdout) == (2, "")
    assert "xplock.yaml" in done.stderr
    assert ".." not in done.stderr


def test_commit_makes_no_lock_from_outside_of_the_branch(fleet: Fleet, outside: World) -> None:
    (fleet.folder / "xplock.yaml").write_text(ROOT + layouts(outside.layout))
    before = fleet.push()

    done = fleet.generate()

    assert (done.code, done.output, fleet.tip) == (3, "", before)
    assert f"the layout {outside.layout} is outside of the repository" in done.errors
    assert paths_in(fleet.server, "main") == ["clusters/shop/xplock.yaml"]


def test_on_the_command_line_a_layout_may_be_anywhere(outside: World, shop: Path) -> None:
    settings(shop, layouts(outside.layout))

    assert run(["-q", "lock", str(shop)]) == 0


# Hosts


@pytest.fixture
def registry(certificate: Certificate) -> Iterator[MiniRegistry]:
    """A registry on loopback with TLS, whose certificate is trusted where a test says so."""
    with MiniRegistry(certificate=certificate) as mini:
        add_package(mini)
        yield mini


def _closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


def asking(folder: Path, host: str, more: str = "") -> None:
    """Have a folder ask a host for a package."""
    settings(folder, more, root=f"roots: [{{package: '{host}/some/name:v1.0.0'}}]\n")


# Only loopback, so that a test that fails asks no other machine; tests/registry/ has the other networks.
@pytest.mark.parametrize("name", ["127.0.0.1", "127.8.9.1", "localhost", "[::1]"])
def test_an_address_inside_a_network_is_refused_at_once_however_it_is_written(
    shop: Path, certificate: Certificate, name: str
) -> None:
    answers = set()
    with RecordingServer(answer(404), certificate=certificate) as server:
        for port in (server.host.rpartition(":")[2], str(_closed_port())):
            asking(shop, f"{name}:{port}")

            done = generate(shop, XPLOCK_CA_BUNDLE=str(certificate.file))

            assert (done.code, done.stdout) == (1, "")
            answers.add(done.stderr.replace(port, "PORT"))
        assert server.connections == 0

    [text] = answers
    host = f"{name}:PORT"
    assert text.startswith(
        f"error: {host} is not asked\n"
        "  why:  it is an address inside a network, and the operator has not listed it\n"
    )
    assert f"\n  next: if you are the operator, add {host} to XPLOCK_ALLOWED_REGISTRIES, or to " in text


def test_a_rewrite_leads_to_no_address_inside_a_network(shop: Path, registry: MiniRegistry) -> None:
    settings(shop, f"rewrites: [{{from: xpkg.example.org, to: '{registry.host}'}}]\n")

    done = generate(shop)

    assert (done.code, registry.server.connections) == (1, 0)
    assert done.stderr.startswith(f"error: {registry.host} is not asked\n")


@pytest.mark.parametrize("variable", ["XPLOCK_ALLOWED_REGISTRIES", "XPLOCK_TRUSTED_REALMS"])
def test_an_address_that_the_operator_lists_is_asked(
    shop: Path, registry: MiniRegistry, certificate: Certificate, variable: str
) -> None:
    asking(shop, registry.host)
    listed = registry.host if variable == "XPLOCK_ALLOWED_REGISTRIES" else f"example.org={registry.host}"

    done = generate(shop, XPLOCK_CA_BUNDLE=str(certificate.file), **{variable: listed})

    assert (done.code, done.stderr) == (0, "")


def test_on_the_command_line_every_address_is_asked(
    shop: Path, registry: MiniRegistry, certificate: Certificate
) -> None:
    asking(shop, registry.host)

    done = _call(shop, {**os.environ, "XPLOCK_CA_BUNDLE": str(certificate.file)}, "lock")

    assert done.code == 0


HOSTS = """
mount --bind "$1" /etc/hosts && shift && exec "$@"
"""


def with_hosts(folder: Path, names: dict[str, str]) -> tuple[str, ...]:
    """Return a program that runs another one where these names have these addresses."""
    file = folder / "hosts"
    file.write_text("".join(f"{address} {name}\n" for name, address in names.items()))
    return ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", HOSTS, "sh", str(file))


def resolve_with(before: tuple[str, ...], folder: Path, **environ: str) -> Outcome:
    """Call the plugin through another program."""
    surroundings = {**os.environ, "ARGOCD_APP_SOURCE_PATH": "clusters/shop", **environ}
    return _call(folder, surroundings, "plugin", "generate", "--lock-policy", "resolve", before=before)


def test_a_name_inside_the_network_is_told_like_a_name_that_does_not_exist(
    shop: Path, certificate: Certificate, tmp_path: Path
) -> None:
    before = with_hosts(tmp_path, {"inside.example": "127.0.0.1", "closed.example": "127.8.9.1"})
    answers = set()
    with RecordingServer(answer(404), certificate=certificate) as server:
        port = server.host.rpartition(":")[2]
        for name in ("inside.example", "closed.example", "nowhere.invalid"):
            asking(shop, f"{name}:{port}")

            done = resolve_with(before, shop)

            assert (done.code, done.stdout) == (1, "")
            answers.add(done.stderr.replace(name, "NAME"))
        assert server.connections == 0

    [text] = answers
    assert text.startswith(
        f"error: NAME:{port} gave no usable answer\n"
        "  why:  its name has no public address, and the operator has not listed it (tried 5 times)\n"
    )
    assert f"if you are the operator, add NAME:{port} to XPLOCK_ALLOWED_REGISTRIES if it is inside" in text


def test_a_name_inside_the_network_is_asked_if_the_operator_lists_it(shop: Path, tmp_path: Path) -> None:
    trusted = make_certificate(tmp_path / "certificate", name="inside.example")
    with MiniRegistry(certificate=trusted) as mini:
        add_package(mini)
        host = f"inside.example:{mini.host.rpartition(':')[2]}"
        asking(shop, host)
        before = with_hosts(tmp_path, {"inside.example": "127.0.0.1"})

        done = resolve_with(before, shop, XPLOCK_ALLOWED_REGISTRIES=host, XPLOCK_CA_BUNDLE=str(trusted.file))

    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("way", ["redirect", "token server"])
def test_a_listed_registry_leads_to_no_name_inside_the_network(
    shop: Path, certificate: Certificate, tmp_path: Path, way: str
) -> None:
    with RecordingServer(answer(404), certificate=certificate) as inner, MiniRegistry() as outer:
        target = f"https://inside.example:{inner.host.rpartition(':')[2]}/x"
        reply = (
            answer(307, headers={"Location": target})
            if way == "redirect"
            else answer(401, headers={"WWW-Authenticate": f'Bearer realm="{target}"'})
        )
        outer.override("/v2/some/name/manifests/v1.0.0", reply)
        asking(shop, outer.host)
        before = with_hosts(tmp_path, {"inside.example": "127.0.0.1"})

        done = resolve_with(before, shop, XPLOCK_PLAIN_HTTP=outer.host)

        assert (done.code, done.stdout) == (1, "")
        assert (inner.connections, len(outer.requests) > 0) == (0, True)

    assert "has no public address" in done.stderr
