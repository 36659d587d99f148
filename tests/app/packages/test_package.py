"""The stages joined: whatever holds a package can be inspected."""

from pathlib import Path

import pytest
from rig.builders.packages import CONFIGURATION, PROVIDER, XRD, build, saved_image, tar_of, write_files

from render.app.packages.package import build_into_layout, inspect_path, inspect_reference, read_metadata
from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.packages import Kind
from render.references import parse_reference
from render.registry.layout import InvalidLayout, Layout
from render.xpkg.building.build import InvalidPackageFolder, build_package
from render.xpkg.building.package_file import InvalidPackageFile, format_package_file
from render.xpkg.image import InvalidImage

SEEDS = Path(__file__).parents[2] / "data/seeds"
FIRST = parse_reference("xpkg.example.org/acme/platform:v1.0.0")
SECOND = parse_reference("xpkg.example.org/acme/platform:v2.0.0")
PROJECT = """\
apiVersion: meta.dev.upbound.io/v1alpha1
kind: Project
metadata:
  name: project
spec:
  maintainer: Robin
  dependsOn:
    - provider: xpkg.example.org/acme/provider-nop
      version: v1
"""


@pytest.mark.parametrize(
    ("seed", "kind", "name", "crossplane", "dependencies", "objects"),
    [
        ("provider", Kind.PROVIDER, "provider-sample", "v0.13.0", ["acme/provider-unusual v0.1.0"], 1),
        (
            "configuration",
            Kind.CONFIGURATION,
            "configuration-sample",
            "v0.13.0",
            ["acme/provider-sample v0.1.0", "acme/another-configuration v0.2.0"],
            0,
        ),
        ("xpkg-configuration", Kind.CONFIGURATION, "configuration-annotated", None, [], 2),
        ("xpkg-provider", Kind.PROVIDER, "provider-specified", None, [], 3),
        ("xpkg-function", Kind.FUNCTION, "function-specified", None, [], 1),
    ],
)
def test_the_documents_of_the_format_specifications_are_the_same_in_every_form(
    tmp_path: Path,
    seed: str,
    kind: Kind,
    name: str,
    crossplane: str | None,
    dependencies: list[str],
    objects: int,
) -> None:
    built = build_package(SEEDS / seed, Limits())
    (tmp_path / "a.xpkg").write_bytes(format_package_file(built.image))
    layout = Layout(tmp_path / "layout", Limits())
    build_into_layout(built, layout, [FIRST])

    forms = [
        inspect_path(SEEDS / seed, Limits()),
        inspect_path(tmp_path / "a.xpkg", Limits()),
        inspect_path(tmp_path / "layout", Limits()),
        inspect_reference(FIRST, layout, Limits()),
    ]

    for found in forms:
        metadata = found.metadata
        assert (metadata.kind, metadata.name) == (kind, name)
        assert (metadata.crossplane.text if metadata.crossplane else None) == crossplane
        assert [f"{d.package} {d.constraint.text}" for d in metadata.dependencies] == dependencies
        assert len(found.objects) == objects
        assert not found.misplaced
        assert metadata == built.metadata
    assert {found.image.digest for found in forms if found.image} == {built.image.digest}


def test_a_layout_holds_a_package_under_each_of_its_names(tmp_path: Path) -> None:
    built = build(tmp_path / "folder", {"crossplane.yaml": CONFIGURATION, "apis.yaml": XRD})
    layout = Layout(tmp_path / "layout", Limits())

    build_into_layout(built, layout, [FIRST, SECOND])

    assert layout.tags(FIRST.source) == ("v1.0.0", "v2.0.0")
    assert inspect_path(tmp_path / "layout", Limits()).metadata == built.metadata


def test_a_layout_with_one_nameless_package_is_inspected(tmp_path: Path) -> None:
    built = build(tmp_path / "folder", {"crossplane.yaml": PROVIDER})
    build_into_layout(built, Layout(tmp_path / "layout", Limits()), [])

    found = inspect_path(tmp_path / "layout", Limits())

    assert found.metadata == built.metadata
    assert found.image is not None
    assert found.image.digest == built.image.digest


def test_a_layout_with_several_packages_asks_which(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "layout", Limits())
    build_into_layout(build(tmp_path / "a", {"crossplane.yaml": PROVIDER}), layout, [FIRST])
    build_into_layout(build(tmp_path / "b", {"crossplane.yaml": CONFIGURATION}), layout, [SECOND])

    with pytest.raises(InvalidInput) as caught:
        inspect_path(tmp_path / "layout", Limits())

    assert caught.value.why == (str(FIRST), str(SECOND))
    assert "--layout" in caught.value.next[0]


@pytest.mark.parametrize("name", ["crossplane-project.yaml", "upbound.yaml"])
@pytest.mark.parametrize("whole_folder", [True, False])
def test_a_project_is_read_as_the_configuration_it_becomes(
    tmp_path: Path, name: str, whole_folder: bool
) -> None:
    write_files(tmp_path, {name: PROJECT})

    found = inspect_path(tmp_path if whole_folder else tmp_path / name, Limits())

    assert (found.metadata.kind, found.metadata.name) == (Kind.CONFIGURATION, "project")
    assert [str(d.source) for d in found.metadata.dependencies] == ["xpkg.example.org/acme/provider-nop"]
    assert found.metadata.annotations == {"meta.crossplane.io/maintainer": "Robin"}


def test_a_metadata_file_is_inspected_without_its_folder(tmp_path: Path) -> None:
    write_files(tmp_path, {"crossplane.yaml": CONFIGURATION, "broken.yaml": "{"})

    assert inspect_path(tmp_path / "crossplane.yaml", Limits()).metadata.name == "platform"


def test_a_metadata_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"crossplane.yaml": CONFIGURATION})

    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_META_BYTES"):
        read_metadata(tmp_path / "crossplane.yaml", Limits(meta_bytes=100))


@pytest.mark.parametrize(
    ("files", "path", "error"),
    [
        ({"crossplane.yaml": "{"}, "", InvalidPackageFolder),
        ({"readme.md": "hello"}, "", InvalidLayout),
        ({"a.xpkg": "hello"}, "a.xpkg", InvalidPackageFile),
        ({"a.yaml": "{"}, "a.yaml", RenderError),
        ({"a.yaml": XRD}, "a.yaml", RenderError),
        ({"a.yaml": ""}, "a.yaml", RenderError),
    ],
)
def test_what_is_no_package_is_refused(
    tmp_path: Path, files: dict[str, str | bytes], path: str, error: type[RenderError]
) -> None:
    write_files(tmp_path, files)

    with pytest.raises(error):
        inspect_path(tmp_path / path, Limits())


def test_an_image_without_a_package_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.xpkg").write_bytes(saved_image([("base", tar_of({"package.json": b"{}"}))]))

    with pytest.raises(InvalidImage, match=r"/a\.xpkg: its image sha256:\w+ has no package\.yaml"):
        inspect_path(tmp_path / "a.xpkg", Limits())
