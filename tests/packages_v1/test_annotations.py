"""Which metadata files apply to a CRD, and the annotations it gets: the rules of Packages v1 section by section."""

import base64

import pytest
from rig.builders.first_format import APP, SVG, annotations, converted, crd, only_crd, package, problems

GROUP = "title: Group\noverview: Of the group\noverviewShort: Short\nreadme: Read\ncategory: Data\n"
RESOURCE = "id: mytype\ntitle: Mine\ntitlePlural: Mines\ncategory: Data\noverview: Of mine\nreadme: Read\n"
PNG, JPG = b"\x89PNG", b"\xff\xd8\xff"
FOLDER = "resources/group/mytype/v1alpha1"


def uri(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


# The tree that the package manager of that time was tested with.
COMPLEX: dict[str, str | bytes] = {
    "app.yaml": APP,
    "icon.jpg": JPG,
    "resources/group/group.yaml": GROUP,
    "resources/group/ui-schema.yaml": "ui: group\n",
    f"{FOLDER}/icon.png": PNG,
    f"{FOLDER}/icon.svg": SVG,
    f"{FOLDER}/resource.yaml": RESOURCE,
    f"{FOLDER}/ui-schema.yaml": "ui: folder\n",
    f"{FOLDER}/mytype.ui-schema.yaml": "ui: kind\n",
    f"{FOLDER}/unmatched.ui-schema.yaml": "ui: unmatched\n",
    f"{FOLDER}/mytype.v1alpha1.crd.yaml": crd("Mytype"),
    f"{FOLDER}/sibling.v1alpha1.crd.yaml": crd("Sibling"),
    "resources/group/cousin/v1alpha1/cousin.crd.yaml": crd("Cousin"),
    "resources/other/secondcousin/v1alpha1/crd.yaml": crd("Secondcousin", group="other.example.org"),
}
GROUP_TEXTS = {
    "group-title": "Group",
    "group-overview": "Of the group",
    "group-overview-short": "Short",
    "group-readme": "Read",
    "group-category": "Data",
}
RESOURCE_TEXTS = {
    "resource-title": "Mine",
    "resource-title-plural": "Mines",
    "resource-category": "Data",
    "resource-overview": "Of mine",
    "resource-readme": "Read",
}
TITLE = {"package-title": "Sample Crossplane Stack"}
SVG_URI, JPG_URI = uri("image/svg+xml", SVG), uri("image/jpeg", JPG)


def test_the_tree_of_the_old_package_manager_gets_the_annotations_it_got_there() -> None:
    assert annotations(COMPLEX) == {
        "Mytype": {
            **TITLE,
            **GROUP_TEXTS,
            **RESOURCE_TEXTS,
            "icon-data-uri": SVG_URI,
            "ui-schema": "ui: group\n---\nui: folder\n---\nui: kind\n",
        },
        "Sibling": {
            **TITLE,
            **GROUP_TEXTS,
            "icon-data-uri": SVG_URI,
            "ui-schema": "ui: group\n---\nui: folder\n",
        },
        "Cousin": {**TITLE, **GROUP_TEXTS, "icon-data-uri": JPG_URI, "ui-schema": "ui: group\n"},
        "Secondcousin": {**TITLE, "icon-data-uri": JPG_URI},
    }


def test_in_that_tree_an_icon_of_the_kind_wins_over_the_icon_of_its_folder() -> None:
    found = annotations({**COMPLEX, f"{FOLDER}/mytype.icon.svg": b"<svg/>"})

    assert found["Mytype"]["icon-data-uri"] == uri("image/svg+xml", b"<svg/>")
    assert found["Sibling"]["icon-data-uri"] == SVG_URI


def test_in_that_tree_the_ui_schema_that_matches_no_kind_is_a_warning() -> None:
    assert converted(COMPLEX).warnings == (
        f".registry/{FOLDER}/unmatched.ui-schema.yaml: it applies to no CRD and is left out",
        "install.yaml: the package has none, so nothing acts on its CRDs; its Provider runs with replicas: 0",
    )


@pytest.mark.parametrize(
    "name", ["group.yaml", "resource.yaml", "icon.svg", "other.icon.png", "ui-schema.yaml"]
)
def test_a_metadata_file_that_applies_to_no_crd_is_a_warning(name: str) -> None:
    files = package({f"elsewhere/{name}": SVG if "icon" in name else "id: mytype\ngroup: a.example.org\n"})

    warnings = converted(files).warnings

    assert any(
        warning.startswith(f".registry/elsewhere/{name}: it applies to no CRD") for warning in warnings
    )


def test_a_file_applies_only_to_crds_in_its_folder_or_below_and_not_to_a_folder_that_starts_alike() -> None:
    files = package({"foo/icon.svg": SVG, "foobar/crd.yaml": crd("Other"), "foo/a/crd.yaml": crd("Inner")})

    found = annotations(files)

    assert "icon-data-uri" in found["Inner"]
    assert "icon-data-uri" not in found["Other"]


def test_of_several_group_files_the_nearest_one_counts() -> None:
    files = package({"group.yaml": "title: Far\n", "resources/group.yaml": "title: Near\n"})

    assert annotations(files)["Mytype"]["group-title"] == "Near"


def test_of_several_resource_files_the_nearest_one_with_the_kind_as_its_id_counts() -> None:
    files = package({
        "resource.yaml": "id: MyType\ntitle: Far\n",
        "resources/one.resource.yaml": "id: other\ntitle: Other\n",
    })  # fmt: skip

    assert annotations(files)["Mytype"]["resource-title"] == "Far"


def test_two_resource_files_that_are_equally_near_are_refused() -> None:
    files = package(
        {"resources/a.resource.yaml": "id: mytype\n", "resources/b.resource.yaml": "id: Mytype\n"}
    )

    [problem] = problems(files)

    assert problem.startswith(".registry/resources/b.resource.yaml: ")
    assert ".registry/resources/a.resource.yaml" in problem


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["icon.svg", "resources/icon.gif"], "resources/icon.gif"),
        (["resources/icon.gif", "resources/icon.jpg", "resources/icon.png"], "resources/icon.png"),
        (["resources/icon.gif", "resources/icon.jpeg"], "resources/icon.jpeg"),
        (["resources/icon.svg", "resources/mytype.icon.gif"], "resources/mytype.icon.gif"),
        (["mytype.icon.svg", "resources/icon.gif"], "resources/icon.gif"),
        (["resources/Mytype.icon.svg", "icon.gif"], "icon.gif"),
        (["resources/my-icon.svg", "icon.gif"], "icon.gif"),
    ],
)
def test_the_icon_is_the_one_of_the_nearest_folder_then_of_the_kind_then_svg_png_jpg_gif(
    files: list[str], chosen: str
) -> None:
    given: dict[str, str | bytes] = {name: name.encode() for name in files}

    found = annotations(package(given))["Mytype"]["icon-data-uri"]

    assert base64.b64decode(found.partition(",")[2]).decode() == chosen


def test_a_ui_schema_may_name_the_kind_and_the_version() -> None:
    files = package(
        {"resources/mytype.v1alpha1.ui-schema.yaml": "a: 1\n", "mytype.v9.ui-schema.yaml": "b: 1\n"}
    )

    assert annotations(files)["Mytype"]["ui-schema"] == "a: 1\n"


def test_what_a_crd_has_already_wins_and_its_ui_schema_comes_first() -> None:
    text = crd().replace(
        "spec:",
        "  labels: {controller-tools.k8s.io: '1.0', app.kubernetes.io/managed-by: make}\n"
        "  annotations:\n"
        "    packages.crossplane.io/group-title: Mine\n"
        '    packages.crossplane.io/ui-schema: "own: 1"\n'
        "spec:",
        1,
    )
    files = package({"resources/crd.yaml": text, "group.yaml": GROUP, "ui-schema.yaml": "ui: 1\n"})

    found = only_crd(files)["metadata"]

    assert found["annotations"]["packages.crossplane.io/group-title"] == "Mine"
    assert found["annotations"]["packages.crossplane.io/ui-schema"] == "own: 1\n---\nui: 1\n"
    assert found["labels"] == {"app.kubernetes.io/managed-by": "make", "controller-tools.k8s.io": "1.0"}


def test_every_crd_gets_the_label_of_the_package_manager() -> None:
    assert only_crd(package())["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "package-manager"}


def test_a_field_that_is_missing_makes_no_annotation() -> None:
    assert annotations(package({"group.yaml": "title: Group\n", "app.yaml": "{}"}))["Mytype"] == {
        "group-title": "Group"
    }


def test_a_crd_of_several_folders_is_described_by_those_of_its_highest_version_first() -> None:
    files = package({
        "app.yaml": APP,
        "resources/a/crd.yaml": crd(version="v1beta1"),
        "resources/a/resource.yaml": "id: mytype\ntitle: New\n",
        "resources/b/crd.yaml": crd(version="v1alpha2"),
        "resources/b/resource.yaml": "id: mytype\ntitle: Old\ncategory: Data\n",
    })  # fmt: skip

    found = annotations(files)["Mytype"]

    assert (found["resource-title"], found["resource-category"]) == ("New", "Data")


def test_annotations_over_the_limit_of_kubernetes_name_the_icon_that_is_too_large() -> None:
    found = problems(package({"resources/icon.png": b"x" * (192 << 10)}))

    assert len(found) == 1
    assert found[0].startswith(".registry/resources/icon.png: the annotations of one object have ")
    assert "mytypes.samples.example.org" in found[0]
    assert found[0].endswith("Kubernetes accepts 256 KiB")


def test_an_icon_that_a_crd_has_already_is_not_blamed_on_a_file() -> None:
    own = f"metadata:\n  annotations: {{packages.crossplane.io/icon-data-uri: '{'y' * (257 << 10)}'}}\n"
    files: dict[str, str | bytes] = {
        "icon.svg": SVG,
        "resources/crd.yaml": crd().replace("metadata:\n", own),
    }

    [problem] = problems(package(files))

    assert problem.startswith(".registry/resources/crd.yaml: mytypes.samples.example.org: ")
    assert "most of them in packages.crossplane.io/icon-data-uri" in problem


def test_texts_over_the_limit_name_their_annotation() -> None:
    found = problems(package({"resources/group.yaml": f"readme: {'x' * (257 << 10)}\n"}))

    assert "most of them in packages.crossplane.io/group-readme" in found[0]


def test_an_icon_over_32_kib_is_a_warning_with_the_number_of_objects_that_hold_it() -> None:
    files = package({"resources/icon.png": b"x" * ((32 << 10) + 1), "resources/b/crd.yaml": crd("Other")})

    [warning, _] = converted(files).warnings

    assert warning.startswith(".registry/resources/icon.png: the icon has 32,769 bytes")
    assert "2 objects" in warning


def test_an_icon_of_32_kib_is_no_warning() -> None:
    assert len(converted(package({"resources/icon.png": b"x" * (32 << 10)})).warnings) == 1


def test_an_icon_without_content_is_refused() -> None:
    assert problems(package({"resources/icon.png": b""})) == [
        ".registry/resources/icon.png: the icon is empty"
    ]


def test_a_ui_schema_that_is_no_text_is_refused_with_its_line() -> None:
    [problem] = problems(package({"ui-schema.yaml": b"a: 1\n\xff"}))

    assert problem == ".registry/ui-schema.yaml: line 2: byte 0xff is not UTF-8"
