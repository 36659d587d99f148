"""The judge of objects: it takes what a real API server takes, and finds what it refuses."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from rig.cluster.crds import check_shape, description, is_known, problems_of
from rig.docs.examples import EXAMPLES, RENDERED

from render.system.files import LOCK_FILE

PACKAGE = "xpkg.example.org/acme/provider-net:v1.0.0"
PINNED = "xpkg.example.org/acme/provider-net@sha256:" + "a" * 64
AUTHORITIES = "spec.verification.cosign.authorities"
SERVER_SIDE = {"argocd.argoproj.io/sync-options": "Prune=false, ServerSideApply=true"}


def an_object(kind: str, spec: Any = None, *, version: str = "v1", **metadata: Any) -> dict[str, Any]:
    """Return an object of pkg.crossplane.io with a name, unless the metadata say otherwise."""
    head = {"apiVersion": f"pkg.crossplane.io/{version}", "kind": kind}
    return {**head, "metadata": {"name": "net"} | metadata} | ({} if spec is None else {"spec": spec})


def provider(**spec: Any) -> dict[str, Any]:
    """Return a Provider whose spec has some more fields, or others."""
    return an_object("Provider", {"package": PACKAGE} | spec)


def named(**metadata: Any) -> dict[str, Any]:
    """Return a Provider with some metadata."""
    return an_object("Provider", {"package": PACKAGE}, **metadata)


def image_config(**spec: Any) -> dict[str, Any]:
    """Return a pin whose spec has some more fields, or others."""
    pin = {"matchImages": [{"type": "Prefix", "prefix": PACKAGE}], "rewriteImage": {"prefix": PINNED}}
    return an_object("ImageConfig", pin | spec, version="v1beta1")


def a_lock(**package: Any) -> dict[str, Any]:
    """Return a Lock of one package, which has some more fields, or others."""
    depends = {"package": "xpkg.example.org/acme/base", "constraints": ">=v1", "type": "Provider"}
    first = {"name": "net-aaa", "source": "xpkg.example.org/acme/provider-net", "version": "v1.0.0"}
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "Lock",
        "metadata": {"name": "lock"},
        "packages": [first | {"dependencies": [depends]} | package],
    }


def verified_by(**key: Any) -> dict[str, Any]:
    """Return an ImageConfig that asks for a signature by a key."""
    authority = {"name": "acme", "key": {"secretRef": {"name": "keys", "key": "acme.pub"}} | key}
    return image_config(verification={"provider": "Cosign", "cosign": {"authorities": [authority]}})


def all_rules(shape: Any) -> Iterator[Mapping[str, Any]]:
    """Find every shape with rules."""
    for inner in shape.values() if isinstance(shape, dict) else ():
        yield from all_rules(inner)
    if isinstance(shape, dict) and "rules" in shape:
        yield shape


REVISION = {"desiredState": "Active", "image": PACKAGE, "revision": 1}
RUNTIME = {"deploymentTemplate": {"spec": {"replicas": 1}}, "serviceTemplate": {"metadata": {"name": "net"}}}
EVERY_KIND = [
    an_object("Provider", {"package": PACKAGE, "runtimeConfigRef": {"name": "small"}}),
    an_object("Configuration", {"package": PINNED, "revisionHistoryLimit": 0}),
    an_object("Function", {"package": PACKAGE, "packagePullSecrets": [{"name": "keys"}]}),
    an_object("Function", {"package": PACKAGE}, version="v1beta1"),
    an_object("ProviderRevision", REVISION),
    an_object("ConfigurationRevision", REVISION),
    an_object("FunctionRevision", REVISION | {"tlsServerSecretName": "tls"}),
    an_object("FunctionRevision", REVISION, version="v1beta1"),
    an_object("DeploymentRuntimeConfig", RUNTIME, version="v1beta1"),
    image_config(),
    a_lock(),
]


def test_the_locks_and_manifests_of_the_examples_are_taken() -> None:
    files = [*EXAMPLES.glob(f"*/{LOCK_FILE}"), *EXAMPLES.glob(f"*/{RENDERED}")]
    objects = [value for path in files for value in yaml.safe_load_all(path.read_text())]

    judged = [(value["kind"], problems_of(value)) for value in objects if is_known(value)]

    assert {kind for kind, _ in judged} >= {"Configuration", "Lock"}
    assert [entry for entry in judged if entry[1]] == []


@pytest.mark.parametrize("value", EVERY_KIND, ids=lambda value: f"{value['kind']} {value['apiVersion']}")
def test_an_object_of_each_kind_is_taken(value: dict[str, Any]) -> None:
    assert problems_of(value) == []


def test_every_kind_that_is_described_has_a_test() -> None:
    described = {
        (kind, f"pkg.crossplane.io/{version}")
        for kind, entry in description()["kinds"].items()
        for version in entry["versions"]
    }

    assert {(value["kind"], value["apiVersion"]) for value in EVERY_KIND} == described


@pytest.mark.parametrize(
    "value",
    [
        # What the API server fills in may be missing or null, even where it is required.
        verified_by(),
        verified_by(hashAlgorithm=None),
        provider(packagePullPolicy=None, runtimeConfigRef=None),
        named(creationTimestamp=None, labels=None),
        # Fields without an enum take any text, and numbers need not look like integers.
        provider(revisionActivationPolicy="Sometimes", revisionHistoryLimit=2.0),
        provider(revisionHistoryLimit=2**63 - 1),
        provider() | {"status": {"currentRevision": "net-aaa"}},
        an_object("Provider"),
    ],
)
def test_what_looks_wrong_and_is_taken(value: dict[str, Any]) -> None:
    assert problems_of(value) == []


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (provider(controllerConfigRef={}), "spec.controllerConfigRef: no such field"),
        (provider(packagePullSecrets=[{"nam": "a"}]), "spec.packagePullSecrets[0].nam: no such field"),
        (provider() | {"data": None}, "data: no such field"),
        (a_lock() | {"spec": {}}, "spec: no such field"),
        (provider() | {"status": {"ready": True}}, "status.ready: no such field"),
        (named(lables={}), "metadata.lables: no such field"),
    ],
)
def test_an_unknown_field_is_found(value: dict[str, Any], problem: str) -> None:
    assert problems_of(value) == [problem]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (provider(package=7), "spec.package: 7 is not of type string"),
        (provider(package=None), "spec.package: None is not of type string"),
        (provider(skipDependencyResolution="true"), "'true' is not of type boolean"),
        (provider(revisionHistoryLimit=True), "True is not of type integer"),
        (provider(revisionHistoryLimit=1.5), "1.5 is not of type integer"),
        (provider(revisionHistoryLimit=float("nan")), "nan is not of type integer"),
        (provider(revisionHistoryLimit=2**63), "9223372036854775808 is not of type integer"),
        (provider(packagePullSecrets={}), "spec.packagePullSecrets: {} is not of type list"),
        (provider(packagePullSecrets=["keys"]), "spec.packagePullSecrets[0]: 'keys' is not of type object"),
        (provider(packagePullSecrets=[None]), "spec.packagePullSecrets[0]: None is not of type object"),
        (provider(commonLabels=[]), "spec.commonLabels: [] is not of type object"),
        (provider(commonLabels={"a": 1}), "spec.commonLabels.a: 1 is not of type string"),
        (provider(commonLabels={1: "a"}), "spec.commonLabels, key: 1 is not of type string"),
        (an_object("Provider", "text"), "spec: 'text' is not of type object"),
        (image_config(matchImages=None), "spec.matchImages: None is not of type list"),
    ],
)
def test_a_wrong_type_is_found(value: dict[str, Any], problem: str) -> None:
    assert len(problems_of(value)) == 1
    assert problem in problems_of(value)[0]


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        (an_object("Provider", {}), ["spec.package: missing"]),
        (provider(runtimeConfigRef={}), ["spec.runtimeConfigRef.name: missing"]),
        (
            an_object("FunctionRevision", {"image": PACKAGE}),
            ["spec.desiredState: missing", "spec.revision: missing"],
        ),
        (image_config(matchImages=[{"type": "Prefix"}]), ["spec.matchImages[0].prefix: missing"]),
        (verified_by(secretRef={"name": "keys"}), [f"{AUTHORITIES}[0].key.secretRef.key: missing"]),
    ],
)
def test_a_missing_field_is_found(value: dict[str, Any], problems: list[str]) -> None:
    assert problems_of(value) == problems


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            image_config(matchImages=[{"prefix": "a", "type": "prefix"}]),
            "spec.matchImages[0].type: 'prefix' is none of Prefix",
        ),
        (
            image_config(verification={"provider": "GPG"}),
            "spec.verification.provider: 'GPG' is none of Cosign",
        ),
        (
            a_lock(type="Operation"),
            "packages[0].type: 'Operation' is none of Configuration, Provider, Function",
        ),
    ],
)
def test_a_value_outside_an_enum_is_found(value: dict[str, Any], problem: str) -> None:
    assert problems_of(value) == [problem]


# The parsing vectors of Crossplane's package manager: what its rule on spec.package says.
@pytest.mark.parametrize(
    ("package", "taken"),
    [
        ("xpkg.crossplane.io/crossplane-contrib/provider-nop:v0.4.0", True),
        ("xpkg.crossplane.io/crossplane-contrib/provider-nop", False),
        ("crossplane-contrib/provider-nop:v0.4.0", False),
        ("provider-nop:v0.4.0", False),
        ("docker.io/provider-nop:v1", True),
        ("localhost:5000/org/pkg:v1.0.0", False),
        ("registry.local:5000/org/pkg:v1.0.0", True),
        ("registry.local:5000/org/pkg", False),
        ("127.0.0.1:5000/pkg:v1", True),
        ("registry.io/pkg:v1.0.0", True),
        ("ghcr.io/Org/pkg:v1", True),
        ("ghcr.io/org/pkg:", False),
        ("ghcr.io/org/pkg@sha256:abc", True),
        (f"ghcr.io/org/pkg:v1@sha512:{'a' * 128}", False),
        ("ghcr.io/org/pkg:v1.0.0+build", True),
        ("ghcr.io/org/sub/deep/pkg_x.y:V1.0", True),
        ("not.a.valid.package", False),
        ("invalid::reference", False),
        # A line break may be in a tag; after a digest, no dot matches it, and no end comes before it.
        ("ghcr.io/org/pkg:v1\n", True),
        ("ghcr.io/org/pkg@sha256:abc\n", False),
    ],
)
@pytest.mark.parametrize("kind", ["Provider", "Configuration", "Function"])
def test_the_rule_on_packages_is_evaluated(kind: str, package: str, taken: bool) -> None:
    problem = f"spec.package: {package!r} is not a registry with a dot, a repository, and a tag or digest"

    assert problems_of(an_object(kind, {"package": package})) == ([] if taken else [problem])


def test_the_rule_on_packages_does_not_hold_for_revisions() -> None:
    assert problems_of(an_object("ProviderRevision", REVISION | {"image": "provider-nop"})) == []


def test_a_list_that_must_not_be_empty_is_found() -> None:
    assert problems_of(image_config(matchImages=[])) == ["spec.matchImages: [] is empty"]


def test_every_rule_that_is_described_is_understood() -> None:
    shapes = [*all_rules(description()["kinds"])]

    assert len(shapes) == 4
    for shape in shapes:
        assert [*check_shape("" if shape["of"] == "string" else [], shape)]


def test_a_rule_without_a_translation_fails_the_test() -> None:
    with pytest.raises(LookupError, match=r"self\.startsWith"):
        [*check_shape("a", {"of": "string", "rules": ["self.startsWith('a')"]})]


@pytest.mark.parametrize("name", ["a", "1", "a.b-c.d", "a" * 253])
def test_a_dns_subdomain_is_a_name(name: str) -> None:
    assert problems_of(named(name=name)) == []


@pytest.mark.parametrize("name", ["", "A", "a_b", "a..b", "-a", "a-", "a\n", "a/b", "ä", "a" * 254])
def test_any_other_name_is_found(name: str) -> None:
    assert problems_of(named(name=name)) == [f"metadata.name: {name!r} is not a DNS subdomain"]


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({}, "metadata.name: missing"),
        ({"generateName": "net-"}, "metadata.name: missing"),
        ({"name": 1}, "metadata.name: 1 is not of type string"),
        ({"name": None}, "metadata.name: None is not of type string"),
        ({"name": "net", "namespace": "default"}, "metadata.namespace: no such field"),
        ({"name": "net", "managedFields": []}, "metadata.managedFields: no such field"),
        ({"name": "net", "labels": {"a": 1}}, "metadata.labels.a: 1 is not of type string"),
        ({"name": "net", "labels": []}, "metadata.labels: [] is not of type object"),
        ({"name": "net", "annotations": {"a": True}}, "metadata.annotations.a: True is not of type string"),
        (None, "metadata: None is not of type object"),
    ],
)
def test_wrong_metadata_are_found(metadata: Any, problem: str) -> None:
    assert problems_of(provider() | {"metadata": metadata}) == [problem]


def test_an_object_without_metadata_has_no_name() -> None:
    value = {key: item for key, item in provider().items() if key != "metadata"}

    assert problems_of(value) == ["metadata.name: missing"]


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("key", ["a", "A_b.c-1", "xplock.dev/a", f"{'a' * 253}/{'b' * 63}"])
def test_a_word_with_or_without_a_domain_is_a_key(field: str, key: str) -> None:
    assert problems_of(named(**{field: {key: "a"}})) == []


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize("key", ["", "a b", "-a", "a/", "/a", "a/b/c", "a_b/c", "a" * 64, f"{'a' * 254}/b"])
def test_any_other_key_is_found(field: str, key: str) -> None:
    assert problems_of(named(**{field: {key: "a"}})) == [f"metadata.{field}: {key!r} cannot be a key"]


def test_only_the_keys_of_annotations_may_have_capitals_in_their_domain() -> None:
    assert problems_of(named(annotations={"Example.org/a": "a"})) == []
    assert problems_of(named(labels={"Example.org/a": "a"})) == [
        "metadata.labels: 'Example.org/a' cannot be a key"
    ]


@pytest.mark.parametrize("text", ["a/b", "a b", "-a", "a\n", "a" * 64])
def test_only_the_values_of_labels_are_words(text: str) -> None:
    assert problems_of(named(annotations={"a": text})) == []
    assert problems_of(named(labels={"a": text})) == [
        f"metadata.labels.a: {text!r} cannot be the value of a label"
    ]


@pytest.mark.parametrize("text", ["", "a", "A_b.c-1", "a" * 63])
def test_a_label_may_have_a_word_or_nothing_as_its_value(text: str) -> None:
    assert problems_of(named(labels={"a": text})) == []


# Two keys of one letter and one long value leave 131071 bytes for the other.
@pytest.mark.parametrize(
    ("text", "taken"), [("b" * 131_071, True), ("b" * 131_072, False), ("ä" * 65_536, False)]
)
def test_annotations_share_256_kib(text: str, taken: bool) -> None:
    value = named(annotations={"a": "b" * 131_071, "c": text})

    assert problems_of(value) == ([] if taken else ["metadata.annotations: more than 262144 bytes"])


def test_all_problems_are_found_at_once() -> None:
    value = an_object("Provider", {"pakage": PACKAGE, "packagePullPolicy": 1}, labels={"a b": "c d"})

    assert problems_of(value) == [
        "spec.pakage: no such field",
        "spec.packagePullPolicy: 1 is not of type string",
        "spec.package: missing",
        "metadata.labels: 'a b' cannot be a key",
        "metadata.labels.a b: 'c d' cannot be the value of a label",
    ]


def test_a_partial_object_needs_no_required_fields() -> None:
    value = an_object("ProviderRevision", {"desiredState": "Inactive"}, annotations=SERVER_SIDE)

    assert problems_of(value, partial=True) == []
    assert problems_of(value) == ["spec.image: missing", "spec.revision: missing"]


@pytest.mark.parametrize(
    "annotations", [None, {}, {"argocd.argoproj.io/sync-options": "ServerSideApply=false,Prune=false"}]
)
def test_a_partial_object_that_is_not_applied_by_the_server_is_found(annotations: Any) -> None:
    value = an_object("ProviderRevision", {"desiredState": "Inactive"}, annotations=annotations)

    assert problems_of(value, partial=True) == [
        "metadata.annotations.argocd.argoproj.io/sync-options: a partial object needs ServerSideApply=true"
    ]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (an_object("ProviderRevision", {"desired": "Inactive"}), "spec.desired: no such field"),
        (an_object("ProviderRevision", {"desiredState": 1}), "spec.desiredState: 1 is not of type string"),
        (an_object("Provider", {"package": "net"}), "spec.package: 'net' is not a registry with a dot"),
        # A list is replaced as a whole.
        (image_config(matchImages=[{}]), "spec.matchImages[0].prefix: missing"),
        (image_config(matchImages=[]), "spec.matchImages: [] is empty"),
        (an_object("Provider", name="A"), "metadata.name: 'A' is not a DNS subdomain"),
        (an_object("Provider") | {"metadata": {}}, "metadata.name: missing"),
    ],
)
def test_what_a_partial_object_says_must_be_right(value: dict[str, Any], problem: str) -> None:
    metadata = value["metadata"] | {"annotations": SERVER_SIDE}

    problems = problems_of(value | {"metadata": metadata}, partial=True)

    assert len(problems) == 1
    assert problems[0].startswith(problem)


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Provder"),
        ("v1beta1", "Provider"),
        ("v1", "ImageConfig"),
        ("v1", None),
        ("v2", "Lock"),
        ("v1", []),
    ],
)
def test_a_kind_that_the_group_does_not_have_is_found(version: str, kind: Any) -> None:
    value = an_object("", {}, version=version) | {"kind": kind}

    assert is_known(value)
    assert problems_of(value) == [f"there is no kind pkg.crossplane.io/{version} {kind}"]


@pytest.mark.parametrize("api_version", [None, 1])
def test_what_is_not_even_an_object_is_found(api_version: Any) -> None:
    value = {"apiVersion": api_version, "kind": "Provider", "metadata": {"name": "a"}}

    assert is_known(value)
    assert problems_of(value) == [f"there is no kind {api_version} Provider"]


@pytest.mark.parametrize("api_version", ["v1", "meta.pkg.crossplane.io/v1", "xplock.dev/v1alpha1", ""])
def test_objects_of_other_groups_are_not_judged(api_version: str) -> None:
    value = {"apiVersion": api_version, "kind": "Provider"}

    assert not is_known(value)
    with pytest.raises(KeyError, match="ask is_known first"):
        problems_of(value)
