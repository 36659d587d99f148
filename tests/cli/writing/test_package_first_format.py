"""`package build` and `package inspect` of a package of the first format, in a folder, a file and a registry."""

import io
import json
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from rig.builders.first_format import APP, INSTALL, INSTALL_OWN_IMAGE, crd, package, write_package
from rig.builders.packages import PROVIDER, tar_of, write_files
from rig.builders.projects import World, at
from rig.registry.docker import RunningRegistry

from render.cli.run import run
from render.limits import Limits
from render.references import parse_reference
from render.registry.layout import Layout
from render.registry.oci import digest_of
from render.xpkg.building.package_file import PackageFile
from render.xpkg.image import fetch_image, fetch_package_yaml

PROGRAM = b"\x7fELF the controller"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a package of the first format in it."""
    monkeypatch.chdir(tmp_path)
    write_package(tmp_path / "sample-stack", package({"install.yaml": INSTALL}))
    return tmp_path


def succeeded(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """Return the result and the messages of a command that does not fail."""
    code = run(arguments)
    output = capsys.readouterr()
    assert code == 0, output.err
    return output.out, output.err


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what a command says that refuses its input."""
    code = run(arguments)
    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    return output.err


def saved_by_docker(path: Path, layers: list[Mapping[str, bytes]]) -> Path:
    """Write an image as `docker save` does."""
    tars = [tar_of(layer) for layer in layers]
    config = json.dumps({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": ["/controller"], "Labels": {"maintainer": "samples"}},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(tar) for tar in tars]},
        "history": [{"created_by": "COPY"} for _ in tars],
    }).encode()  # fmt: skip
    name = f"{digest_of(config).removeprefix('sha256:')}.json"
    names = [f"{digest_of(tar).removeprefix('sha256:')}/layer.tar" for tar in tars]
    listing = json.dumps([{"Config": name, "RepoTags": ["samples/stack:v1"], "Layers": names}]).encode()
    path.write_bytes(tar_of({name: config, **dict(zip(names, tars, strict=True)), "manifest.json": listing}))
    return path


def old_image(path: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the image of a package of the first format: its program below, its files above."""
    data = {
        f".registry/{name}": text if isinstance(text, bytes) else text.encode()
        for name, text in files.items()
    }
    return saved_by_docker(path, [{"controller": PROGRAM}, data])


def published(registry: RunningRegistry, image: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Push an image as it is, and return its reference."""
    monkeypatch.setenv("XPLOCK_PLAIN_HTTP", registry.host)
    reference = f"{registry.host}/{name}"
    subprocess.run(
        [
            "skopeo",
            "copy",
            "-q",
            "--dest-tls-verify=false",
            f"docker-archive:{image}",
            f"docker://{reference}",
        ],
        check=True,
    )
    return reference


def package_yaml(file: Path) -> str:
    found = PackageFile(file, Limits())
    reference = parse_reference(f"file.example.org/a/b@{found.digest}")
    image = fetch_image(found, reference, Limits())
    return b"".join(fetch_package_yaml(found, image, Limits())).decode()


def test_build_writes_a_package_of_today_and_its_manifests_in_a_folder_beside_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = succeeded(capsys, "package", "build", "sample-stack", "-o", "out.xpkg")

    assert out == "out.xpkg\n"
    assert "built Provider sample-stack (1 CustomResourceDefinition)" in err
    assert "spec.runtimeConfigRef.name: sample-stack" in err
    assert "kind: Provider\nmetadata:\n  name: sample-stack\n" in package_yaml(here / "out.xpkg")
    assert sorted(path.name for path in (here / "out.manifests").iterdir()) == ["rbac.yaml", "runtime.yaml"]
    assert "kind: DeploymentRuntimeConfig" in (here / "out.manifests/runtime.yaml").read_text()
    assert (
        (here / "out.manifests/rbac.yaml").read_text().startswith("# Packages v1 granted these permissions")
    )


def test_the_same_folder_gives_the_same_bytes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        succeeded(capsys, "package", "build", "sample-stack", "-o", f"{name}.xpkg")

    assert (here / "one.xpkg").read_bytes() == (here / "two.xpkg").read_bytes()
    for name in ("rbac.yaml", "runtime.yaml"):
        assert (here / "one.manifests" / name).read_bytes() == (here / "two.manifests" / name).read_bytes()


def test_a_package_without_a_controller_gets_no_permissions(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(here / "types", package())

    _, err = succeeded(capsys, "package", "build", "types", "-o", "out.xpkg", "--manifests", "more")

    assert [path.name for path in (here / "more").iterdir()] == ["runtime.yaml"]
    assert "warning: install.yaml: the package has none" in err


def test_a_tag_gives_the_package_its_name_and_its_version(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(here / "sample-stack", {"app.yaml": f"{APP}version: 1.2.3\n"})
    reference = "xpkg.example.org/samples/stack:v1.2.3"

    out, _ = succeeded(capsys, "package", "build", "sample-stack", "--to", "registry", "-t", reference)

    assert out == f"{reference}\n"
    assert (here / "stack.manifests/runtime.yaml").exists()
    inspected, _ = succeeded(capsys, "package", "inspect", reference, "--layout", "xpkg.example.org=registry")
    assert "friendly-name.meta.crossplane.io" in inspected


@pytest.mark.parametrize(
    "arguments", [("-t", "xpkg.example.org/samples/stack:v2", "--to", "out"), ("--version", "v2")]
)
def test_another_version_than_that_of_app_yaml_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    write_package(here / "sample-stack", {"app.yaml": f"{APP}version: 1.2.3\n"})

    err = failed(capsys, "package", "build", "sample-stack", *arguments)

    assert "app.yaml: version: expected v2, as the package is named; found 1.2.3" in err
    assert [path.name for path in here.iterdir()] == ["sample-stack"]


def test_all_problems_come_at_once_and_nothing_is_written(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(
        here / "sample-stack",
        {
            "a/app.yaml": APP,
            "b/crd.yaml": crd("Other", validation="{openAPIV3Schema: {type: array}}"),
            "icon.png": b"x" * (256 << 10),
            "behavior.yaml": "{}",
            "install.yaml": INSTALL_OWN_IMAGE,
        },
    )

    err = failed(capsys, "package", "build", "sample-stack", "-o", "out.xpkg")

    for place in (
        "app.yaml: a package has exactly one",
        ".registry/b/crd.yaml: spec.validation.openAPIV3Schema.type: ",
        ".registry/icon.png: the annotations of one object",
        ".registry/behavior.yaml: ",
        ".registry/install.yaml: spec.template.spec.containers[0].image: ",
    ):
        assert place in err
    assert [path.name for path in here.iterdir()] == ["sample-stack"]


def test_a_folder_for_the_manifests_that_cannot_be_made_leaves_no_package(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "out.manifests").touch()

    code = run(["package", "build", "sample-stack", "-o", "out.xpkg"])

    assert code == 1
    assert (
        "the folder out.manifests cannot be made\n  why:  a file of that name is there"
        in capsys.readouterr().err
    )
    assert not (here / "out.xpkg").exists()


def test_a_package_that_cannot_be_written_leaves_no_manifests(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["package", "build", "sample-stack", "-o", "gone/out.xpkg", "--manifests", "more"])

    assert code == 1
    assert "gone/out.xpkg cannot be written" in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["sample-stack"]


@pytest.mark.parametrize(
    "option", ["--cluster-wide", "--name=a", "--version=v1", "--source=a", "--runtime-image=a"]
)
def test_options_of_the_first_format_are_refused_for_a_package_of_today(
    here: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    write_files(here / "today", {"crossplane.yaml": PROVIDER})

    assert f"{option.partition('=')[0]}: only for packages of the first format" in failed(
        capsys, "package", "build", "today", option
    )


def test_a_runtime_image_that_is_not_run_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = saved_by_docker(here / "run.tar", [{"controller": PROGRAM}])

    assert "has no use for --runtime-image" in failed(
        capsys, "package", "build", "sample-stack", "--runtime-image", str(image)
    )


def test_the_package_lies_on_top_of_the_image_that_its_controller_runs(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(here / "sample-stack", {"install.yaml": INSTALL_OWN_IMAGE})
    image = saved_by_docker(here / "run.tar", [{"controller": PROGRAM}])

    succeeded(capsys, "package", "build", "sample-stack", "-o", "out.xpkg", "--runtime-image", str(image))

    built = PackageFile(here / "out.xpkg", Limits())
    assert built.config["config"]["Entrypoint"] == ["/controller"]
    assert built.config["config"]["Labels"]["maintainer"] == "samples"
    assert str(built.platform) == "linux/amd64"
    assert len(built.manifest.layers) == len(built.config["rootfs"]["diff_ids"]) == 2
    assert "kind: Provider" in package_yaml(here / "out.xpkg")


def test_a_package_of_today_is_no_image_to_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_package(here / "sample-stack", {"install.yaml": INSTALL_OWN_IMAGE})
    write_files(here / "today", {"crossplane.yaml": PROVIDER})
    succeeded(capsys, "package", "build", "today", "-o", "today.xpkg")

    code = run(["package", "build", "sample-stack", "--runtime-image", "today.xpkg"])

    assert code == 1
    assert "is a package, not an image to run" in capsys.readouterr().err


def test_an_image_of_the_first_format_is_built_on_top_of_itself(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old_image(here / "stack.tar", package({"install.yaml": INSTALL_OWN_IMAGE}))

    succeeded(capsys, "package", "build", "stack.tar", "-o", "out.xpkg")

    built = PackageFile(here / "out.xpkg", Limits())
    assert built.config["config"]["Entrypoint"] == ["/controller"]
    assert "name: stack\n" in package_yaml(here / "out.xpkg")
    with tarfile.open(here / "out.xpkg") as archive:
        layers = [member.name for member in archive if member.name.endswith(".tar.gz")]
        below = archive.extractfile(layers[0])
        assert below and PROGRAM in below.read()


def test_a_file_that_an_upper_layer_removed_is_no_part_of_the_package(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {f".registry/{name}": str(text).encode() for name, text in package().items()}
    saved_by_docker(
        here / "stack.tar",
        [{**files, ".registry/behavior.yaml": b"{}"}, {".registry/.wh.behavior.yaml": b""}],
    )

    succeeded(capsys, "package", "build", "stack.tar", "-o", "out.xpkg")


def test_an_image_without_a_registry_folder_cannot_be_built(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved_by_docker(here / "stack.tar", [{"controller": PROGRAM}])

    assert "it is an image without .registry/app.yaml" in failed(capsys, "package", "build", "stack.tar")


def test_inspect_shows_the_crds_with_the_annotations_they_will_get(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(here / "sample-stack", {"icon.svg": "<svg/>", "ui-schema.yaml": "a: 1\n"})

    out, _ = succeeded(capsys, "package", "inspect", "sample-stack")

    assert out.splitlines()[:4] == [
        "sample-stack",
        "  format  Packages v1",
        "  kind    Provider (meta.pkg.crossplane.io/v1)",
        "  name    sample-stack",
    ]
    assert "  mytypes.samples.example.org  (Namespaced; v1alpha1 stored)\n" in out
    assert "    app.kubernetes.io/managed-by: package-manager\n" in out
    assert "    packages.crossplane.io/package-title: Sample Crossplane Stack\n" in out
    assert "    packages.crossplane.io/icon-data-uri: data:image/svg+xml;base64, 34 bytes\n" in out
    assert "  ClusterRoleBinding sample-stack-packages-v1, for a person to apply\n" in out


@pytest.mark.usefixtures("here")
def test_inspect_as_json_has_the_very_crds(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = succeeded(capsys, "package", "inspect", "sample-stack", "-o", "json")

    found = json.loads(out)
    assert found["format"] == "Packages v1"
    assert found["customResourceDefinitions"][0]["spec"]["versions"][0]["name"] == "v1alpha1"
    assert found["runtimeConfig"]["kind"] == "DeploymentRuntimeConfig"
    assert [item["kind"] for item in found["rbac"]] == ["ClusterRole", "ClusterRoleBinding"]
    assert found["needs"] == []


def test_inspect_names_the_options_that_a_build_will_need(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"install.yaml": INSTALL_OWN_IMAGE, "app.yaml": APP.replace("Cluster", "Namespaced")}
    write_package(here / "v0.0.1", package(files))

    out, _ = succeeded(capsys, "package", "inspect", "v0.0.1")

    assert "note: package build needs --name for this folder\n" in out
    assert "note: package build needs --cluster-wide for this folder\n" in out
    assert "note: package build needs --runtime-image for this folder\n" in out


def test_inspect_reads_an_image_of_the_first_format(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old_image(here / "stack.tar", package({"install.yaml": INSTALL_OWN_IMAGE}))

    out, _ = succeeded(capsys, "package", "inspect", "stack.tar")

    assert "  format  Packages v1\n" in out
    assert "Layers (2)" in out


@pytest.mark.slow
def test_an_image_in_a_registry_is_inspected_built_and_pushed(
    here: Path,
    open_registry: RunningRegistry,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = f"{APP}version: 0.0.1\n"
    image = old_image(here / "stack.tar", package({"app.yaml": app, "install.yaml": INSTALL_OWN_IMAGE}))
    old = published(open_registry, image, "samples/stack:0.0.1", monkeypatch)

    inspected, _ = succeeded(capsys, "package", "inspect", old)
    succeeded(capsys, "package", "build", old, "-o", "out.xpkg")
    pushed, _ = succeeded(capsys, "package", "push", "out.xpkg", f"{open_registry.host}/samples/new:v0.0.1")
    again, _ = succeeded(capsys, "package", "inspect", pushed.strip())
    err = failed(capsys, "package", "push", "out.xpkg", f"{open_registry.host}/samples/new:v0.0.2")

    assert "  format  Packages v1\n" in inspected
    assert "Packages v1" not in again
    assert "mytypes.samples.example.org" in again
    assert "its app.yaml has the version 0.0.1, and a version has to be the tag" in err


@pytest.mark.slow
def test_a_lock_of_an_image_of_the_first_format_says_how_to_convert_it(
    here: Path,
    open_registry: RunningRegistry,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    image = old_image(here / "stack.tar", package())
    old = published(open_registry, image, "samples/locked:v0.0.1", monkeypatch)
    manifest = f"apiVersion: pkg.crossplane.io/v1\nkind: Provider\nmetadata: {{name: a}}\nspec: {{package: '{old}'}}\n"
    write_files(here / "project", {"provider.yaml": manifest})

    code = run(["lock", "project"])

    err = capsys.readouterr().err
    assert code == 1
    assert "holds a package of the first format (Packages v1)" in err
    assert f"xplock package build {open_registry.host}/samples/locked@sha256:" in err


def test_a_layout_with_an_image_of_the_first_format_is_inspected_too(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = PackageFile(old_image(here / "stack.tar", package()), Limits())
    layout = Layout(here / "layout", Limits())
    content = found.content(parse_reference(f"a.example.org/a/b@{found.digest}"))
    for descriptor in (found.manifest.config, *found.manifest.layers):
        with found.blob(parse_reference("a.example.org/a/b:v1").source, descriptor) as blob:
            layout.add_blob(io.BytesIO(blob.read()).getvalue())
    layout.add_image(content.data, content.media_type, None)

    out, _ = succeeded(capsys, "package", "inspect", "layout")

    assert "  format  Packages v1\n" in out


DEPENDING = f"{APP}dependsOn: [{{crd: buckets.store.example.org/v1}}]\n"


def test_a_dependency_on_a_crd_is_kept_for_every_lock_to_answer(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(here / "sample-stack", {"app.yaml": DEPENDING})

    _, err = succeeded(capsys, "package", "build", "sample-stack", "-o", "out.xpkg")

    text = package_yaml(here / "out.xpkg")
    assert "  dependsOn:\n  - crd: buckets.store.example.org/v1\n" in text
    assert "xplock.dev/depends-on-crds: buckets.store.example.org/v1" in text
    assert "it depends on CRDs, which Crossplane does not resolve" in err
    shown, _ = succeeded(capsys, "package", "inspect", "out.xpkg")
    assert "  crd            buckets.store.example.org/v1  " in shown
    assert "- store.example.org" in (here / "out.manifests/rbac.yaml").read_text()


def test_a_lock_turns_a_dependency_on_a_crd_into_one_on_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    store = package({"resources/crd.yaml": crd("Bucket", "v1", "store.example.org")})
    source = write_package(tmp_path / "sample-stack", package({"app.yaml": DEPENDING}))
    for folder, tag in (
        (write_package(tmp_path / "store", store), "provider-store:v1.4.0"),
        (source, "sample-stack:v1.0.0"),
    ):
        succeeded(capsys, "package", "build", str(folder), "--to", str(world.layout), "-t", at(tag))
    catalog = f"catalog:\n  - source: {at('provider-store')}\n"
    project = world.project("shop", "sample-stack:v1.0.0", more=catalog)
    succeeded(capsys, "lock", str(project))

    succeeded(capsys, "package", "build", str(source), "-o", "out.xpkg", "--lock", str(project))

    text = package_yaml(tmp_path / "out.xpkg")
    assert f"    package: {at('provider-store')}\n" in text
    assert '    version: ">=v1.4.0, <v2.0.0"\n' in text
    assert "xplock.dev/depends-on-crds: buckets.store.example.org/v1" in text


def test_a_folder_without_a_lock_answers_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "project").mkdir()

    err = failed(capsys, "package", "build", "sample-stack", "--lock", "project")

    assert "project has no lock" in err
    assert "xplock lock project" in err
