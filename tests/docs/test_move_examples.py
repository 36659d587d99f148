"""Every story in examples/moving is a test: each step leads from the lock before to the bytes beside it, and into a cluster."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rig.builders.render_inputs import rewrite_image
from rig.cluster.cluster import Cluster
from rig.cluster.crds import is_known, problems_of
from rig.docs.examples import EXAMPLES, RENDERED
from rig.docs.move_examples import STEPS, STORIES, Step, begin_step, read_steps, take_step

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.world import open_world
from render.cli.run import run
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.manifests.identity import identify
from render.packages import Kind
from render.system.files import LOCK_FILE
from render.xpkg.catalog import Catalog
from render.yaml.documents import file_rules, parse_documents

SECONDS = 120
HOSTS = ("xpkg.example.org", "old.example.org")
every_story = pytest.mark.parametrize("story", STORIES)
every_step = pytest.mark.parametrize("step", STEPS, ids=str)
# In other stories a folder can be behind those that it uses.
ALONE = [step for step in STEPS if step.projects == [Path()]]


@pytest.fixture
def work(examples: Path, tmp_path: Path) -> Path:
    """A folder for the inputs of a step, as far from the registry as the step itself."""
    (tmp_path / "registry").symlink_to(examples / "registry")
    return tmp_path / "moving/story/step"


@pytest.fixture
def catalog(examples: Path) -> Catalog:
    """The packages of the examples, as a cluster would find them."""
    world = open_world(OperatorSettings.from_environment(os.environ), SilentReporter())
    return world.catalog([(host, examples / "registry") for host in HOSTS], (), offline=True)


def rendered(step: Step) -> dict[Path, list[dict[str, Any]]]:
    """Return the objects of every project of a step."""
    texts = {project: (step.folder / project / RENDERED).read_bytes() for project in step.projects}
    return {project: parse_documents(text, file_rules(Limits())) for project, text in texts.items()}


def objects_of(step: Step) -> list[dict[str, Any]]:
    """Return the objects of all projects of a step."""
    return [value for values in rendered(step).values() for value in values]


def locked(step: Step) -> Iterator[Lock]:
    """Yield the locks of all projects of a step."""
    for project in step.projects:
        lock = read_lock(step.folder / project, Limits())
        assert lock is not None
        yield lock


def expected_entries(step: Step) -> dict[str, str]:
    """Return what the cluster's Lock holds after a step: everything that is on and attached."""
    packages = [package for lock in locked(step) for package in lock.packages.values()]
    return {str(package.cluster_source): package.version for package in packages if not package.detached}


def off(step: Step) -> set[tuple[str, str]]:
    """Return the objects that a step has switched off."""
    found = [package for lock in locked(step) for package in lock.deactivated.values()]
    return {(str(package.kind), package.object_name) for package in found}


@every_step
def test_a_step_leads_from_the_lock_before_to_the_bytes_beside_it(step: Step, work: Path) -> None:
    begin_step(step, work)

    code = take_step(step, work)

    assert code == 0
    for project in step.projects:
        made = (work / project / LOCK_FILE).read_bytes()
        assert made == (step.folder / project / LOCK_FILE).read_bytes()


@every_step
def test_a_step_renders_to_the_bytes_that_are_expected(
    step: Step, work: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    shutil.copytree(step.folder, work)

    for project in step.projects:
        code = run(["render", str(work / project)])

        output = capfdbinary.readouterr()
        assert (code, output.err) == (0, b"")
        assert output.out == (step.folder / project / RENDERED).read_bytes()


@pytest.mark.parametrize("step", ALONE, ids=str)
def test_solving_a_step_once_more_changes_nothing(step: Step, work: Path) -> None:
    shutil.copytree(step.folder, work)
    (lock,) = locked(step)
    package = next(package for package in lock.in_order() if not package.released)

    # Without anything that may change, the lock would be read and no more.
    code = run(["-q", "lock", "--check", str(work), "-P", f"{package.source}={package.version}"])

    assert code == 0


def test_kustomize_builds_the_files_of_a_step_with_its_revision_to_the_same_objects(
    work: Path, tmp_path: Path
) -> None:
    step = next(step for step in STEPS if off(step))
    shutil.copytree(step.folder, work)

    code = run(["-q", "render", str(work), "--out", str(tmp_path / "out")])

    built = subprocess.run(
        ["kubectl", "kustomize", tmp_path / "out"], capture_output=True, check=True, timeout=SECONDS
    )
    objects = parse_documents(built.stdout, file_rules(Limits()))
    assert code == 0
    assert "ProviderRevision" in {value["kind"] for value in objects}
    assert sorted(objects, key=identify) == sorted(objects_of(step), key=identify)


@every_step
def test_the_api_server_would_take_what_a_step_renders(step: Step) -> None:
    known = [value for value in objects_of(step) if is_known(value)]

    refused = {
        identify(value): problems_of(value, partial=value["kind"].endswith("Revision")) for value in known
    }

    assert {place: why for place, why in refused.items() if why} == {}


@every_step
def test_what_crossplane_would_pull_in_a_step_is_what_is_locked(step: Step) -> None:
    objects = objects_of(step)
    configs = [value for value in objects if value["kind"] == "ImageConfig"]

    pulled = {
        value["metadata"]["name"]: rewrite_image(configs, value["spec"]["package"])
        for value in objects
        if value["kind"] in tuple(Kind)
    }

    packages = [package for lock in locked(step) for package in lock.installed()]
    assert pulled == {package.object_name: f"{package.source}@{package.digest}" for package in packages}


@every_story
@pytest.mark.parametrize("seed", range(6))
def test_a_cluster_that_syncs_every_step_of_a_story_is_healthy_all_the_way(
    story: str, seed: int, catalog: Catalog
) -> None:
    chance = random.Random(seed)
    cluster = Cluster(catalog, seed=seed, slow_deletion=seed % 2 > 0, keeps_fields=seed % 3 > 0)
    applied: dict[Path, list[dict[str, Any]]] = {}
    for step in read_steps(story):
        # Each folder has an Application of its own, and nobody knows which one is synced first.
        for project, objects in chance.sample(sorted(rendered(step).items()), len(step.projects)):
            applied[project] = objects
            cluster.sync(value for values in applied.values() for value in values)

            assert (cluster.unhealthy(), cluster.duplicates()) == ({}, [])
            # What is handed over never is without an owner, and nothing is pulled by its tag alone.
            assert (cluster.state.deleted, cluster.state.unpinned) == ([], set())

        assert cluster.images() == {
            f"{value['kind']}/{value['metadata']['name']}": value["spec"]["package"]
            for value in objects_of(step)
            if value["kind"] in tuple(Kind)
        }
        assert cluster.inactive() == off(step)
        assert cluster.entries() == expected_entries(step)


@every_story
def test_a_story_is_explained(story: str) -> None:
    steps = read_steps(story)

    assert f"| `moving/{story}/` | " in (EXAMPLES / "README.md").read_text()
    assert [step.name.partition("-")[0] for step in steps] == [str(i) for i in range(1, len(steps) + 1)]
    for step in steps:
        assert [line[:2] for line in step.note] == [*["# "] * (len(step.note) - 1), "xp"]
        assert len(step.note) > 1


def test_a_story_can_be_told(examples: Path, tmp_path: Path) -> None:
    story = "folders"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    told = subprocess.run(
        ["sh", examples / "moving/tell.sh", story],
        env={**os.environ, "PATH": path, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )

    assert told.returncode == 0, told.stderr
    assert [line for line in told.stdout.splitlines() if line.startswith("$ ")] == [
        f"$ {step.note[-1]}" for step in read_steps(story)
    ]
    assert list(tmp_path.iterdir()) == []
