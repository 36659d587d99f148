"""What people and programs see of a package."""

import json
from pathlib import Path

import pytest
from rig.builders.packages import CONFIGURATION, CRD, PROVIDER, an_object, build_file, saved_image, tar_of

from render.app.packages.package import inspect_path
from render.limits import Limits
from render.packages import Kind, Metadata, PackagedObject
from render.views.packages.inspection import format_inspection, inspection_document
from render.xpkg.inspect import Inspection

DOCUMENTED = [
    "package",
    "apiVersion",
    "kind",
    "name",
    "crossplane",
    "dependencies",
    "crds",
    "replaces",
    "capabilities",
    "family",
    "labels",
    "annotations",
    "controllerImage",
    "permissionRequests",
    "objects",
    "misplacedObjects",
]
OF_AN_IMAGE = ["digest", "manifestDigest", "platforms", "layers", "imageAnnotations", "extensions"]
SEEDS = Path(__file__).parents[2] / "data/seeds"


def bare(kind: Kind = Kind.PROVIDER, **facts: object) -> Metadata:
    return Metadata(kind, "meta.pkg.crossplane.io/v1", "it", **facts)  # type: ignore[arg-type]


def test_a_folder_is_shown_with_all_its_facts() -> None:
    text = format_inspection(inspect_path(SEEDS / "provider", Limits()), all_objects=False)

    assert (
        text
        == f"""\
{SEEDS}/provider
  kind         Provider (meta.pkg.ibm.crossplane.io/v1alpha1)
  name         provider-sample
  crossplane   v0.13.0
  controller   acme/provider-sample-controller:v0.1.0
  permissions  * on things, things/status

Annotations
  company      Acme
  description  The sample provider adds resources to try things with.
  keywords     cloud-native, kubernetes
  license      Apache-2.0
  maintainer   Robin Roe <robin@acme.example>
  provider     sample
  source       github.com/acme/provider-sample

Dependencies (1)
  Provider       acme/provider-unusual  v0.1.0

Objects (1: 1 CustomResourceDefinition)
  CustomResourceDefinition  samples.acme.example
"""
    )


def test_annotations_that_the_specification_defines_are_facts() -> None:
    found = inspect_path(SEEDS / "xpkg-configuration", Limits())

    text = format_inspection(found, all_objects=False)

    rows = text.splitlines()[3:8]
    assert [row.split()[0] for row in rows] == ["maintainer", "source", "license", "description", "readme"]
    assert rows[4].endswith("# Annotated Longer text, in two paragraphs.")
    assert "acme.example/team  platform" in text


def test_a_package_file_is_shown_with_its_digests(tmp_path: Path) -> None:
    path = build_file(tmp_path / "a.xpkg", {"crossplane.yaml": CONFIGURATION, "examples/a.yaml": "a: b\n"})
    found = inspect_path(path, Limits())

    text = format_inspection(found, all_objects=False)

    assert found.image is not None
    base, examples = found.image.manifest.layers
    assert f"  digest      {found.image.digest}\n" in text
    assert text.endswith(
        f"Layers (2)\n  base           {base.digest}  {base.size:,} bytes\n"
        f"  upbound        {examples.digest}  {examples.size:,} bytes\n"
    )


def test_many_objects_are_listed_only_on_request() -> None:
    objects = tuple(
        PackagedObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"n{i:02}") for i in range(25)
    )
    found = Inspection("it", bare(), objects)

    short, whole = (format_inspection(found, all_objects=every) for every in (False, True))

    assert "Objects (25: 25 CustomResourceDefinition)" in short
    assert "  … 5 more; --objects lists them all" in short
    assert "n24" not in short
    assert "n24" in whole
    assert "more;" not in whole


def test_what_crossplane_will_not_like_is_noted(tmp_path: Path) -> None:
    other = an_object("apiextensions.crossplane.io/v1", "Composition", "small")
    package = f"---\n{PROVIDER}---\n{CRD}---\n{other}".encode()
    (tmp_path / "a.xpkg").write_bytes(saved_image([("base", tar_of({"package.yaml": package}))]))

    found = inspect_path(tmp_path / "a.xpkg", Limits())

    text = format_inspection(found, all_objects=False)
    assert "note: Crossplane leaves out 1 object: a Provider may hold only CustomResourceDefinition," in text
    document = inspection_document(found)
    assert document["misplacedObjects"] == ["Composition/small"]


def test_nothing_from_outside_reaches_the_terminal_as_it_is() -> None:
    odd = "a\x1b[2J\x07\u202e\x85\nb"
    metadata = bare(
        labels={"pkg.crossplane.io/provider-family": odd},
        annotations={odd: odd, "meta.crossplane.io/maintainer": odd},
        capabilities=(odd,),
        controller_image=odd,
    )
    found = Inspection(odd, metadata, (PackagedObject(odd, odd, odd),))

    text = format_inspection(found, all_objects=True)

    assert all(line.isprintable() for line in text.split("\n"))


def test_a_folder_has_the_documented_fields_for_programs() -> None:
    document = inspection_document(inspect_path(SEEDS / "provider", Limits()))

    assert list(document) == DOCUMENTED
    assert document["controllerImage"] == "acme/provider-sample-controller:v0.1.0"
    assert document["permissionRequests"] == [
        {"apiGroups": ["other.acme.example"], "resources": ["things", "things/status"], "verbs": ["*"]}
    ]
    assert document["dependencies"] == [
        {"package": "acme/provider-unusual", "constraint": "v0.1.0", "kind": "Provider", "apiVersion": None}
    ]
    assert json.loads(json.dumps(document)) == document


def test_an_image_has_more_of_them(tmp_path: Path) -> None:
    path = build_file(tmp_path / "a.xpkg", {"crossplane.yaml": PROVIDER, "crd.yaml": CRD})

    document = inspection_document(inspect_path(path, Limits()))

    assert list(document) == [*DOCUMENTED, *OF_AN_IMAGE]
    assert document["digest"] == document["manifestDigest"]
    [layer] = document["layers"]
    assert layer["annotations"] == {"io.crossplane.xpkg": "base"}
    assert document["objects"] == [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "name": "nops.example.org",
        }
    ]


@pytest.mark.parametrize("kind", list(Kind))
def test_the_smallest_package_is_three_lines(kind: Kind) -> None:
    text = format_inspection(Inspection("it", bare(kind)), all_objects=False)

    assert text == f"it\n  kind  {kind} (meta.pkg.crossplane.io/v1)\n  name  it\n"
