"""CRDs of v1beta1 become those of v1: what they said for all versions becomes part of each."""

import pytest
from rig.builders.first_format import converted, crd, only_crd, package, problems

PLACE = ".registry/resources/crd.yaml"
SCHEMA = "{openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}"
PRESERVING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_a_crd_of_v1beta1_becomes_one_of_v1() -> None:
    text = crd(
        validation=SCHEMA,
        subresources="{status: {}}",
        additionalPrinterColumns="[{name: Ready, type: string, JSONPath: .status.ready}]",
    )

    found = only_crd(package({"resources/crd.yaml": text}))

    assert (found["apiVersion"], found["kind"]) == ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    assert found["spec"] == {
        "group": "samples.example.org",
        "names": {"plural": "mytypes", "kind": "Mytype"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Ready", "type": "string", "jsonPath": ".status.ready"}
                ],
            }
        ],
    }


def test_a_crd_without_a_schema_keeps_every_field_as_v1beta1_did() -> None:
    [version] = only_crd(package())["spec"]["versions"]

    assert version["schema"] == {"openAPIV3Schema": PRESERVING}


def test_a_crd_without_a_scope_is_namespaced_which_was_the_default() -> None:
    assert only_crd(package({"resources/crd.yaml": crd(scope="")}))["spec"]["scope"] == "Namespaced"


def test_a_version_keeps_its_own_schema_and_whether_it_is_served() -> None:
    text = crd(
        version="",
        versions=f"[{{name: v1, served: true, storage: false, schema: {SCHEMA}}}, "
        "{name: v1beta1, served: false, storage: true}]",
        validation="",
    )

    one, two = only_crd(package({"resources/crd.yaml": text}))["spec"]["versions"]

    assert (one["name"], one["served"], one["storage"]) == ("v1", True, False)
    assert one["schema"]["openAPIV3Schema"]["properties"] == {"spec": {"type": "object"}}
    assert (two["name"], two["served"], two["storage"]) == ("v1beta1", False, True)
    assert two["schema"]["openAPIV3Schema"] == PRESERVING


def test_a_conversion_webhook_gets_the_fields_of_v1() -> None:
    text = crd(conversion="{strategy: Webhook, webhookClientConfig: {url: https://convert.example.org}}")

    assert only_crd(package({"resources/crd.yaml": text}))["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://convert.example.org"},
            "conversionReviewVersions": ["v1beta1"],
        },
    }


def test_a_crd_of_v1_stays_what_it_is() -> None:
    text = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: mytypes.samples.example.org}
spec:
  group: samples.example.org
  names: {kind: Mytype, plural: mytypes}
  scope: Cluster
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}, deprecated: true}
"""

    spec = only_crd(package({"resources/crd.yaml": text}))["spec"]

    assert spec["scope"] == "Cluster"
    assert spec["versions"][0]["deprecated"] is True


def test_several_crds_may_share_a_file() -> None:
    text = f"{crd('One')}---\n{crd('Two')}"

    names = [found["metadata"]["name"] for found in converted(package({"resources/crd.yaml": text})).crds]

    assert names == ["ones.samples.example.org", "twos.samples.example.org"]


def test_a_status_and_a_time_of_creation_are_left_out() -> None:
    text = (
        crd().replace("metadata:\n", "metadata:\n  creationTimestamp: null\n") + "status: {conditions: []}\n"
    )

    found = only_crd(package({"resources/crd.yaml": text}))

    assert "status" not in found
    assert set(found["metadata"]) == {"name", "labels", "annotations"}


def test_a_schema_that_is_not_structural_is_refused_with_its_path() -> None:
    text = crd(validation="{openAPIV3Schema: {properties: {spec: {properties: {}}}}}")

    assert problems(package({"resources/crd.yaml": text})) == [
        f"{PLACE}: spec.validation.openAPIV3Schema.properties.spec.type: "
        "it is missing, so the schema is not structural"
    ]


def test_a_schema_without_a_type_is_that_of_an_object() -> None:
    text = crd(validation="{openAPIV3Schema: {properties: {spec: {type: object}}}}")

    [version] = only_crd(package({"resources/crd.yaml": text}))["spec"]["versions"]

    assert version["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "properties": {"spec": {"type": "object"}},
    }


def test_preserving_unknown_fields_beside_a_schema_is_a_warning() -> None:
    text = crd(validation=SCHEMA, preserveUnknownFields="true")

    assert any(
        "preserveUnknownFields" in warning
        for warning in converted(package({"resources/crd.yaml": text})).warnings
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("kind: CustomResourceDefinition", "kind: Secret"), "expected a CustomResourceDefinition"),
        (("k8s.io/v1beta1", "k8s.io/v2"), "expected a CustomResourceDefinition"),
        (("  group: samples.example.org\n", ""), "spec: group is missing"),
        (("plural: mytypes", "plural: others"), "metadata.name: expected others.samples.example.org"),
        (("kind: Mytype, ", ""), "spec.names: kind is missing"),
        (("scope: Namespaced", "scope: Everywhere"), "spec.scope: expected Cluster or Namespaced"),
        (("  version: v1alpha1\n", ""), "spec: version is missing"),
        (("version: v1alpha1", "version: 1"), "spec.version: expected text, found 1; write it in quotes"),
        (
            ("  version: v1alpha1\n", "  version: v1\n  versions: [{name: v2}]\n"),
            "spec.version: it has to be",
        ),
    ],
)
def test_a_crd_that_says_too_little_or_contradicts_itself_is_refused(
    change: tuple[str, str], problem: str
) -> None:
    found = problems(package({"resources/crd.yaml": crd().replace(*change)}))

    assert any(one.startswith(f"{PLACE}: {problem}") for one in found), found


def test_a_crd_in_a_group_of_kubernetes_itself_needs_its_approval() -> None:
    text = crd(group="apps.k8s.io")
    approved = text.replace("spec:", "  annotations: {api-approved.kubernetes.io: unapproved}\nspec:", 1)

    [problem] = problems(package({"resources/crd.yaml": text}))

    assert problem.startswith(f"{PLACE}: metadata: apps.k8s.io is a group of Kubernetes itself")
    assert problems(package({"resources/crd.yaml": approved})) == []


def test_yaml_that_cannot_be_read_is_named_by_its_line() -> None:
    assert problems(package({"resources/crd.yaml": "a: [\n"}))[0].startswith(f"{PLACE}: line 2: ")


def test_all_problems_come_at_once() -> None:
    files = package(
        {"resources/crd.yaml": crd(scope="X"), "a/crd.yaml": crd("One", scope="Y"), "a/app.yaml": "{}"}
    )

    found = problems(files)

    assert [problem.partition(": ")[0] for problem in found] == [
        "app.yaml",
        ".registry/a/crd.yaml",
        PLACE,
    ]
