"""Meta documents of every kind and age, and the project files that Configurations are built from."""

import textwrap
from typing import Any

import pytest
import yaml

from render.limits import LimitExceeded, Limits
from render.packages import Dependency, Kind, Metadata, PermissionRequest
from render.references import PartialSource, Source
from render.xpkg.metadata import InvalidMetadata, parse_metadata, parse_project
from render.yaml.documents import InvalidDocument

LIMITS = Limits()
DIGEST = "sha256:" + "ab" * 32


def parse(text: str, limits: Limits = LIMITS) -> Metadata:
    return parse_metadata(textwrap.dedent(text).encode(), limits)


def with_spec(spec: Any, kind: str = "Configuration", **metadata: Any) -> Metadata:
    document = {
        "apiVersion": "meta.pkg.crossplane.io/v1",
        "kind": kind,
        "metadata": {"name": "x", **metadata},
        "spec": spec,
    }
    return parse_metadata(yaml.safe_dump(document).encode(), LIMITS)


def depending_on(*entries: Any) -> tuple[Dependency, ...]:
    return with_spec({"dependsOn": list(entries)}).dependencies


def problems_of(spec: Any, **metadata: Any) -> list[str]:
    with pytest.raises(InvalidMetadata) as refused:
        with_spec(spec, **metadata)
    return refused.value.problems


class TestKinds:
    @pytest.mark.parametrize("group", ["meta.pkg.crossplane.io", "meta.pkg.ibm.crossplane.io"])
    @pytest.mark.parametrize(
        ("kind", "version"),
        [
            ("Provider", "v1"),
            ("Provider", "v1alpha1"),
            ("Configuration", "v1"),
            ("Configuration", "v1alpha1"),
            ("Function", "v1"),
            ("Function", "v1beta1"),
        ],
    )
    def test_what_crossplane_accepts_is_accepted(self, group: str, kind: str, version: str) -> None:
        found = parse(f"apiVersion: {group}/{version}\nkind: {kind}\nmetadata:\n  name: x\n")

        assert (found.kind, found.api_version, found.name) == (Kind(kind), f"{group}/{version}", "x")

    @pytest.mark.parametrize(
        ("kind", "api_version"),
        [
            ("Provider", "meta.pkg.crossplane.io/v1beta1"),
            ("Configuration", "meta.pkg.crossplane.io/v1beta1"),
            ("Function", "meta.pkg.crossplane.io/v1alpha1"),
            ("Provider", "meta.pkg.crossplane.io/v2"),
            ("Provider", "meta.pkg.crossplane.io"),
            ("Provider", "meta.pkg.crossplane.io/v1/x"),
            ("Provider", "pkg.crossplane.io/v1"),
            ("provider", "meta.pkg.crossplane.io/v1"),
            ("Package", "meta.pkg.crossplane.io/v1"),
            ("", "meta.pkg.crossplane.io/v1"),
        ],
    )
    def test_anything_else_is_refused(self, kind: str, api_version: str) -> None:
        with pytest.raises(InvalidMetadata, match="has one problem") as refused:
            parse(f"apiVersion: {api_version}\nkind: '{kind}'\n")

        assert refused.value.problems[0].startswith(f"kind: Crossplane knows no package kind {kind!r} in ")

    @pytest.mark.parametrize("text", ["", "~", "[]", "text"])
    def test_what_is_no_mapping_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidMetadata):
            parse(text)

    def test_a_second_document_is_refused(self) -> None:
        meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\n"

        with pytest.raises(InvalidMetadata) as refused:
            parse(meta + "---\n" + meta)

        assert refused.value.problems == ["a second document follows the first"]
        assert parse(meta + "...\n---\n# nothing\n").kind is Kind.PROVIDER


class TestDependencies:
    @pytest.mark.parametrize(
        ("key", "kind"),
        [("provider", "Provider"), ("configuration", "Configuration"), ("function", "Function")],
    )
    def test_the_old_form_names_its_kind_by_the_key(self, key: str, kind: str) -> None:
        (found,) = depending_on({key: "h.example/a/b", "version": ">=v1.0.0"})

        assert (found.source, found.package) == (Source("h.example", "a/b"), "h.example/a/b")
        assert (found.kind, found.api_version, found.constraint.text) == (kind, None, ">=v1.0.0")

    def test_the_explicit_form_names_any_kind(self) -> None:
        (found,) = depending_on(
            {"apiVersion": "pkg.example.org/v7", "kind": "Plugin", "package": "h.example/a", "version": "*"}
        )

        assert (found.source, found.kind, found.api_version) == (
            Source("h.example", "a"),
            "Plugin",
            "pkg.example.org/v7",
        )

    def test_order_is_kept_and_forms_may_be_mixed(self) -> None:
        found = depending_on(
            {"function": "h.example/f", "version": "1"},
            {
                "apiVersion": "pkg.crossplane.io/v1",
                "kind": "Provider",
                "package": "h.example/p",
                "version": "2",
            },
            {"configuration": "h.example/c", "version": "3"},
        )

        assert [(item.package, item.constraint.text) for item in found] == [
            ("h.example/f", "1"),
            ("h.example/p", "2"),
            ("h.example/c", "3"),
        ]

    @pytest.mark.parametrize(
        ("entry", "kind", "api_version"),
        [
            ({"provider": "h.example/a", "function": "h.example/a"}, "Provider", None),
            ({"function": "h.example/a", "configuration": "h.example/a"}, "Configuration", None),
            (
                {"provider": "h.example/a", "apiVersion": "x/v1", "kind": "X", "package": "h.example/a"},
                "X",
                "x/v1",
            ),
            ({"provider": "h.example/a", "apiVersion": "x/v1", "package": "h.example/b"}, "Provider", None),
            ({"provider": "h.example/a", "kind": "X", "package": "h.example/b"}, "Provider", None),
            ({"provider": "h.example/a", "function": ""}, "Provider", None),
        ],
        ids=["two old keys", "preference", "explicit wins", "no kind", "no apiVersion", "empty key"],
    )
    def test_several_fields_that_agree_are_one(
        self, entry: dict[str, str], kind: str, api_version: str | None
    ) -> None:
        (found,) = depending_on({**entry, "version": "*"})

        assert (found.package, found.kind, found.api_version) == ("h.example/a", kind, api_version)

    @pytest.mark.parametrize(
        ("entry", "problem"),
        [
            (
                {"configuration": "", "provider": "h.example/a"},
                "spec.dependsOn[0].configuration: it is empty",
            ),
            ({"provider": "", "function": "h.example/a"}, "spec.dependsOn[0].provider: it is empty"),
            (
                {"apiVersion": "x/v1", "kind": "", "package": "h.example/a", "provider": "h.example/a"},
                "spec.dependsOn[0].kind: it is empty",
            ),
            (
                {"apiVersion": "", "kind": "X", "package": "h.example/a", "provider": "h.example/b"},
                "spec.dependsOn[0]: it names several packages: h.example/a, h.example/b",
            ),
        ],
    )
    def test_an_empty_field_that_crossplane_takes_first_is_a_problem(
        self, entry: dict[str, str], problem: str
    ) -> None:
        assert problems_of({"dependsOn": [{**entry, "version": "*"}]}) == [problem]

    @pytest.mark.parametrize(
        ("spec", "problem"),
        [
            ({"DependsOn": []}, "spec: the key 'DependsOn' has to be spelled 'dependsOn'"),
            (
                {"dependsOn": [{"provider": "h.example/a", "version": "*", "pac\u212aage": "h.example/b"}]},
                "spec.dependsOn[0]: the key 'pac\u212aage' has to be spelled 'package'",
            ),
            (
                {"crossplane": {"Version": "v1"}},
                "spec.crossplane: the key 'Version' has to be spelled 'version'",
            ),
        ],
    )
    def test_another_spelling_of_a_field_is_a_problem(self, spec: dict[str, object], problem: str) -> None:
        assert problem in problems_of(spec)

    @pytest.mark.parametrize(
        ("entry", "problem"),
        [
            (
                {"provider": "h.example/a", "function": "h.example/b"},
                "it names several packages: h.example/a, h.example/b",
            ),
            (
                {"provider": "h.example/a", "apiVersion": "x/v1", "kind": "X", "package": "h.example/b"},
                "it names several packages: h.example/b, h.example/a",
            ),
            ({}, "it names no package: give apiVersion, kind, package"),
            (
                {"package": "h.example/a", "kind": "Provider"},
                "it names no package: give apiVersion, kind, package",
            ),
            ({"provider": None}, "it names no package: give apiVersion, kind, package"),
        ],
    )
    def test_several_or_none_is_a_problem(self, entry: dict[str, str], problem: str) -> None:
        assert problems_of({"dependsOn": [{**entry, "version": "*"}]}) == [f"spec.dependsOn[0]: {problem}"]

    def test_a_crd_is_a_dependency_of_its_own(self) -> None:
        found = with_spec({
            "dependsOn": [
                {"crd": "mytype.mygroup.example.org/v1alpha1"},
                {"provider": "h.example/a", "version": "*"},
                {"crd": {"group": "yourstack.example.org", "kind": "*"}, "version": "<v2.0.0"},
            ]
        })  # fmt: skip

        assert [str(one) for one in found.crds] == [
            "mytype.mygroup.example.org/v1alpha1",
            "*.yourstack.example.org <v2.0.0",
        ]
        assert [one.place for one in found.crds] == ["spec.dependsOn[0].crd", "spec.dependsOn[2].crd"]
        assert [one.package for one in found.dependencies] == ["h.example/a"]

    def test_a_range_of_crossplane_may_be_an_entry(self) -> None:
        found = with_spec({"dependsOn": [{"crossplane": ">=v1.20.0"}]})

        assert str(found.crossplane) == ">=v1.20.0"
        assert found.dependencies == ()

    @pytest.mark.parametrize(
        ("spec", "problem"),
        [
            ({"dependsOn": [{"crd": "x"}]}, "spec.dependsOn[0].crd: 'x' does not name a CRD"),
            (
                {"dependsOn": [{"crd": "a.b.c", "crossplane": "*"}]},
                "spec.dependsOn[0]: it names crd and crossplane; give one of them",
            ),
            (
                {"dependsOn": [{"crossplane": "*", "provider": "h.example/a"}]},
                "spec.dependsOn[0]: it names crossplane and provider; give one of them",
            ),
            (
                {"dependsOn": [{"crossplane": "*"}], "crossplane": "*"},
                "spec.dependsOn[0].crossplane: the versions of Crossplane are given more than once",
            ),
            ({"dependsOn": [{"CRD": "a.b.c"}]}, "the key 'CRD' has to be spelled 'crd'"),
        ],
    )
    def test_a_crd_a_package_and_crossplane_exclude_each_other(self, spec: Any, problem: str) -> None:
        assert any(problem in text for text in problems_of(spec))

    def test_a_digest_is_a_constraint(self) -> None:
        (found,) = depending_on({"provider": "h.example/a", "version": DIGEST})

        assert found.constraint.text == DIGEST

    @pytest.mark.parametrize("source", ["acme/provider-x", "provider-x"])
    def test_a_source_may_lack_its_registry(self, source: str) -> None:
        (found,) = depending_on({"provider": source, "version": "*"})

        assert found.source == PartialSource(source)

    def test_too_many_are_refused(self) -> None:
        entries = "".join("  - {provider: h.example/a, version: '*'}\n" for _ in range(3))
        text = f"apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nspec:\n  dependsOn:\n{entries}"

        assert len(parse_metadata(text.encode(), Limits(dependencies=3)).dependencies) == 3
        with pytest.raises(LimitExceeded, match="too many dependencies"):
            parse_metadata(text.encode(), Limits(dependencies=2))


class TestOtherFields:
    @pytest.mark.parametrize("crossplane", [{"version": ">=v1.14.0-0"}, ">=v1.14.0-0"])
    def test_the_crossplane_it_needs_is_a_mapping_or_a_text(self, crossplane: Any) -> None:
        found = with_spec({"crossplane": crossplane}).crossplane

        assert found is not None
        assert found.text == ">=v1.14.0-0"

    @pytest.mark.parametrize("spec", [None, {}, {"crossplane": None}])
    def test_it_may_need_none(self, spec: Any) -> None:
        assert with_spec(spec).crossplane is None

    @pytest.mark.parametrize(
        ("crossplane", "problem"),
        [
            ({}, "spec.crossplane.version: '' is not a version constraint"),
            ({"version": ""}, "spec.crossplane.version: '' is not a version constraint"),
            ({"version": ">a2"}, "spec.crossplane.version: '>a2' is not a version constraint"),
            ({"version": 1.14}, "spec.crossplane.version: expected text, found 1.14; write it in quotes"),
            (1.14, "spec.crossplane: expected a mapping, found a number"),
            ("nonsense", "spec.crossplane: 'nonsense' is not a version constraint"),
        ],
    )
    def test_a_wrong_one_is_a_problem(self, crossplane: Any, problem: str) -> None:
        assert problems_of({"crossplane": crossplane})[0].startswith(problem)

    def test_what_it_replaces_is_a_field_or_an_annotation(self) -> None:
        annotations = {"meta.crossplane.io/replaces": "h.example/b, h.example/c\nacme/d"}

        found = with_spec({"replaces": ["h.example/a", "h.example/b"]}, annotations=annotations).replaces

        assert [str(source) for source in found] == ["h.example/a", "h.example/b", "h.example/c", "acme/d"]

    def test_what_it_cannot_replace_is_a_problem_with_its_place(self) -> None:
        found = problems_of(
            {"replaces": ["h.example/a", "H/", 5]},
            annotations={"meta.crossplane.io/replaces": "h.example/a:v1"},
        )

        assert [problem.partition(": ")[0] for problem in found] == [
            "spec.replaces[2]",
            "spec.replaces[1]",
            "metadata.annotations[meta.crossplane.io/replaces]",
        ]

    @pytest.mark.parametrize(
        ("kind", "given", "found"),
        [
            ("Function", None, ("composition",)),
            ("Function", [], ("composition",)),
            ("Function", ["operation"], ("operation",)),
            ("Provider", None, ()),
            ("Provider", ["safe-start"], ("safe-start",)),
            ("Configuration", None, ()),
        ],
    )
    def test_a_function_composes_unless_it_says_otherwise(
        self, kind: str, given: list[str] | None, found: tuple[str, ...]
    ) -> None:
        assert with_spec({"capabilities": given}, kind).capabilities == found

    def test_labels_and_annotations_are_kept(self) -> None:
        found = with_spec(
            {},
            "Provider",
            labels={"pkg.crossplane.io/provider-family": "f"},
            annotations={"a": "b\nc", "d": None},
        )

        assert found.family == "f"
        assert found.annotations == {"a": "b\nc", "d": ""}

    def test_unknown_fields_are_of_no_interest(self) -> None:
        assert with_spec({"future": [{"x": 1}]}).name == "x"


class TestFirstFormat:
    """The documents of the first format: another group, a controller, a plain text for Crossplane, permissions."""

    PROVIDER = """\
        apiVersion: meta.pkg.ibm.crossplane.io/v1alpha1
        kind: Provider
        metadata:
          name: provider-sample
          annotations:
            company: Acme
            maintainer: Robin <robin@example.org>
            keywords: cloud, sample
            source: git.example.org/acme/provider-sample
            license: Apache-2.0
            description: |
              Lets a cluster manage samples.
            provider: sample
        spec:
          controller:
            image: acme/provider-sample-controller:v0.1.0
          crossplane: v0.13.0
          dependsOn:
          - provider: acme/provider-rare
            version: v0.1.0
          permissionRequests:
          - apiGroups:
              - other.example.org
            resources:
              - things
              - things/status
            verbs:
              - "*"
    """
    CONFIGURATION = """\
        apiVersion: meta.pkg.ibm.crossplane.io/v1alpha1
        kind: Configuration
        metadata:
          name: configuration-sample
          annotations:
            provider: sample
        spec:
          crossplane: v0.13.0
          dependsOn:
          - provider: acme/provider-sample
            version: v0.1.0
          - configuration: acme/another
            version: v0.2.0
    """

    def test_a_provider(self) -> None:
        found = parse(self.PROVIDER)

        assert (found.kind, found.name) == (Kind.PROVIDER, "provider-sample")
        assert found.controller_image == "acme/provider-sample-controller:v0.1.0"
        assert found.crossplane is not None
        assert found.crossplane.text == "v0.13.0"
        assert [(item.package, item.kind, item.constraint.text) for item in found.dependencies] == [
            ("acme/provider-rare", "Provider", "v0.1.0")
        ]
        assert found.permission_requests == (
            PermissionRequest(("other.example.org",), ("things", "things/status"), ("*",)),
        )
        assert found.annotations["description"] == "Lets a cluster manage samples.\n"

    def test_a_configuration(self) -> None:
        found = parse(self.CONFIGURATION)

        assert found.kind is Kind.CONFIGURATION
        assert [(item.package, item.kind) for item in found.dependencies] == [
            ("acme/provider-sample", "Provider"),
            ("acme/another", "Configuration"),
        ]
        assert found.controller_image is None


class TestProjects:
    def test_a_crossplane_project_lists_dependencies_by_type(self) -> None:
        text = """\
            apiVersion: dev.crossplane.io/v1alpha1
            kind: Project
            metadata: {name: platform}
            spec:
              maintainer: Robin
              description: A platform.
              crossplane: {version: ">=v2.0.0"}
              dependencies:
              - type: xpkg
                xpkg: {apiVersion: pkg.crossplane.io/v1, kind: Provider, package: h.example/a, version: v1.0.0}
              - type: xpkg
                xpkg: {package: h.example/b, version: ">=1"}
              - type: crd
                git: {repository: x}
              - type: k8s
                k8s: {version: v1.33.0}
        """

        found = parse_project(textwrap.dedent(text).encode(), LIMITS)

        assert (found.kind, found.name) == (Kind.CONFIGURATION, "platform")
        assert [(item.package, item.kind, item.constraint.text) for item in found.dependencies] == [
            ("h.example/a", "Provider", "v1.0.0"),
            ("h.example/b", None, ">=1"),
        ]
        assert found.annotations == {
            "meta.crossplane.io/maintainer": "Robin",
            "meta.crossplane.io/description": "A platform.",
        }
        assert found.crossplane is not None

    @pytest.mark.parametrize("version", ["v1alpha1", "v2alpha1"])
    def test_an_upbound_project_depends_as_a_package_does(self, version: str) -> None:
        text = f"""\
            apiVersion: meta.dev.upbound.io/{version}
            kind: Project
            metadata: {{name: platform}}
            spec:
              dependsOn:
              - {{provider: h.example/a, version: v1.0.0}}
              - {{apiVersion: pkg.crossplane.io/v1, kind: Function, package: h.example/f, version: '*'}}
        """

        found = parse_project(textwrap.dedent(text).encode(), LIMITS)

        assert [(item.package, item.kind) for item in found.dependencies] == [
            ("h.example/a", "Provider"),
            ("h.example/f", "Function"),
        ]

    def test_every_problem_has_its_place(self) -> None:
        text = """\
            apiVersion: dev.crossplane.io/v1
            kind: Other
            spec:
              license: 2.0
              dependencies:
              - {type: xpkg, xpkg: {package: h.example/a, version: 1.0}}
              - {type: xpkg}
              - {type: xpkg, xpkg: text}
        """

        with pytest.raises(InvalidMetadata) as refused:
            parse_project(textwrap.dedent(text).encode(), LIMITS)

        assert refused.value.problems == [
            "kind: this is not a project file",
            "spec.license: expected text, found 2.0; write it in quotes",
            "spec.dependencies[2].xpkg: expected a mapping, found text",
            "spec.dependencies[0].xpkg.version: expected text, found 1.0; write it in quotes",
            "spec.dependencies[1].xpkg: it names no package: give package",
        ]

    def test_too_many_dependencies_are_refused(self) -> None:
        entries = "".join("  - {type: xpkg, xpkg: {package: h.example/a, version: '*'}}\n" for _ in range(3))
        text = f"apiVersion: dev.crossplane.io/v1alpha1\nkind: Project\nspec:\n  dependencies:\n{entries}"

        with pytest.raises(LimitExceeded, match="too many dependencies"):
            parse_project(text.encode(), Limits(dependencies=2))


class TestProblems:
    @pytest.mark.parametrize(
        ("spec", "problem"),
        [
            ([], "spec: expected a mapping, found a list"),
            ("x", "spec: expected a mapping, found text"),
            ({"dependsOn": "x"}, "spec.dependsOn: expected a list, found text"),
            ({"dependsOn": {"provider": "x"}}, "spec.dependsOn: expected a list, found a mapping"),
            ({"capabilities": "x"}, "spec.capabilities: expected a list, found text"),
            ({"capabilities": [{}]}, "spec.capabilities[0]: expected text, found a mapping"),
            ({"replaces": "x"}, "spec.replaces: expected a list, found text"),
            ({"controller": []}, "spec.controller: expected a mapping, found a list"),
            ({"controller": {"image": []}}, "spec.controller.image: expected text, found a list"),
            (
                {"permissionRequests": [{"verbs": "*"}]},
                "spec.permissionRequests[0].verbs: expected a list, found text",
            ),
        ],
    )
    def test_a_wrong_type_has_its_place(self, spec: Any, problem: str) -> None:
        assert problems_of(spec) == [problem]

    @pytest.mark.parametrize("version", [1, 1.1, True])
    def test_a_version_that_is_no_text_is_a_problem(self, version: Any) -> None:
        versions = ["*", "*", version]

        found = problems_of({"dependsOn": [{"provider": "h.example/a", "version": v} for v in versions]})

        assert len(found) == 1
        assert found[0].startswith("spec.dependsOn[2].version: expected text, found ")

    @pytest.mark.parametrize("provider", [5, True, ["x"], {"x": "y"}])
    def test_a_package_that_is_no_text_is_one_problem(self, provider: Any) -> None:
        found = problems_of({"dependsOn": [{"provider": provider, "version": "*"}]})

        assert len(found) == 1
        assert found[0].startswith("spec.dependsOn[0].provider: expected text, found ")

    def test_all_come_at_once(self) -> None:
        text = """\
            apiVersion: 1
            kind: [Provider]
            metadata:
              name: 5
              labels: {a: 1}
              annotations: {b: true}
            spec:
              crossplane: {version: ">a"}
              capabilities: [1]
              dependsOn:
              - {provider: h.example/a, version: 1.10}
              - text
              - {function: 'H/x', version: '>>1'}
        """

        with pytest.raises(InvalidMetadata, match="has 12 problems") as refused:
            parse(text)

        places = [problem.partition(": ")[0] for problem in refused.value.problems]
        assert places == [
            "apiVersion", "kind", "kind", "metadata.annotations.b", "metadata.name", "spec.dependsOn[1]",
            "spec.dependsOn[0].version", "spec.dependsOn[2].function",
            "spec.dependsOn[2].version", "spec.crossplane.version", "spec.capabilities[0]", "metadata.labels.a",
        ]  # fmt: skip
        assert refused.value.why == tuple(refused.value.problems)

    def test_a_hundred_thousand_are_counted_and_not_listed(self) -> None:
        many = ",".join(f"a{i}: 1" for i in range(50_000))
        text = f"apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {{labels: {{{many}}}}}\n"

        with pytest.raises(InvalidMetadata, match="has 50,000 problems") as refused:
            parse(text)

        assert len(refused.value.why) == 51
        assert refused.value.why[-1] == "… and 49,950 more"

    def test_control_characters_in_a_name_are_a_problem(self) -> None:
        assert problems_of({}, name="a\x1b[2J") == ["metadata.name: it contains an invisible character"]

    def test_what_two_readers_could_read_in_two_ways_is_refused(self) -> None:
        with pytest.raises(InvalidDocument, match="line 3: anchors"):
            parse("apiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nspec: &a {}\n")
