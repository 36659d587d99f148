"""A root that does not exist, asked of a real registry: the error names its place and what was probably meant."""

import shlex
import socket
from pathlib import Path

import pytest
from rig.builders.packages import build_file
from rig.builders.projects import format_metadata
from rig.commands.run import Outcome, run_command
from rig.registry.docker import RunningRegistry

TAGS = ("v1.20.0", "v1.21.0", "v2.0.0")
PLACE = "root.yaml: spec.package"


@pytest.fixture(scope="module")
def home(open_registry: RunningRegistry, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The organisation of two packages in a registry."""
    alone = format_metadata("base v1.0.0", "Configuration", [], replaces=[], family="", annotations={})
    file = str(build_file(tmp_path_factory.mktemp("package") / "a.xpkg", {"crossplane.yaml": alone}))
    home = f"{open_registry.host}/wrong-packages"
    for reference in [*(f"{home}/base:{tag}" for tag in TAGS), f"{home}/tool:v1.0.0"]:
        pushed = run_command("package", "push", "--plain-http", open_registry.host, file, reference)
        assert pushed.code == 0, pushed
    return home


def ask(folder: Path, *packages: str) -> None:
    documents = [
        "apiVersion: pkg.crossplane.io/v1\nkind: Configuration\n"
        f"metadata:\n  name: root-{number}\nspec:\n  package: {package}\n"
        for number, package in enumerate(packages)
    ]
    (folder / "root.yaml").write_text("---\n".join(documents))


def lock(folder: Path, *words: str) -> Outcome:
    hosts = [line.split()[1].partition("/")[0] for line in _packages(folder)]
    plain = [word for host in sorted({*hosts}) for word in ("--plain-http", host)]
    environ = {"XPLOCK_LIMIT_ATTEMPTS_UNANSWERED": "1"}
    return run_command("lock", str(folder), *plain, *words, environ=environ)


def _packages(folder: Path) -> list[str]:
    return [line for line in (folder / "root.yaml").read_text().splitlines() if "package:" in line]


@pytest.mark.parametrize("tag", ["1.21.0", "vv1.21.0", "v1.21.1", "v1.21"])
def test_a_wrong_tag(home: str, tmp_path: Path, tag: str) -> None:
    ask(tmp_path, f"{home}/base:{tag}")

    lock(tmp_path).assert_refused(
        1,
        f"{home}/base has no version {tag}",
        f"{PLACE} asks for it",
        "the nearest that it has: v1.21.0, v1.20.0, v2.0.0",
        f"next: did you mean v1.21.0? ({PLACE})",
    )


def test_a_wrong_digest(home: str, tmp_path: Path) -> None:
    wrong = f"sha256:{'ab' * 32}"
    ask(tmp_path, f"{home}/base:v1.21.0@{wrong}")

    lock(tmp_path).assert_refused(
        1,
        f"{home}/base has no package with the digest {wrong}",
        f"{PLACE} asks for it",
        "v1.21.0 has the digest sha256:",
        "it has v2.0.0, v1.21.0, v1.20.0",
    )


def test_a_wrong_repository(home: str, tmp_path: Path) -> None:
    ask(tmp_path, f"{home}/tool", f"{home}/tol:v1.0.0")

    lock(tmp_path).assert_refused(1, f"{home}/tol", f"next: did you mean {home}/tool? (root.yaml: document 2")


def test_a_wrong_host(home: str, tmp_path: Path) -> None:
    name = home.partition(":")[0]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        # Nothing listens there after the probe.
        wrong = f"{name}:{probe.getsockname()[1]}"
    ask(tmp_path, f"{home}/base", f"{wrong}/wrong-packages/tool")

    lock(tmp_path).assert_refused(
        1, wrong, "root.yaml: document 2: spec.package asks for it", f"next: did you mean {home}/tool?"
    )


def test_a_wrong_version_on_the_command_line_is_corrected_by_pasting(home: str, tmp_path: Path) -> None:
    ask(tmp_path, f"{home}/base")
    assert lock(tmp_path).code == 0

    refused = lock(tmp_path, "-P", "base=1.20.0")
    command = refused.stderr.rpartition("next: did you mean v1.20.0? ")[2]
    done = run_command(*shlex.split(command)[1:])

    refused.assert_refused(1, "the command line asks for it")
    assert (done.code, "v2.0.0 -> v1.20.0" in done.stdout) == (0, True), (command, done)


def test_a_version_on_the_command_line_that_is_none_is_reported_with_its_option(
    home: str, tmp_path: Path
) -> None:
    ask(tmp_path, f"{home}/base")
    assert lock(tmp_path).code == 0

    lock(tmp_path, "-P", "base=newest").assert_refused(2, "-P base=newest: 'newest' is not a version")
