"""A lock and a folder become the exact objects that are applied, in one order, complete and checked."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import digest, lock, package, source
from rig.builders.render_inputs import image_config, inputs, pull_secret, rewrite, rewrite_image
from rig.cluster.crds import is_known, problems_of

from render.errors import InvalidInput, RenderError
from render.lean import replace
from render.limits import Limits
from render.lock.model import KeptPin, Lock
from render.lock.text.format import format_lock
from render.lock.text.parse import parse_lock
from render.manifests.conflicts import NothingToRender
from render.manifests.objects import render_lock, render_objects
from render.packages import Kind
from render.references import Source
from render.settings import PinMode, Settings, Waves
from render.versions.requests import Request, Root
from render.yaml.documents import file_rules, parse_documents
from render.yaml.writer import format_document

ACME = "xpkg.example.org/acme"
WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
GUARDS = {
    OPTIONS: "Prune=false,Delete=confirm,ServerSideApply=true",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}
TAGS_ONLY = Settings(pin=PinMode.TAG, guard=False)

RUNTIME = {
    "apiVersion": "pkg.crossplane.io/v1beta1",
    "kind": "DeploymentRuntimeConfig",
    "metadata": {"name": "big"},
    "spec": {"serviceAccountTemplate": {"metadata": {"name": "big"}}},
}
BUCKET = {"apiVersion": "s3.acme.example/v1", "kind": "Bucket", "metadata": {"name": "b"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}}


def small() -> Lock:
    return lock(
        [
            package("app v1.0.0", "base >=v1", "fn >=v0", kind=Kind.CONFIGURATION),
            package("base v1.2.0", "net >=v1", groups=("s3.acme.example",)),
            package("net v1.1.0"),
            package("fn v0.3.0", kind=Kind.FUNCTION),
        ]
    )


def named(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    return [f"{value['kind']}/{value['metadata']['name']}" for value in objects]


def waves(objects: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    annotations = [value["metadata"].get("annotations", {}) for value in objects]
    return dict(zip(named(objects), [found.get(WAVE) for found in annotations], strict=True))


def check(objects: Sequence[Mapping[str, Any]]) -> None:
    for value in filter(is_known, objects):
        assert problems_of(value) == []


def read_back(objects: Sequence[Mapping[str, Any]]) -> list[Any]:
    stream = "".join(f"---\n{format_document(value)}" for value in objects)
    return parse_documents(stream.encode(), file_rules(Limits()))


def test_one_provider_is_rendered_as_its_pin_and_its_package_object() -> None:
    nop = package(
        "nop v0.4.0",
        object_name="provider-nop",
        fields={"spec": {"packagePullPolicy": "Always"}, "metadata": {"labels": {"team": "x"}}},
    )

    objects = render_objects(lock([nop]), inputs())

    assert "".join(f"---\n{format_document(value)}" for value in objects) == (
        "---\n"
        "apiVersion: pkg.crossplane.io/v1beta1\n"
        "kind: ImageConfig\n"
        "metadata:\n"
        "  name: xplock-provider-nop-v0-4-0-3b790cb8\n"
        "  annotations:\n"
        '    argocd.argoproj.io/sync-wave: "-1"\n'
        "spec:\n"
        "  matchImages:\n"
        "  - type: Prefix\n"
        "    prefix: xpkg.example.org/acme/nop:v0.4.0\n"
        "  rewriteImage:\n"
        f"    prefix: xpkg.example.org/acme/nop@{nop.digest}\n"
        "---\n"
        "apiVersion: pkg.crossplane.io/v1\n"
        "kind: Provider\n"
        "metadata:\n"
        "  name: provider-nop\n"
        "  labels:\n"
        "    team: x\n"
        "  annotations:\n"
        '    argocd.argoproj.io/sync-options: "Prune=false,Delete=confirm,ServerSideApply=true"\n'
        "    kustomize.toolkit.fluxcd.io/prune: disabled\n"
        "spec:\n"
        "  package: xpkg.example.org/acme/nop:v0.4.0\n"
        "  packagePullPolicy: Always\n"
    )
    check(objects)


def test_the_order_is_settings_pins_packages_dependencies_first_and_then_other_objects() -> None:
    mirror = image_config("mirror", "xpkg.example.org", rewriteImage={"prefix": "mirror.example"})

    objects = render_objects(small(), inputs(BUCKET, RUNTIME, SECRET, mirror))

    assert [name.partition("-v")[0] for name in named(objects)] == [
        "DeploymentRuntimeConfig/big",
        "ImageConfig/mirror",
        "ImageConfig/xplock-acme-app",
        "ImageConfig/xplock-acme-base",
        "ImageConfig/xplock-acme-fn",
        "ImageConfig/xplock-acme-net",
        "Function/acme-fn",
        "Provider/acme-net",
        "Provider/acme-base",
        "Configuration/acme-app",
        "Bucket/b",
        "Secret/s",
    ]
    check(objects)


def test_pins_include_the_folders_own_rewrites() -> None:
    mirror = image_config("mirror", "xpkg.example.org", rewriteImage={"prefix": "mirror.example"})
    made = small()

    objects = render_objects(made, inputs(mirror, rewrites=[rewrite("xpkg.example.org", "mirror.example")]))

    configs = [value for value in objects if value["kind"] == "ImageConfig"]
    packages = [value["spec"]["package"] for value in objects if "package" in value.get("spec", {})]
    assert {reference: rewrite_image(configs, reference) for reference in packages} == {
        f"{item.source}:{item.version}": f"mirror.example/acme/{item.source.name}@{item.digest}"
        for item in made.in_order()
    }


def test_pins_are_sorted_by_name_and_a_companion_follows_its_pin() -> None:
    secret = image_config("secret", f"{ACME}/base:v1", registry=pull_secret("x"))
    kept = (KeptPin("v1.1.0", digest("11")),)
    made = lock([package("net v1.2.0", kept_pins=kept), package("base v1.2.0", kept_pins=kept)])

    objects = render_objects(made, inputs(secret))

    pins = [value for value in objects if value["metadata"]["name"].startswith("xplock-")]
    assert [
        (value["metadata"]["name"].rpartition("-v1-")[0], sorted(value["spec"])[1]) for value in pins
    ] == [
        ("xplock-acme-base", "rewriteImage"),
        ("xplock-acme-base", "registry"),
        ("xplock-acme-base", "rewriteImage"),
        ("xplock-acme-base", "registry"),
        ("xplock-acme-net", "rewriteImage"),
        ("xplock-acme-net", "rewriteImage"),
    ]
    assert named(pins) == sorted(named(pins))
    check(objects)


@pytest.mark.parametrize("mode", [PinMode.TAG, PinMode.NATIVE])
def test_only_pin_digest_renders_image_configs(mode: PinMode) -> None:
    kept = (KeptPin("v1.0.0", digest("10")),)
    secret = image_config("secret", f"{ACME}/base:v1", registry=pull_secret("x"))

    objects = render_objects(
        lock([package("base v1.2.0", kept_pins=kept)]), inputs(secret, settings=Settings(pin=mode))
    )

    assert named(objects) == ["ImageConfig/secret", "Provider/acme-base"]


def test_flat_waves_put_settings_and_pins_first_and_set_no_other_wave() -> None:
    late = image_config("late", "xpkg.example.org", runtime={"configRef": {"name": "big"}})
    late["metadata"]["annotations"] = {WAVE: "7"}

    found = waves(render_objects(small(), inputs(RUNTIME, late, BUCKET, SECRET)))

    pins = {name: wave for name, wave in found.items() if "/xplock-" in name}
    assert set(pins.values()) == {"-1"}
    assert {name: wave for name, wave in found.items() if name not in pins} == {
        "DeploymentRuntimeConfig/big": "-1",
        "ImageConfig/late": "7",
        "Provider/acme-net": None,
        "Function/acme-fn": None,
        "Provider/acme-base": None,
        "Configuration/acme-app": None,
        "Bucket/b": None,
        "Secret/s": None,
    }


def test_graph_waves_follow_the_dependencies() -> None:
    fields = {"metadata": {"annotations": {WAVE: "0"}}}
    packages = [*small().packages.values(), package("own v1.0.0", "base >=v1", fields=fields)]
    settings = Settings(waves=Waves.GRAPH, pin=PinMode.TAG)

    found = waves(render_objects(lock(packages), inputs(RUNTIME, BUCKET, SECRET, settings=settings)))

    assert found == {
        "DeploymentRuntimeConfig/big": "-1",
        "Function/acme-fn": "0",
        "Provider/acme-net": "0",
        "Provider/acme-base": "1",
        "Configuration/acme-app": "2",
        "Provider/acme-own": "0",
        "Bucket/b": "3",
        "Secret/s": None,
    }


def test_packages_are_guarded_and_nothing_else_is() -> None:
    objects = render_objects(small(), inputs(RUNTIME, SECRET))

    guarded = [value for value in objects if "kustomize.toolkit.fluxcd.io/prune" in str(value)]
    assert [value["kind"] for value in guarded] == ["Function", "Provider", "Provider", "Configuration"]
    assert all(value["metadata"]["annotations"].items() >= GUARDS.items() for value in guarded)


def test_no_guard_with_guard_false_or_on_a_released_package() -> None:
    free = render_objects(small(), inputs(settings=Settings(guard=False)))
    released = render_objects(lock([package("old v1.0.0", released=True), package("new v1.0.0")]), inputs())

    assert "Prune=false" not in str(free)
    assert [
        name for name, value in zip(named(released), released, strict=True) if "Prune=false" in str(value)
    ] == ["Provider/acme-new"]


def test_an_object_of_a_packages_kind_skips_the_dry_run() -> None:
    objects = render_objects(small(), inputs(BUCKET, SECRET, settings=TAGS_ONLY))

    assert objects[-2:] == [
        BUCKET | {"metadata": {"name": "b", "annotations": {OPTIONS: "SkipDryRunOnMissingResource=true"}}},
        SECRET,
    ]


def test_a_definition_without_a_group_does_not_match_core_objects() -> None:
    odd = lock([package("odd v1.0.0", groups=("",))])

    assert render_objects(odd, inputs(SECRET))[-1] == SECRET


def test_rendering_does_not_change_inputs_or_lock() -> None:
    passthrough = [
        deepcopy(RUNTIME),
        deepcopy(BUCKET),
        image_config("own", f"{ACME}/net:v1", runtime={"a": {"b": "c"}}),
    ]
    made = lock(
        [package("net v1.1.0", groups=("s3.acme.example",), fields={"metadata": {"labels": {"a": "b"}}})]
    )
    before = repr((passthrough, made))

    render_objects(made, inputs(*passthrough))

    assert repr((passthrough, made)) == before


def test_a_lock_read_from_a_file_and_one_in_memory_render_to_the_same_bytes() -> None:
    fields = {
        "spec": {
            "runtimeConfigRef": {"name": "big", "apiVersion": "pkg.crossplane.io/v1beta1"},
            "commonLabels": {"b": "1", "a": "2"},
        },
        "metadata": {"labels": {"z": "1", "b": "2"}, "finalizers": ["z.example/x"]},
    }
    fresh = lock([package("app v1.0.0", "base *", fields=fields, detached=("why",)), package("base v1.2.0")])
    stored = parse_lock(format_lock(fresh), Limits(), place="crossplane.lock.yaml")

    texts = [
        [format_document(value) for value in render_objects(each, inputs(BUCKET))] for each in (fresh, stored)
    ]

    assert texts[0] == texts[1]


@given(st.permutations(["app", "base", "fn", "net"]))
def test_the_order_in_which_a_lock_lists_packages_changes_nothing(order: list[str]) -> None:
    made = small()
    shuffled = Lock({source(name): made.packages[source(name)] for name in order})

    assert render_objects(shuffled, inputs(BUCKET)) == render_objects(made, inputs(BUCKET))


def test_an_empty_lock_is_an_error_where_packages_are_asked_for_whatever_else_there_is() -> None:
    asking = replace(inputs(SECRET), roots=(Root(source("app"), Request(), "app.yaml"),))

    with pytest.raises(RenderError, match="no package to render"):
        render_objects(Lock(), asking)


def test_an_empty_set_is_never_rendered() -> None:
    with pytest.raises(NothingToRender) as error:
        render_lock(Lock(), inputs(), Limits(), {})

    assert error.value.exit_code == 2
    assert "project has nothing to render" in str(error.value)


def test_other_objects_are_rendered_where_no_package_is_asked_for_any_more() -> None:
    assert render_objects(Lock(), inputs(SECRET)) == [SECRET]


def test_a_lock_among_the_objects_is_refused() -> None:
    live = {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "Lock",
        "metadata": {"name": "lock"},
        "packages": [],
    }

    with pytest.raises(InvalidInput, match="contains a Lock"):
        render_objects(small(), inputs(live))


def test_rendered_objects_that_come_back_as_inputs_are_refused() -> None:
    made = lock([package("net v1.1.0")])
    pin = render_objects(made, inputs())[0]
    own = rewrite(pin["spec"]["matchImages"][0]["prefix"], pin["spec"]["rewriteImage"]["prefix"])

    with pytest.raises(InvalidInput, match="there are two objects ImageConfig xplock-acme-net") as error:
        render_objects(made, inputs(pin, rewrites=[own]))

    assert error.value.next == ("remove or rename the one in the folder",)


def test_a_package_that_the_api_server_refuses_is_refused_here() -> None:
    local = package("base v1.0.0", source=Source("localhost:5000", "acme/base"))

    with pytest.raises(InvalidInput, match="no dot") as error:
        render_objects(Lock({local.source: local}), inputs())

    assert error.value.why == ("localhost:5000/acme/base:v1.0.0",)


TEMPLATES = [
    "{{ 7*7 }}",
    "${jndi:ldap://x.example/a}",
    "{% raw %}",
    "$(HOME)",
    "%s",
    "{0}",
    "#{1+1}",
    "<%= 1 %>",
]


@pytest.mark.parametrize("text", TEMPLATES)
def test_text_that_looks_like_a_template_stays_as_it_is(text: str) -> None:
    fields = {"metadata": {"annotations": {"note": text}}, "spec": {"commonAnnotations": {"note": text}}}
    passthrough = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": text}}

    objects = render_objects(lock([package("base v1.0.0", fields=fields)]), inputs(passthrough))

    assert read_back(objects) == objects
    assert objects[1]["metadata"]["annotations"]["note"] == text
    assert objects[1]["spec"]["commonAnnotations"] == {"note": text}
    assert objects[2] == passthrough


BREAKOUTS = [
    "x\n---\nkind: ClusterRoleBinding",
    "---\nkind: A\n",
    "x\n...\n---\n",
    "a: b\nc: d",
    "\n---",
    "x\r\n---\r\ny",
]


@pytest.mark.parametrize("text", BREAKOUTS)
def test_no_value_breaks_out_of_its_document(text: str) -> None:
    fields = {
        "metadata": {"labels": {"l": text}, "annotations": {"note": text}},
        "spec": {"commonLabels": {"l": text}},
    }
    secret = image_config("own", f"{ACME}/base:v1", registry=pull_secret(text))
    passthrough = {
        "apiVersion": "s3.acme.example/v1",
        "kind": "Bucket",
        "metadata": {"name": text, "annotations": {OPTIONS: text}},
    }
    base = package("base v1.0.0", fields=fields, groups=("s3.acme.example",))

    objects = render_objects(lock([base]), inputs(secret, passthrough))

    assert read_back(objects) == objects
    assert [value["kind"] for value in objects] == [
        "ImageConfig",
        "ImageConfig",
        "ImageConfig",
        "Provider",
        "Bucket",
    ]
    assert objects[2]["spec"]["registry"] == pull_secret(text)
    assert objects[3]["metadata"]["labels"] == {"l": text}
    assert objects[4]["metadata"]["name"] == text
