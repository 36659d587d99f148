"""What an error offers to paste is enough: as it was printed, in xplock.yaml, and the same command succeeds."""

import textwrap
from pathlib import Path

import pytest
import yaml
from rig.builders.ecosystem import PackageVersion, build_all, fill_layout, read_ecosystem, serving_source
from rig.builders.projects import HOME, World, locked, text_of
from rig.commands.refusals import Refusal, refusal

from render.cli.run import run
from render.limits import Limits
from render.lock.model import Lock
from render.lock.text.file import read_lock
from render.references import PartialSource, Source, parse_dependency_source, parse_source
from render.system.files import LOCK_FILE

DOT_GITHUB = "xpkg.upbound.io/devops-toolkit/dot-github"
FUNCTIONS = ("function-auto-ready", "function-kcl")


def paste(refused: Refusal, project: Path) -> None:
    """Add what an error offers to the settings, line by line."""
    start = refused.next.index("  moves:")
    lines = [line for line in refused.next[start:] if line.startswith(("  moves:", "    "))]
    with (project / "xplock.yaml").open("a") as settings:
        settings.write(textwrap.dedent("\n".join(lines)) + "\n")


def closure(root: str) -> list[PackageVersion]:
    """All versions of a package and of whatever any of them could need."""
    versions: dict[Source, list[PackageVersion]] = {}
    for version in read_ecosystem().versions:
        versions.setdefault(version.reference.source, []).append(version)
    found: dict[Source, list[PackageVersion]] = {}
    left = [serving_source(root)]
    while left:
        source = left.pop()
        if source in versions and source not in found:
            found[source] = versions[source]
            left += [need for version in versions[source] for need in _needs(version)]
    return [version for known in found.values() for version in known]


def _needs(version: PackageVersion) -> list[Source]:
    texts = [
        entry[key] for entry in version.depends_on for key in entry.keys() - {"version", "apiVersion", "kind"}
    ]
    named = map(parse_dependency_source, texts)
    source = version.reference.source
    return [one.complete(source) if isinstance(one, PartialSource) else one for one in named]


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layout with everything that dot-github could need."""
    folder = tmp_path_factory.mktemp("dot-github")
    fill_layout(folder / "registry", build_all(closure(DOT_GITHUB), folder / "scratch"))
    return folder / "registry"


@pytest.fixture
def dot_github(registry: Path, tmp_path: Path) -> Path:
    """A folder that asks for dot-github v0.0.52."""
    hosts = sorted({version.reference.source.registry for version in closure(DOT_GITHUB)})
    settings = {
        "roots": [{"package": f"{DOT_GITHUB}:v0.0.52"}],
        "layouts": [{"prefix": host, "folder": str(registry)} for host in hosts],
    }
    (tmp_path / "xplock.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path


def test_functions_of_one_name_from_two_places_are_locked_with_the_lines_of_the_error(
    dot_github: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = refusal(capsys, "lock", str(dot_github))
    written = (dot_github / LOCK_FILE).exists()

    paste(refused, dot_github)
    code = run(["lock", str(dot_github)])

    assert (refused.code, written, code) == (4, False, 0)
    lock = read_lock(dot_github, Limits()) or Lock()
    for name in FUNCTIONS:
        assert parse_source(f"xpkg.crossplane.io/crossplane-contrib/{name}") in lock.packages
        assert parse_source(f"xpkg.upbound.io/crossplane-contrib/{name}") not in lock.packages


def test_from_that_lock_each_function_is_rendered_once(
    dot_github: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paste(refusal(capsys, "lock", str(dot_github)), dot_github)
    run(["lock", str(dot_github)])
    capsys.readouterr()

    code = run(["render", str(dot_github)])

    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    functions = [value["metadata"]["name"] for value in objects if value["kind"] == "Function"]
    assert code == 0
    assert len(functions) == len({*functions})
    assert {f"crossplane-contrib-{name}" for name in FUNCTIONS} <= {*functions}


def test_a_handover_is_agreed_to_with_the_lines_of_the_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    for name in ("old", "new"):
        world.publish(f"{name} v1.0.0", kind="Provider", crds=["as.acme.org"])
    project = world.project("shop", "old")
    run(["lock", str(project)])
    before = text_of(project)
    world.project("shop", "new", more="crossplaneVersion: v2.3.4\n")

    refused = refusal(capsys, "lock", str(project))
    kept = text_of(project)
    paste(refused, project)
    code = run(["-q", "lock", str(project)])

    assert (refused.code, kept, code) == (4, before, 0)
    assert refused.why[0] == "both install CustomResourceDefinition as.acme.org"
    assert locked(project) == {"new": "v1.0.0"}
    assert f"deactivated:\n- source: {HOME}/old\n" in text_of(project).decode()
