"""app.yaml becomes the metadata of a Provider of today."""

from rig.builders.first_format import APP, SVG, converted, crd, package

FULL = """\
apiVersion: 0.1.0
version: 0.0.1
title: Sample
overviewShort: One line
overview: Several lines
readme: "*Markdown*"
maintainers: [{name: One, email: one@example.org}, {name: Two}]
owners: [{name: Three, email: three@example.org}]
company: Example
category: Database
keywords: [a, b]
website: https://example.org
source: https://git.example.org/sample
license: Apache-2.0
packageType: Stack
permissionScope: Cluster
"""


def test_the_texts_of_a_package_become_the_annotations_of_today_and_all_others_keep_their_names() -> None:
    found = converted(package({"app.yaml": FULL, "icon.svg": SVG})).metadata

    assert (found.api_version, found.kind, found.name) == (
        "meta.pkg.crossplane.io/v1",
        "Provider",
        "sample-stack",
    )
    icon = found.annotations["meta.crossplane.io/iconURI"]
    assert icon.startswith("data:image/svg+xml;base64,")
    assert dict(found.annotations) == {
        "friendly-name.meta.crossplane.io": "Sample",
        "meta.crossplane.io/description": "One line",
        "meta.crossplane.io/iconURI": icon,
        "meta.crossplane.io/license": "Apache-2.0",
        "meta.crossplane.io/maintainer": "One <one@example.org>, Two",
        "meta.crossplane.io/readme": "*Markdown*",
        "meta.crossplane.io/source": "https://git.example.org/sample",
        "packages.crossplane.io/category": "Database",
        "packages.crossplane.io/company": "Example",
        "packages.crossplane.io/keywords": "a,b",
        "packages.crossplane.io/overview": "Several lines",
        "packages.crossplane.io/owners": "Three <three@example.org>",
        "packages.crossplane.io/packageType": "Stack",
        "packages.crossplane.io/permissionScope": "Cluster",
        "packages.crossplane.io/version": "0.0.1",
        "packages.crossplane.io/website": "https://example.org",
    }


def test_titles_of_groups_and_kinds_become_annotations_of_the_package_too() -> None:
    files = package({"group.yaml": "title: Samples\n", "resource.yaml": "id: mytype\ntitle: Mine\n"})

    found = converted(files).metadata.annotations

    assert found["friendly-group-name.meta.crossplane.io/samples.example.org"] == "Samples"
    assert found["friendly-kind-name.meta.crossplane.io/Mytype.samples.example.org"] == "Mine"


def test_of_a_kind_with_a_title_for_each_version_the_highest_counts() -> None:
    files = {
        "app.yaml": APP,
        "a/crd.yaml": crd(version="v1"),
        "a/resource.yaml": "id: mytype\ntitle: New\n",
        "b/crd.yaml": crd(version="v1beta1"),
        "b/resource.yaml": "id: mytype\ntitle: Old\n",
    }

    found = converted(files).metadata.annotations

    assert found["friendly-kind-name.meta.crossplane.io/Mytype.samples.example.org"] == "New"


def test_an_icon_below_the_root_is_not_the_icon_of_the_package() -> None:
    found = converted(package({"resources/icon.svg": SVG})).metadata.annotations

    assert "meta.crossplane.io/iconURI" not in found
