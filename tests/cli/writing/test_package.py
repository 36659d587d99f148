"""The package commands: a folder is built, pushed, and shown again."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from rig.builders.packages import CONFIGURATION, CRD, PROVIDER, XRD, build, build_file, write_files
from rig.registry.docker import RunningRegistry

from render.cli.run import run
from render.limits import Limits
from render.references import parse_reference
from render.registry.layout import Layout
from render.xpkg.building.package_file import PackageFile

FILES = {"crossplane.yaml": CONFIGURATION, "apis.yaml": XRD}
REFERENCE = "xpkg.example.org/acme/platform:v1.0.0"
SEEDS = Path(__file__).parents[2] / "data/seeds"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a package in it."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "platform", FILES)
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the result of a command that does not fail."""
    code = run(arguments)
    output = capsys.readouterr()
    assert code == 0, output.err
    return output.out


def failed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int) -> str:
    """Return what a command that fails says."""
    found = run(arguments)
    output = capsys.readouterr()
    assert (found, output.out) == (code, "")
    return output.err


def test_build_writes_the_file_it_is_told_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["package", "build", "platform", "-o", "out.xpkg"])

    output = capsys.readouterr()
    digest = build(here / "platform", {}).image.digest
    assert (code, output.out) == (0, "out.xpkg\n")
    assert output.err == f"built Configuration platform (1 CompositeResourceDefinition), {digest}\n"
    assert PackageFile(here / "out.xpkg", Limits()).digest == digest


def test_build_names_the_file_as_the_crossplane_cli_does(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = shown(capsys, "package", "build", "platform").strip()

    hexadecimal = build(here / "platform", {}).image.digest.removeprefix("sha256:")
    assert name == f"platform-{hexadecimal[:12]}.xpkg"
    assert (here / name).is_file()


def test_building_twice_writes_the_same_bytes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.xpkg", "b.xpkg"):
        shown(capsys, "package", "build", "platform", "-o", name)

    assert (here / "a.xpkg").read_bytes() == (here / "b.xpkg").read_bytes()


def test_build_adds_to_a_layout_under_every_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = REFERENCE.replace("v1.0.0", "latest")

    out = shown(capsys, "package", "build", "platform", "--to", "layout", "-t", REFERENCE, "-t", other)

    assert out == f"{REFERENCE}\n{other}\n"
    assert Layout(here / "layout", Limits()).tags(parse_reference(REFERENCE).source) == ("latest", "v1.0.0")


def test_build_adds_to_a_layout_without_a_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "package", "build", "platform", "--to", "layout")

    assert out == f"{build(here / 'platform', {}).image.digest}\n"


@pytest.mark.parametrize(("platform", "variant"), [("linux/arm64", ""), ("linux/arm/v7", "v7")])
def test_build_marks_a_file_with_its_platform(
    here: Path, capsys: pytest.CaptureFixture[str], platform: str, variant: str
) -> None:
    shown(capsys, "package", "build", "platform", "-o", "a.xpkg", "--platform", platform)

    found = PackageFile(here / "a.xpkg", Limits()).platform
    assert found is not None
    assert (str(found), found.variant) == (platform, variant)


def test_build_leaves_out_what_it_is_told_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(here / "platform", {"test/broken.yaml": "{", "samples/a.yaml": "kind: Nop"})

    shown(
        capsys, "package", "build", "platform", "-o", "a.xpkg", "--ignore", "test/*", "--examples", "samples"
    )

    assert len(PackageFile(here / "a.xpkg", Limits()).manifest.layers) == 2


def test_build_tells_everything_that_is_wrong_with_a_folder(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(here / "platform", {"a.yaml": CRD, "b.yaml": "["})

    error = failed(capsys, "package", "build", "platform", code=2)

    assert error.startswith("error: no package can be built from platform\n  why:  ")
    assert "a.yaml: line 1: a Configuration may not hold a CustomResourceDefinition" in error
    assert "b.yaml: line 2: " in error
    assert error.endswith("  next: correct this and build again\n")
    assert [path.name for path in here.iterdir()] == ["platform"]


@pytest.mark.parametrize("form", ["json", "text", "markdown"])
def test_build_takes_no_form_of_other_commands_for_a_file(
    here: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    error = failed(capsys, "package", "build", "platform", "-o", form, code=2)

    assert f"-o is the file to write here; write ./{form} for a file of that name" in error
    assert [path.name for path in here.iterdir()] == ["platform"]
    assert run(["package", "build", "platform", "-o", f"./{form}"]) == 0
    assert (here / form).is_file()


def test_build_wants_a_layout_for_a_name(
    here: Path,  # noqa: ARG001 - the folder we are in
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "it goes with --to" in failed(capsys, "package", "build", "platform", "-t", REFERENCE, code=2)
    assert "is not a package reference" in failed(
        capsys, "package", "build", "platform", "--to", "l", "-t", "nope", code=2
    )


@pytest.mark.parametrize("where", ["platform", "a.xpkg", "layout", "platform/crossplane.yaml"])
def test_inspect_shows_the_same_metadata_wherever_a_package_is(
    here: Path,  # noqa: ARG001 - the folder we are in
    capsys: pytest.CaptureFixture[str],
    where: str,
) -> None:
    shown(capsys, "package", "build", "platform", "-o", "a.xpkg")
    shown(capsys, "package", "build", "platform", "--to", "layout", "-t", REFERENCE)

    text = shown(capsys, "package", "inspect", where)
    document: dict[str, Any] = json.loads(shown(capsys, "package", "inspect", where, "-o", "json"))

    assert text.splitlines()[0] == document["package"] == where
    assert "  name        platform\n" in text
    assert "xpkg.example.org/acme/provider-nop  >=v0.2.0\n" in text
    assert document["crossplane"] == ">=v1.14.0"
    assert document["dependencies"] == [
        {
            "package": "xpkg.example.org/acme/provider-nop",
            "constraint": ">=v0.2.0",
            "kind": "Provider",
            "apiVersion": None,
        }
    ]


@pytest.mark.parametrize("prefix", ["", "xpkg.example.org/acme=", f"{REFERENCE.partition(':')[0]}="])
def test_inspect_reads_a_reference_from_a_layout_in_its_registrys_place(
    here: Path, capsys: pytest.CaptureFixture[str], prefix: str
) -> None:
    shown(capsys, "package", "build", "platform", "--to", "layout", "-t", REFERENCE)

    arguments = ["package", "inspect", REFERENCE, "--layout", f"{prefix}layout", "-o", "json"]
    document = json.loads(shown(capsys, *arguments))

    assert document["digest"] == build(here / "platform", {}).image.digest
    assert document["package"] == REFERENCE


def test_inspect_tells_what_a_layout_has_instead(
    here: Path,  # noqa: ARG001 - the folder we are in
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown(capsys, "package", "build", "platform", "--to", "layout", "-t", REFERENCE)

    other = REFERENCE.replace("v1", "v2")
    error = failed(capsys, "package", "inspect", other, "--layout", "layout", code=1)

    assert other in error
    assert REFERENCE in error


@pytest.mark.parametrize("what", ["missing.xpkg", "./missing", "x" * 5000, "ghcr.io/org/name"])
def test_inspect_of_nothing_says_that_it_is_neither_a_file_nor_a_reference(
    here: Path,  # noqa: ARG001 - the folder we are in
    capsys: pytest.CaptureFixture[str],
    what: str,
) -> None:
    error = failed(capsys, "package", "inspect", what, code=2)

    assert error.startswith(f"error: '{what[:400]}")
    assert "there is no such file" in error


def test_inspect_wants_a_folder_for_a_layout(capsys: pytest.CaptureFixture[str]) -> None:
    error = failed(capsys, "package", "inspect", REFERENCE, "--layout", "nope", code=2)

    assert "'nope' is not a folder" in error


@pytest.fixture(params=["open", "htpasswd", "token"])
def registry(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> RunningRegistry:
    """Each of the three registries, its settings and credentials in the environment."""
    running: RunningRegistry = request.getfixturevalue(f"{request.param}_registry")
    hosts = [running.host]
    if running.tokens is not None:
        hosts.append(running.tokens.server.host)
        monkeypatch.setenv("XPLOCK_TRUSTED_REALMS", "=".join(hosts))
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", ",".join(hosts))
    if request.param != "open":
        log_in(tmp_path, monkeypatch, running.host, f"{running.username}:{running.password}")
    return running


def log_in(folder: Path, monkeypatch: pytest.MonkeyPatch, host: str, user: str) -> None:
    encoded = base64.b64encode(user.encode()).decode()
    (folder / "docker").mkdir()
    file = folder / "docker/config.json"
    file.write_text(json.dumps({"auths": {host: {"auth": encoded}}}))
    file.chmod(0o600)
    monkeypatch.setenv("DOCKER_CONFIG", str(folder / "docker"))


@pytest.mark.parametrize("seed", sorted(path.name for path in SEEDS.iterdir()))
def test_the_documents_of_the_format_specifications_are_built_pushed_and_shown(
    here: Path, registry: RunningRegistry, capsys: pytest.CaptureFixture[str], seed: str
) -> None:
    reference = f"{registry.host}/seeds/{seed}:v1.0.0"
    digest = build(SEEDS / seed, {}).image.digest

    shown(capsys, "package", "build", str(SEEDS / seed), "-o", "a.xpkg")
    pushed = shown(capsys, "package", "push", "a.xpkg", reference)

    assert pushed == f"{reference}@{digest}\n"
    local, remote, pinned = (
        json.loads(shown(capsys, "package", "inspect", what, "-o", "json"))
        for what in (str(here / "a.xpkg"), reference, pushed.strip())
    )
    assert remote["digest"] == digest
    assert {**local, "package": ""} == {**remote, "package": ""} == {**pinned, "package": ""}


def test_several_files_are_pushed_as_one(
    here: Path, registry: RunningRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("arm64", "amd64"):
        build_file(here / f"{name}.xpkg", {"crossplane.yaml": PROVIDER}, platform=f"linux/{name}")
    (here / "readme.md").write_text("hello")
    reference = f"{registry.host}/acme/several:v1"

    shown(capsys, "package", "push", "arm64.xpkg", "amd64.xpkg", reference, "--extensions", "readme.md")

    document = json.loads(shown(capsys, "package", "inspect", reference, "-o", "json"))
    assert document["platforms"] == ["linux/arm64", "linux/amd64"]
    assert document["extensions"]["annotations"] == {"io.crossplane.xpkg": "xpkg-extensions"}
    assert document["manifestDigest"] == PackageFile(here / "amd64.xpkg", Limits()).digest
    text = shown(capsys, "package", "inspect", reference)
    assert "Images (3)" in text
    assert f"  linux/amd64    {document['manifestDigest']}  (the one Crossplane reads)" in text


@pytest.mark.parametrize(
    "ref", ["xpkg.example.org/acme/platform@sha256:" + "0" * 64, f"{REFERENCE}@sha256:" + "0" * 64]
)
def test_a_push_needs_a_tag_and_no_digest(here: Path, capsys: pytest.CaptureFixture[str], ref: str) -> None:
    build_file(here / "a.xpkg", FILES)

    assert "a push needs a tag, and no digest" in failed(capsys, "package", "push", "a.xpkg", ref, code=2)


def test_a_version_with_a_capital_v_is_not_published(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_file(here / "a.xpkg", FILES)
    capital = REFERENCE.replace(":v", ":V")

    pushed = failed(capsys, "package", "push", "a.xpkg", capital, code=2)
    built = failed(capsys, "package", "build", "platform", "--to", "l", "-t", capital, code=2)

    for error in (pushed, built):
        assert "'V1.0.0' is not a version" in error
        assert "write v1.0.0" in error


def test_files_that_are_no_packages_are_not_pushed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "a.xpkg").write_text("hello")

    assert "is not a package file" in failed(capsys, "package", "push", "a.xpkg", REFERENCE, code=2)


def test_a_push_with_a_wrong_password_says_what_why_and_what_next(
    here: Path,
    htpasswd_registry: RunningRegistry,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    canary: str,
) -> None:
    build_file(here / "a.xpkg", FILES)
    host = htpasswd_registry.host
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", host)
    log_in(here, monkeypatch, host, f"{htpasswd_registry.username}:{canary}")

    error = failed(capsys, "package", "push", "a.xpkg", f"{host}/acme/denied:v1", code=1)

    assert [line[:8] for line in error.splitlines() if not line.startswith("   ")] == [
        f"error: {host[0]}",
        "  why:  ",
        "  next: ",
    ]
    assert canary not in error


def test_a_registry_without_tls_is_not_asked_unless_it_is_listed(
    here: Path, open_registry: RunningRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    build_file(here / "a.xpkg", FILES)

    error = failed(capsys, "package", "push", "a.xpkg", f"{open_registry.host}/acme/plain:v1", code=1)

    assert open_registry.host in error
