"""Documents are roots, rewrites, or passthrough objects; two requests for one source must agree."""

from typing import Any

import pytest

from render.inputs.package_on_disk import parse_dependencies
from render.inputs.roots import Document, Found, agree_on_rewrites, agree_on_roots, sort_documents
from render.limits import Limits
from render.packages import Kind
from render.references import Digest, Source
from render.rewrites import Rewrite
from render.versions.constraints import parse_constraint
from render.versions.requests import Request, Root
from render.yaml.documents import file_rules, parse_documents

DIGEST = Digest("sha256:" + "ab" * 32)
STORE = "xpkg.example.org/acme/provider-store"
STORE_SOURCE = Source("xpkg.example.org", "acme/provider-store")
NET_SOURCE = Source("xpkg.example.org", "acme/provider-net")


def provider(package: object = f"{STORE}:v1.0.0", **changes: object) -> dict[str, Any]:
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": "store"},
        "spec": {"package": package},
        **changes,
    }


def sort(*values: Any) -> Found:
    problems: list[str] = []
    found = sort_documents([Document(value, "a.yaml") for value in values], problems)
    assert problems == []
    return found


def problems_of(*values: Any) -> list[str]:
    problems: list[str] = []
    sort_documents([Document(value, "a.yaml") for value in values], problems)
    return problems


def root(place: str, **changes: Any) -> Root:
    values: dict[str, Any] = {"source": STORE_SOURCE, "request": Request(tag="v1"), "name": "store"}
    return Root(**{**values, "kind": Kind.PROVIDER, "place": place, **changes})


@pytest.mark.parametrize(
    ("package", "request_"),
    [
        (f"{STORE}:v1.0.0", Request(tag="v1.0.0")),
        (f"{STORE}@{DIGEST}", Request(digest=DIGEST)),
        (f"{STORE}:v1.0.0@{DIGEST}", Request(tag="v1.0.0", digest=DIGEST)),
        (STORE, Request()),
    ],
)
def test_a_package_carries_a_tag_a_digest_both_or_neither(package: str, request_: Request) -> None:
    (found,) = sort(provider(package)).roots

    assert found == Root(STORE_SOURCE, request_, "a.yaml: spec.package", "store", Kind.PROVIDER)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("pkg.crossplane.io/v1", "Provider"),
        ("pkg.crossplane.io/v1", "Configuration"),
        ("pkg.crossplane.io/v1", "Function"),
        ("pkg.crossplane.io/v1beta1", "Function"),
    ],
)
def test_every_kind_of_package_is_a_root(api_version: str, kind: str) -> None:
    (found,) = sort(provider(apiVersion=api_version, kind=kind)).roots

    assert found.kind == kind


def test_an_annotation_gives_a_range() -> None:
    metadata = {"name": "store", "annotations": {"xplock.dev/version": ">=v1.2"}}

    (found,) = sort(provider(STORE, metadata=metadata)).roots

    assert found.request == Request(parse_constraint(">=v1.2"))
    assert found.fields == {}


def test_everything_else_in_the_manifest_is_kept() -> None:
    annotations = {"xplock.dev/version": "*", "team": "data"}
    metadata = {"name": "store", "labels": {"tier": "1"}, "annotations": annotations}
    spec = {"package": STORE, "revisionHistoryLimit": 3, "packagePullSecrets": [{"name": "pull"}]}

    (found,) = sort(provider(metadata=metadata, spec=spec, status={"conditions": []})).roots

    assert found.fields == {
        "metadata": {"labels": {"tier": "1"}, "annotations": {"team": "data"}},
        "spec": {"revisionHistoryLimit": 3, "packagePullSecrets": [{"name": "pull"}]},
    }


@pytest.mark.parametrize("part", [{"labels": {}}, {"labels": None}, {"annotations": {}}, {"finalizers": []}])
def test_empty_parts_are_left_out(part: dict[str, Any]) -> None:
    (found,) = sort(provider(metadata={"name": "store", **part})).roots

    assert found.fields == {}


@pytest.mark.parametrize(
    ("value", "place", "fact"),
    [
        (provider("acme/x:v1"), "spec.package", "none is assumed; write registry/organisation/name:tag"),
        (provider("x:v1"), "spec.package", "none is assumed; write registry/organisation/name:tag"),
        (provider("xpkg.example.org/acme/x:V1.0.0"), "spec.package", "'V1.0.0' is not a version"),
        (provider(None), "spec.package", "it is missing"),
        (provider(5), "spec.package", "expected text, found 5"),
        (provider(spec=[]), "spec", "expected a mapping, found a list"),
        (provider(metadata={}), "metadata.name", "it is missing"),
        (provider(metadata={"name": "a.b"}), "metadata.name", "a DNS label"),
        (provider(metadata={"name": "a" * 64}), "metadata.name", "a DNS label"),
        (provider(metadata={"name": "store\n"}), "metadata.name", "a DNS label"),
        (provider(metadata={"name": "a", "labels": {"x": 1}}), "metadata.labels.x", "write it in quotes"),
        (provider(apiVersion="pkg.crossplane.io/v1beta1"), "apiVersion", "write pkg.crossplane.io/v1"),
        (provider(package_="x"), "package_", "a Provider has no such field"),
        (
            provider(spec={"package": STORE, "x": float("inf")}),
            "it holds infinity or NaN",
            "JSON does not have",
        ),
        (
            provider(spec={"package": STORE, "x": [float("nan")]}),
            "it holds infinity or NaN",
            "JSON does not have",
        ),
        ({"kind": "ConfigMap"}, "it is not a Kubernetes object", "apiVersion or kind is missing"),
        ({"apiVersion": "v1", "kind": 5}, "kind", "expected text"),
        ("text", "expected a Kubernetes object", "found text"),
        ({"apiVersion": "meta.pkg.crossplane.io/v1", "kind": "Provider"}, "apiVersion", "crossplane.yaml"),
    ],
)
def test_a_problem_names_the_file_and_the_field(value: Any, place: str, fact: str) -> None:
    problems = problems_of(value)

    assert problems[0].startswith(f"a.yaml: {place}")
    assert fact in problems[0]


@pytest.mark.parametrize("package", [f"{STORE}:v1", f"{STORE}@{DIGEST}"])
def test_a_range_excludes_a_tag_and_a_digest(package: str) -> None:
    metadata = {"name": "store", "annotations": {"xplock.dev/version": "^1"}}

    (problem,) = problems_of(provider(package, metadata=metadata))

    assert problem.startswith(
        "a.yaml: metadata.annotations[xplock.dev/version]: a range of versions excludes"
    )


def test_a_name_that_is_no_text_is_one_problem() -> None:
    (problem,) = problems_of(provider(metadata={"name": True}))

    assert problem == "a.yaml: metadata.name: expected text, found true; write it in quotes"


def test_all_problems_of_a_manifest_come_at_once() -> None:
    problems = problems_of(provider("x", metadata={"name": "A"}, colour="red"))

    assert sorted(problem.split(": ")[1] for problem in problems) == [
        "colour",
        "metadata.name",
        "spec.package",
    ]


def test_other_documents_are_passed_through_in_their_order() -> None:
    others = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}},
        {"apiVersion": "notification.toolkit.fluxcd.io/v1", "kind": "Provider", "metadata": {"name": "a"}},
        {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "DeploymentRuntimeConfig"},
    ]

    found = sort(others[0], provider(), None, *others[1:])

    assert found.passthrough == tuple(others)
    assert len(found.roots) == 1


def test_the_objects_of_a_list_count_one_by_one() -> None:
    other = {"apiVersion": "v1", "kind": "Namespace"}

    found = sort({"apiVersion": "v1", "kind": "List", "items": [provider(), other]})

    assert found.roots[0].place == "a.yaml: items[0]: spec.package"
    assert found.passthrough == (other,)


@pytest.mark.parametrize("kind", ["ConfigMap", "ListOfThings", "Foo"])
@pytest.mark.parametrize("key", ["items", "Items", "item\u017f"])
@pytest.mark.parametrize("items", [[provider()], [], None, {"a": 1}])
def test_only_a_list_may_have_items(kind: str, key: str, items: Any) -> None:
    (problem,) = problems_of({"apiVersion": "v1", "kind": kind, key: items})

    assert problem == f"a.yaml: {key}: only a List has items; Argo CD would apply each of them as an object"


@pytest.mark.parametrize("items", [None, {"a": 1}, "text"])
def test_the_items_of_a_list_have_to_be_a_list(items: Any) -> None:
    (problem,) = problems_of({"apiVersion": "v1", "kind": "List", "items": items})

    assert problem.startswith("a.yaml: items: expected a list, found ")


@pytest.mark.parametrize("key", ["Items", "item\u017f", "Kind", "apiversion", "MetaData"])
def test_a_list_has_no_keys_that_go_would_fold(key: str) -> None:
    value = {"apiVersion": "v1", "kind": "List", "items": [], key: [provider()]}

    problems = problems_of(value)

    assert [problem for problem in problems if f"the key {key!r} has to be spelled" in problem] or any(
        problem == f"a.yaml: {key}: the key has to be spelled 'items'" for problem in problems
    )


def test_an_object_inside_of_a_list_has_no_items_either() -> None:
    hiding = {"apiVersion": "v1", "kind": "ConfigMap", "items": [provider()]}

    (problem,) = problems_of({"apiVersion": "v1", "kind": "List", "items": [hiding]})

    assert problem.startswith("a.yaml: items[0]: items: only a List has items")


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_revision_is_no_input(kind: Kind, version: str) -> None:
    (problem,) = problems_of(provider(kind=f"{kind}Revision", apiVersion=f"pkg.crossplane.io/{version}"))

    assert problem == (
        f"a.yaml: Crossplane makes each {kind}Revision from its {kind}; remove it, and ask for the {kind}"
    )


def test_a_revision_of_another_group_is_passed_through() -> None:
    other = {"apiVersion": "serving.example.org/v1", "kind": "ProviderRevision"}

    assert sort(other).passthrough == (other,)


def test_an_image_config_is_passed_through_and_its_rewrites_are_understood() -> None:
    config = image_config({"rewriteImage": {"prefix": "mirror.corp/"}}, "a.io/", "b.io/")

    found = sort(config)

    assert found.passthrough == (config,)
    assert found.rewrites == (
        Rewrite("a.io/", "mirror.corp/", "a.yaml: spec.matchImages[0]"),
        Rewrite("b.io/", "mirror.corp/", "a.yaml: spec.matchImages[1]"),
    )


def test_an_image_config_for_another_purpose_rewrites_nothing() -> None:
    assert sort(image_config({"registry": {}}, "a.io/")).rewrites == ()


@pytest.mark.parametrize(
    ("spec", "prefix", "place"),
    [
        ({"rewriteImage": {}}, "a.io", "spec.rewriteImage.prefix"),
        ({"rewriteImage": {"prefix": "b.io"}}, "", "spec.matchImages[0].prefix"),
        ({"rewriteImage": {"prefix": "b.io"}, "matchImages": {}}, "a.io", "spec.matchImages"),
    ],
)
def test_a_rewrite_that_could_not_work_is_a_problem(spec: dict[str, Any], prefix: str, place: str) -> None:
    (problem,) = problems_of(image_config(spec, prefix))

    assert problem.startswith(f"a.yaml: {place}: ")


def image_config(spec: dict[str, Any], *prefixes: str) -> dict[str, Any]:
    matches = [{"type": "Prefix", "prefix": prefix} for prefix in prefixes]
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": "mirror"},
        "spec": {"matchImages": matches, **spec},
    }


def test_the_dependencies_of_a_package_on_disk_are_roots() -> None:
    problems: list[str] = []
    text = f"""
apiVersion: meta.pkg.crossplane.io/v1
kind: Configuration
metadata: {{name: shop}}
spec:
  dependsOn:
  - provider: {STORE}
    version: ">=v1.0.0"
  - apiVersion: pkg.example.org/v9
    kind: Widget
    package: {NET_SOURCE}
    version: {DIGEST}
"""

    roots = parse_dependencies(text.encode(), "crossplane.yaml", Limits(), problems)

    assert problems == []
    assert roots == (
        Root(
            STORE_SOURCE,
            Request(parse_constraint(">=v1.0.0")),
            "crossplane.yaml: spec.dependsOn[0]",
            kind=Kind.PROVIDER,
        ),
        Root(NET_SOURCE, Request(digest=DIGEST), "crossplane.yaml: spec.dependsOn[1]"),
    )


def test_the_dependencies_of_a_project_are_roots() -> None:
    problems: list[str] = []
    text = f"""
apiVersion: dev.crossplane.io/v1alpha1
kind: Project
metadata: {{name: shop}}
spec:
  repository: xpkg.example.org/acme/shop
  dependencies:
  - type: k8s
  - type: xpkg
    xpkg: {{apiVersion: pkg.crossplane.io/v1, kind: Provider, package: {STORE}, version: "*"}}
"""

    (found,) = parse_dependencies(text.encode(), "upbound.yaml", Limits(), problems)

    assert problems == []
    assert isinstance(found, Root)
    assert (found.source, found.kind) == (STORE_SOURCE, Kind.PROVIDER)
    assert found.place == "upbound.yaml: spec.dependencies[1].xpkg"


def test_nobody_completes_a_partial_dependency_of_the_folder_itself() -> None:
    problems: list[str] = []
    depends_on = "[{provider: acme/x, version: '*'}, {provider: a.io/x, version: '*'}]"
    text = f"apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nspec: {{dependsOn: {depends_on}}}"

    roots = parse_dependencies(text.encode(), "crossplane.yaml", Limits(), problems)

    assert len(roots) == 1
    assert problems[0].startswith(
        "crossplane.yaml: spec.dependsOn[0]: 'acme/x' does not start with a registry"
    )


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("spec: {dependsOn: [{provider: a.io/x, version: '>>'}]}", "spec.dependsOn[0].version: "),
        ("spec: &a {}", "line 3: anchors are not allowed"),
        ("---\nkind: More", "the only document of its file"),
    ],
)
def test_a_package_on_disk_that_is_wrong_is_a_problem_with_its_place(text: str, fact: str) -> None:
    problems: list[str] = []
    head = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\n"

    parse_dependencies((head + text).encode(), "crossplane.yaml", Limits(), problems)

    assert problems[0].startswith("crossplane.yaml: ")
    assert fact in problems[0]


HISTORY = {"spec": {"revisionHistoryLimit": 3}}


@pytest.mark.parametrize(
    "again",
    [
        pytest.param(root("b.yaml", fields=HISTORY), id="the same manifest"),
        pytest.param(root("b.yaml", kind=None), id="settings"),
        pytest.param(root("b.yaml", name=None), id="a dependency"),
        pytest.param(root("b.yaml", name=None, kind=None), id="settings without a name"),
    ],
)
def test_a_package_asked_for_twice_in_the_same_way_is_one_root(again: Root) -> None:
    problems: list[str] = []
    manifest = root("a.yaml", fields=HISTORY)

    one_way = agree_on_roots([manifest, again], problems)
    other_way = agree_on_roots([again, manifest], problems)

    assert problems == []
    assert one_way == (root("a.yaml and b.yaml", fields=HISTORY),)
    assert other_way == (root("b.yaml and a.yaml", fields=HISTORY),)


@pytest.mark.parametrize(
    ("other", "fact"),
    [
        (root("b.yaml", request=Request(tag="v2")), "the version v2 here and with v1"),
        (root("b.yaml", request=Request()), "the version any version here and with v1"),
        (root("b.yaml", name="shop"), "the name shop here and with store"),
        (root("b.yaml", kind=Kind.FUNCTION), "the kind Function here and with Provider"),
        (root("b.yaml", fields={"spec": {"x": 1}}), "has other fields"),
        (root("b.yaml", source=NET_SOURCE), "Provider/store is xpkg.example.org/acme/provider-net here"),
    ],
)
def test_a_contradiction_names_both_places(other: Root, fact: str) -> None:
    problems: list[str] = []

    agree_on_roots([root("a.yaml"), other], problems)

    (problem,) = problems
    assert problem.startswith("b.yaml: ")
    assert fact in problem
    assert "in a.yaml" in problem


def test_roots_of_one_name_and_two_kinds_are_fine_and_sorted() -> None:
    problems: list[str] = []
    function = root("b.yaml", source=NET_SOURCE, kind=Kind.FUNCTION)

    roots = agree_on_roots([root("a.yaml"), function], problems)

    assert problems == []
    assert [found.source for found in roots] == [NET_SOURCE, STORE_SOURCE]


def test_a_prefix_is_rewritten_in_one_way() -> None:
    problems: list[str] = []
    one, same, other = (
        Rewrite("a.io", "b.io", "a.yaml"),
        Rewrite("a.io", "b.io", "b.yaml"),
        Rewrite("a.io", "c.io", "c.yaml"),
    )

    rewrites = agree_on_rewrites([one, same, other], problems)

    assert rewrites == (one,)
    assert problems == [
        "c.yaml: a.io is rewritten to c.io here and to b.io in a.yaml; Crossplane takes either",
    ]


def test_text_that_looks_like_a_template_is_only_text() -> None:
    (value,) = parse_documents(b"{apiVersion: v1, kind: X, data: '{{ 7*7 }}'}", file_rules(Limits()))

    assert sort(value).passthrough == ({"apiVersion": "v1", "kind": "X", "data": "{{ 7*7 }}"},)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"Kind": "Provider"}, "the key 'Kind' has to be spelled 'kind'"),
        ({"apiversion": "v1"}, "the key 'apiversion' has to be spelled 'apiVersion'"),
        ({"\u212aind": "Provider"}, "the key '\u212aind' has to be spelled 'kind'"),
        ({"Spec": {}}, "the key 'Spec' has to be spelled 'spec'"),
        ({"metadata": {"Name": "a"}}, "metadata: the key 'Name' has to be spelled 'name'"),
        (
            {"metadata": {"annotation\u017f": {}}},
            "metadata: the key 'annotation\u017f' has to be spelled 'annotations'",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["ConfigMap", "ImageConfig"])
def test_a_key_that_others_may_take_for_another_one_is_refused(
    change: dict[str, Any], problem: str, kind: str
) -> None:
    api = "pkg.crossplane.io/v1beta1" if kind == "ImageConfig" else "v1"

    found = problems_of({"apiVersion": api, "kind": kind, "metadata": {"name": "a"}, **change})

    assert found == [f"a.yaml: {problem}"]


@pytest.mark.parametrize(
    "spec",
    [
        {"RewriteImage": {"prefix": "b"}},
        {"rewriteImage": {"prefix": "b", "Prefix": "c"}, "matchImages": [{"prefix": "a"}]},
        {"rewriteImage": {"prefix": "b"}, "matchImages": [{"prefix": "a", "Prefix": "c"}]},
        {"rewriteImage": {"prefix": "b"}, "matchImage\u017f": [{"prefix": "a"}]},
    ],
)
def test_an_image_config_is_spelled_as_crossplane_spells_it(spec: dict[str, Any]) -> None:
    found = problems_of({"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "ImageConfig", "spec": spec})

    assert "has to be spelled" in found[0]


@pytest.mark.parametrize("key", ["Package", "\u212apackage", "pac\u212aage", "skipDependencyresolution"])
def test_the_spec_of_a_root_is_spelled_as_crossplane_spells_it(key: str) -> None:
    found = problems_of(provider(spec={"package": STORE, key: "x"}))

    assert bool(found) is (key != "\u212apackage")


def test_keys_of_other_levels_are_free() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"Kind": "a", "kind": "b", "Items": "c"}}

    assert sort(other).passthrough == (other,)


@pytest.mark.parametrize("versions", ["^1.0", "~v1.2", ">=v1.0.0", ">=1.0, <2", "*"])
def test_a_range_as_a_tag_is_explained(versions: str) -> None:
    (problem,) = problems_of(provider(f"{STORE}:{versions}"))

    assert f"{versions!r} is a range of versions, and a tag names one version" in problem
    assert (
        f"write {STORE} and the range in the annotation xplock.dev/version (in xplock.yaml: version)"
        in problem
    )


@pytest.mark.parametrize("tag", ["v1.0.0+build", "", "v1.0.0 "])
def test_a_tag_that_is_wrong_is_not_called_a_range(tag: str) -> None:
    (problem,) = problems_of(provider(f"{STORE}:{tag}"))

    assert "is not a tag" in problem
