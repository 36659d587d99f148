"""The places where the commands of a page run, each by the name that the page gives it."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from render.lock.model import Lock
from render.system.files import LOCK_FILE
from rig.builders.live_locks import Entry, format_live_lock
from rig.builders.locks import package, write_lock
from rig.builders.projects import World, at, small_world
from rig.deploy.kustomize import ARGOCD, DEPLOY
from rig.docs.examples import EXAMPLES
from rig.docs.live_cluster import live_cluster, publish_packages, stuck_cluster
from rig.docs.machine import Machine, copy_clone
from rig.docs.mirror_registry import mirror_registry
from rig.docs.move_examples import begin_step, read_steps
from rig.docs.upgrades import upgrade_ten

# The examples with their packages built, an empty folder, the machine: where the first command runs.
Scene = Callable[[Path, Path, Machine], Path]


def find_scene(name: str) -> Scene:
    """Return the scene of a name: one of the functions below, with its argument behind a space."""
    word, _, argument = name.partition(" ")
    return _SCENES[word](argument)


def surroundings(name: str) -> AbstractContextManager[dict[str, str]]:
    """Return the servers of a scene, with the variables by which programs find them."""
    if name in ("running-cluster", "stuck"):
        return live_cluster() if name == "running-cluster" else stuck_cluster()
    return mirror_registry() if name.startswith(("mirror ", "air-gap ")) else nullcontext({})


def _example(name: str) -> Scene:
    """An example, with its lock, beside the registry that it locks from."""

    def make(examples: Path, folder: Path, _: Machine) -> Path:
        _copy_examples(examples, folder)
        return folder / "examples" / name

    return make


def _unlocked(name: str) -> Scene:
    """An example that was never locked."""

    def make(examples: Path, folder: Path, _: Machine) -> Path:
        _copy_examples(examples, folder)
        (folder / "examples" / name / LOCK_FILE).unlink()
        return folder / "examples" / name

    return make


def _step(name: str) -> Scene:
    """A story of examples/moving at one of its steps, with the lock of the step before."""
    story, _, step = name.partition("/")
    [found] = [each for each in read_steps(story) if each.name == step]

    def make(examples: Path, folder: Path, _: Machine) -> Path:
        (folder / "registry").symlink_to(examples / "registry")
        begin_step(found, folder / "moving" / story / "now")
        return folder / "moving" / story / "now"

    return make


def _first_format(name: str) -> Scene:
    """A folder with a package of the first format, one of those of the examples."""

    def make(_: Path, folder: Path, __: Machine) -> Path:
        [package] = EXAMPLES.glob(f"packages/*/{name}/*")
        shutil.copytree(package, folder / name)
        return folder

    return make


def _contradiction(_: str) -> Scene:
    """A project that asks for two packages with dependencies that exclude each other."""
    return lambda _, folder, __: small_world(folder).project("shop", "app:v2.0.0", "old:v1.0.0")


def _first_edge(_: str) -> Scene:
    """A project whose packages do not all accept the version that the first of them takes, and the Lock of a cluster."""

    def make(_: Path, folder: Path, __: Machine) -> Path:
        world = World(folder)
        world.publish("provider-family v2.0.0", kind="Provider")
        for version in ("v1.0.0", "v1.5.0"):
            world.publish(f"provider-net {version}", kind="Provider")
        world.publish("provider-net v2.0.0", {"provider-family": "v2.0.0"}, kind="Provider")
        world.publish("network v1.0.0", {"provider-net": "<v2.0.0"})
        world.publish("platform v1.0.0", {"provider-net": ">=v1.0.0", "network": "^1.0.0"})
        project = world.project("shop", "platform:v1.0.0", more="crossplaneVersion: v2.3.4\n")
        (folder / "live.yaml").write_text(format_live_lock([Entry("provider-net v1.0.0", kind="Provider")]))
        return project

    return make


def _stuck(_: str) -> Scene:
    """A folder that has locked a package which a cluster has under two names."""

    def make(_: Path, folder: Path, __: Machine) -> Path:
        world = World(folder)
        world.publish("net v1.0.0", kind="Provider")
        project = world.project("platform", more="crossplaneVersion: v2.3.4\n")
        net = package("net v1.0.0", object_name="net")
        write_lock(project, Lock({net.source: net}))
        return folder

    return make


def _running_cluster(_: str) -> Scene:
    """A new repository, beside the registry that a cluster has its packages from."""

    def make(_: Path, folder: Path, machine: Machine) -> Path:
        publish_packages(folder)
        _init(folder / "repository", machine)
        return folder / "repository"

    return make


def _half_aliased(_: str) -> Scene:
    """A locked project with a family that moves to another organisation, where only one member can be an alias."""

    def make(_: Path, folder: Path, machine: Machine) -> Path:
        world = World(folder)
        for name in ("acme/provider-a", "acme/provider-b", "labs/provider-a", "labs/provider-b"):
            crd = f"{name.rpartition('/')[2]}s.cloud.example.org"
            world.publish(f"{name} v1.0.0", kind="Provider", crds=[crd], family="cloud")
        world.publish("app v1.0.0", {"acme/provider-a": "*"})
        known = "crossplaneVersion: v2.3.4\n"
        world.project("shop", "app", "acme/provider-b", more=known)
        named = f"  - package: {at('acme/provider-b')}\n"
        settings = folder / "shop/xplock.yaml"
        settings.write_text(settings.read_text().replace(named, f"{named}    name: mine\n"))
        machine.run("xplock", "lock", folder / "shop")
        moved = [
            f"  - from: {at(f'acme/provider-{one}')}\n    to: {at(f'labs/provider-{one}')}\n" for one in "ab"
        ]
        more = f"{known}moves:\n{''.join(moved)}"
        return world.project("shop", "app", "labs/provider-a", "labs/provider-b", more=more)

    return make


def _policy(_: str) -> Scene:
    """A project that is not locked yet, and packages with different licences."""

    def make(_: Path, folder: Path, __: Machine) -> Path:
        world = World(folder, relative=True)
        licences = {"v1.0.0": "Apache-2.0", "v1.1.0": "MPL-2.0 OR Apache-2.0", "v2.0.0": "BUSL-1.1"}
        for version, licence in licences.items():
            more = {"meta.crossplane.io/license": licence}
            world.publish(f"provider-store {version}", kind="Provider", annotations=more)
        more = {"meta.crossplane.io/license": "Apache-2.0"}
        world.publish("configuration-shop v1.0.0", {"provider-store": ">=v1"}, annotations=more)
        return world.project("shop", "configuration-shop", more="crossplaneVersion: v2.3.4\n")

    return make


def _clone(_: str) -> Scene:
    """A clone of this repository."""
    return lambda _, folder, __: copy_clone(folder / "xplock")


def _empty(_: str) -> Scene:
    """An empty folder."""
    return lambda _, folder, __: folder


def _repository(_: str) -> Scene:
    """A new repository that has a remote."""

    def make(_: Path, folder: Path, machine: Machine) -> Path:
        _init(folder, machine)
        return folder

    return make


def _pushed(name: str) -> Scene:
    """A repository with an example as clusters/production, committed and pushed."""

    def make(examples: Path, folder: Path, machine: Machine) -> Path:
        platform, project = folder / "platform", folder / "platform/clusters/production"
        _init(platform, machine)
        shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns("expected"))
        # Where the settings of the example look for it; not a part of the repository.
        (platform / "clusters/registry").symlink_to(examples / "registry")
        (platform / ".git/info/exclude").write_text("/clusters/registry\n")
        server = machine.servers / "acme/platform.git"
        shutil.rmtree(server, ignore_errors=True)
        machine.run("git", "init", "--quiet", "--bare", "--initial-branch=main", server)
        machine.run("git", "-C", platform, "add", ".")
        machine.run("git", "-C", platform, "commit", "--quiet", "--message", "A shop")
        machine.run("git", "-C", platform, "push", "--quiet", "--set-upstream", "origin", "main")
        return platform

    return make


def _behind(name: str) -> Scene:
    """The same with a package at an older version."""

    def make(examples: Path, folder: Path, machine: Machine) -> Path:
        platform = _pushed(name)(examples, folder, machine)
        older = ["-P", "provider-store=v1.0.0", "--commit", "--push"]
        machine.run("xplock", "lock", *older, platform / "clusters/production")
        return platform

    return make


def _conflict(name: str) -> Scene:
    """An example whose lock was changed on two branches."""

    def make(examples: Path, folder: Path, machine: Machine) -> Path:
        project = _example(name)(examples, folder, machine)
        lock = project / LOCK_FILE
        ours = lock.read_text()
        machine.run("xplock", "lock", "-P", "provider-store=v1.0.0", project)
        theirs = lock.read_text()
        lock.write_text(f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> branch\n")
        return project

    return make


def _moved_tag(name: str) -> Scene:
    """An example with a registry of its own, in which other bytes were published under a locked tag."""

    def make(examples: Path, folder: Path, machine: Machine) -> Path:
        shutil.copytree(examples / name, folder / name)
        shutil.copytree(examples / "registry", folder / "registry")
        older = examples / "packages/acme/provider-store/v1.0.0"
        tag = "xpkg.example.org/acme/provider-store:v1.1.0"
        machine.run("xplock", "package", "build", older, "--to", folder / "registry", "-t", tag)
        return folder / name

    return make


def _signed(name: str) -> Scene:
    """An example with a registry of its own, in which some packages are signed."""
    # Imported late: few pages need the library of the extra.
    from rig.docs.signed import sign_example

    return lambda examples, folder, _: sign_example(examples, folder, name)


def _upgrade(state: str) -> Scene:
    """A repository in which ten providers are about to be upgraded; `open`: any version of them will do."""
    return lambda _, folder, machine: upgrade_ten(folder, machine, is_open=state == "open")


def _argocd(_: str) -> Scene:
    """The manifests of a small Argo CD, and beside them a copy of deploy/."""

    def make(_: Path, folder: Path, __: Machine) -> Path:
        shutil.copy(ARGOCD, folder / "argocd.yaml")
        shutil.copytree(DEPLOY, folder / "xplock")
        return folder

    return make


def _init(folder: Path, machine: Machine) -> None:
    machine.run("git", "init", "--quiet", "--initial-branch=main", folder)
    machine.run("git", "-C", folder, "remote", "add", "origin", "https://git.example.org/acme/platform.git")


def _copy_examples(examples: Path, folder: Path) -> None:
    left = shutil.ignore_patterns("registry", "packages", "moving", "expected")
    shutil.copytree(examples, folder / "examples", ignore=left)
    (folder / "examples/registry").symlink_to(examples / "registry")


_SCENES: dict[str, Callable[[str], Scene]] = {
    "example": _example,
    # The same, where mirror.example.org is a registry.
    "mirror": _example,
    "unlocked": _unlocked,
    "step": _step,
    "first-format": _first_format,
    "contradiction": _contradiction,
    "first-edge": _first_edge,
    "stuck": _stuck,
    "running-cluster": _running_cluster,
    "half-aliased": _half_aliased,
    "policy": _policy,
    "clone": _clone,
    "empty": _empty,
    "repository": _repository,
    "pushed": _pushed,
    # The same, where mirror.example.org is a registry.
    "air-gap": _pushed,
    "behind": _behind,
    "conflict": _conflict,
    "moved-tag": _moved_tag,
    "signed": _signed,
    "upgrade": _upgrade,
    "argocd": _argocd,
}
