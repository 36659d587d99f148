"""The package that the format document prints is an example here, and its CRD gets what is printed there."""

from pathlib import Path

from rig.builders.first_format import converted
from rig.docs.examples import EXAMPLES

REGISTRY = EXAMPLES / "packages/samples/sample-stack/v0.0.1/.registry"
KIND = REGISTRY / "resources/samples.crossplane.io/mytype/v1alpha1"


def read_files(registry: Path) -> dict[str, str | bytes]:
    return {
        path.relative_to(registry).as_posix(): path.read_bytes()
        for path in registry.rglob("*")
        if path.is_file()
    }


def test_its_crd_gets_the_labels_and_annotations_that_are_printed_there() -> None:
    [crd] = converted(read_files(REGISTRY)).crds

    metadata = crd["metadata"]
    schemas = [(REGISTRY / "ui-schema.yaml").read_text(), (KIND / "mytype.ui-schema.yaml").read_text()]
    assert metadata["labels"] == {
        "app.kubernetes.io/managed-by": "package-manager",
        "controller-tools.k8s.io": "1.0",
    }
    assert {name.partition("/")[2]: text for name, text in metadata["annotations"].items()} == {
        # As its app.yaml is printed; beside the CRD, the words stand in another order.
        "package-title": "Sample Crossplane Stack",
        "group-title": "Title of the Group",
        "group-overview": "Overview of the Group",
        "group-overview-short": "Short overview of the Group",
        "group-readme": "Readme of the Group",
        "resource-category": "Databases",
        "resource-title": "Example Resource",
        "resource-title-plural": "Example Resources",
        "resource-overview": "Overview of the Resource",
        "resource-overview-short": "Short overview of the Resource",
        "resource-readme": "Readme of the Resource",
        "icon-data-uri": "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4K",
        "ui-schema": "---\n".join(schemas),
    }
    assert {name.partition("/")[0] for name in metadata["annotations"]} == {"packages.crossplane.io"}
