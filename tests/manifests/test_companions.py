"""A user's ImageConfig for a tag still applies when the tag is pinned to a digest."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import digest, package
from rig.builders.render_inputs import (
    PURPOSES,
    best_matches,
    image_config,
    pull_secret,
    rewrite,
    rewrite_image,
)
from rig.cluster.crds import problems_of

from render.lock.model import KeptPin, LockedPackage
from render.manifests.companions import render_companions
from render.manifests.pins import find_pins, render_pin

ACME = "xpkg.example.org/acme"
RUNTIME = {"configRef": {"name": "big"}}
VERIFICATION = {"provider": "Cosign", "cosign": {"authorities": [{"name": "acme"}]}}
BASE = package("base v1.2.0")


def companions(
    packages: Sequence[LockedPackage], passthrough: Sequence[Mapping[str, Any]], *rewrites: tuple[str, str]
) -> list[dict[str, Any]]:
    pins = find_pins(packages, [rewrite(*pair) for pair in rewrites])
    return list(render_companions(pins, passthrough))


def test_one_companion_carries_every_purpose_that_named_the_tag() -> None:
    passthrough = [
        image_config("secret", f"{ACME}/base:v1.2.0", registry=pull_secret("base")),
        image_config("both", f"{ACME}/base:v1", runtime=RUNTIME, verification=VERIFICATION),
    ]

    (made,) = companions([BASE], passthrough)

    (pin,) = find_pins([BASE], [])
    assert made == {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": f"{pin.name}-c", "annotations": {"argocd.argoproj.io/sync-wave": "-1"}},
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": f"{ACME}/base@{BASE.digest}"}],
            "registry": pull_secret("base"),
            "runtime": RUNTIME,
            "verification": VERIFICATION,
        },
    }
    assert list(made["spec"]) == ["matchImages", "registry", "runtime", "verification"]
    assert problems_of(made) == []


@pytest.mark.parametrize(
    "prefix",
    [
        "xpkg.example.org",
        f"{ACME}/bas",
        f"{ACME}/base",
        f"{ACME}/base:v1.2.0.1",
        f"{ACME}/base:v2",
        f"{ACME}/other:v1",
        f"{ACME}/base@{BASE.digest}",
        "xpkg.example.org:443/acme/base",
        "",
        ":",
        "@",
    ],
)
def test_a_prefix_that_does_not_reach_into_the_tag_needs_no_companion(prefix: str) -> None:
    assert companions([BASE], [image_config("own", prefix, runtime=RUNTIME)]) == []


@pytest.mark.parametrize("end", [":", ":v", ":v1.2.", ":v1.2.0"])
def test_a_prefix_that_reaches_into_the_tag_needs_one(end: str) -> None:
    (made,) = companions([BASE], [image_config("own", "other.example", f"{ACME}/base{end}", runtime=RUNTIME)])

    assert made["spec"]["runtime"] == RUNTIME


def test_the_longest_prefix_decides_for_each_purpose_alone() -> None:
    passthrough = [
        image_config("long", f"{ACME}/base:v1.2", registry=pull_secret("long")),
        image_config("longest", f"{ACME}/base:v1.2.0", runtime=RUNTIME),
        image_config("short", f"{ACME}/base:", registry=pull_secret("short"), verification=VERIFICATION),
    ]

    (made,) = companions([BASE], passthrough)

    assert made["spec"]["registry"] == pull_secret("long")
    assert made["spec"]["runtime"] == RUNTIME
    assert made["spec"]["verification"] == VERIFICATION


@pytest.mark.parametrize("end", ["@", "@sha256:", f"@{BASE.digest}"])
def test_a_users_config_for_the_digest_wins_for_its_purpose(end: str) -> None:
    passthrough = [
        image_config("tag", f"{ACME}/base:v1.2.0", registry=pull_secret("tag"), runtime=RUNTIME),
        image_config("digest", f"{ACME}/base{end}", registry=pull_secret("digest")),
    ]

    (made,) = companions([BASE], passthrough)

    assert made["spec"].keys() == {"matchImages", "runtime"}


def test_a_config_for_another_digest_has_no_effect() -> None:
    passthrough = [
        image_config("tag", f"{ACME}/base:v1.2.0", runtime=RUNTIME),
        image_config("digest", f"{ACME}/base@{digest('f')}", runtime={"configRef": {"name": "x"}}),
    ]

    (made,) = companions([BASE], passthrough)

    assert made["spec"]["runtime"] == RUNTIME


def test_prefixes_are_compared_with_the_pulled_reference_and_not_with_the_source() -> None:
    passthrough = [
        image_config("before", f"{ACME}/base:v1", runtime={"configRef": {"name": "unused"}}),
        image_config("after", "mirror.example/base:new-v1", registry=pull_secret("mirror")),
    ]

    (made,) = companions([BASE], passthrough, (f"{ACME}/base:", "mirror.example/base:new-"))

    assert made["spec"] == {
        "matchImages": [{"type": "Prefix", "prefix": f"mirror.example/base@{BASE.digest}"}],
        "registry": pull_secret("mirror"),
    }


def test_earlier_versions_have_companions_too() -> None:
    base = package("base v1.2.0", kept_pins=(KeptPin("v1.1.0", digest("11")),))

    (made,) = companions([base], [image_config("old", f"{ACME}/base:v1.1", runtime=RUNTIME)])

    assert made["spec"]["matchImages"][0]["prefix"] == f"{ACME}/base@{digest('11')}"


@pytest.mark.parametrize(("tag", "runtime"), [("v1.2.0", RUNTIME), ("v1.1.0", None)])
def test_of_two_tags_with_one_digest_the_installed_one_counts(tag: str, runtime: object) -> None:
    base = package("base v1.2.0", kept_pins=(KeptPin("v1.1.0", BASE.digest),))

    made = companions([base], [image_config("own", f"{ACME}/base:{tag}", runtime=RUNTIME)])

    assert [item["spec"]["runtime"] for item in made] == ([runtime] if runtime else [])


def test_a_rewrite_is_never_copied() -> None:
    passthrough = [image_config("own", f"{ACME}/base:v1", rewriteImage={"prefix": "mirror.example/base:v1"})]

    assert companions([BASE], passthrough, (f"{ACME}/base:v1", "mirror.example/base:v1")) == []


MALFORMED: list[dict[str, Any]] = [
    {},
    {"spec": None},
    {"spec": []},
    {"spec": "x"},
    {"spec": {"runtime": RUNTIME}},
    {"spec": {"matchImages": None, "runtime": RUNTIME}},
    {"spec": {"matchImages": {"prefix": f"{ACME}/base:"}, "runtime": RUNTIME}},
    {"spec": {"matchImages": [None, "x", ["y"], {}, {"prefix": None}, {"prefix": 1}], "runtime": RUNTIME}},
    {"spec": {"matchImages": [{"prefix": f"{ACME}/base:"}], "runtime": None, "verification": None}},
    {"spec": {"matchImages": [{"prefix": f"{ACME}/base:"}], "registry": None}},
    {"spec": {"matchImages": [{"prefix": f"{ACME}/base:"}], "registry": "x"}},
    {"spec": {"matchImages": [{"prefix": f"{ACME}/base:"}], "registry": {"authentication": ["x"]}}},
    {
        "spec": {
            "matchImages": [{"prefix": f"{ACME}/base:"}],
            "registry": {"authentication": {"pullSecretRef": 1}},
        }
    },
    {"spec": {"matchImages": [{"prefix": f"{ACME}/base:"}], "registry": pull_secret("")}},
]


@pytest.mark.parametrize("value", MALFORMED)
def test_malformed_image_configs_have_no_companion(value: dict[str, Any]) -> None:
    head = {"apiVersion": "pkg.crossplane.io/v1beta1", "kind": "ImageConfig", "metadata": {"name": "odd"}}

    assert companions([BASE], [head | value]) == []


@pytest.mark.parametrize(("key", "text"), [("apiVersion", "pkg.crossplane.io/v1"), ("kind", "Image")])
def test_other_kinds_have_no_companion(key: str, text: str) -> None:
    assert companions([BASE], [image_config("own", f"{ACME}/base:", runtime=RUNTIME) | {key: text}]) == []


_ends = st.sampled_from(
    ["", "/a", "/ab", "/a:", "/ab:", "/a:v", "/a:v1", "/ab:v1.1", "/a@", "/a@sha256:1", "/b:v1"]
)
_mirrors = st.dictionaries(
    st.sampled_from(["", "/a", "/ab", "/a:", "/ab:v"]), st.just("m.example/n"), max_size=2
)
_configs = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from([ACME, "m.example/n"]), _ends), min_size=1, max_size=3),
        st.sets(st.sampled_from(PURPOSES), min_size=1),
    ),
    max_size=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["a", "ab"]), st.lists(st.sampled_from(["v1", "v1.1", "w"]), min_size=1, unique=True)
    ),
    _mirrors,
    _configs,
)
def test_every_lookup_has_the_same_result_with_and_without_pins(
    tags: dict[str, list[str]],
    mirrors: dict[str, str],
    configs: list[tuple[list[tuple[str, str]], set[str]]],
) -> None:
    seeds = iter("123456789")
    packages = [
        package(
            f"{name} {first}",
            digest=digest(next(seeds)),
            kept_pins=[KeptPin(tag, digest(next(seeds))) for tag in rest],
        )
        for name, (first, *rest) in tags.items()
    ]
    pairs = {f"{ACME}{end}": f"{mirror}{end}" for end, mirror in mirrors.items()}
    passthrough = [
        image_config(
            f"own{i}",
            *map("".join, prefixes),
            **{purpose: _value(purpose, i) for purpose in sorted(purposes)},
        )
        for i, (prefixes, purposes) in enumerate(configs)
    ]
    rewriting = [image_config("r", old, rewriteImage={"prefix": new}) for old, new in pairs.items()]

    pins = find_pins(packages, [rewrite(*pair) for pair in pairs.items()])
    made = list(render_companions(pins, passthrough))

    everything = [*passthrough, *rewriting, *map(render_pin, pins), *made]
    for pin in pins:
        before, after = rewrite_image(rewriting, pin.prefix), rewrite_image(everything, pin.prefix)
        assert after.endswith(f"@{pin.digest}")
        for purpose in PURPOSES:
            assert _found(everything, purpose, after) == _expected(passthrough, purpose, before, after)


def _expected(passthrough: list[dict[str, Any]], purpose: str, before: str, after: str) -> object:
    # Only a config that speaks of the digest itself may now be found instead.
    by_digest = [
        prefix for prefix in _prefixes(passthrough, purpose) if "@" in prefix and after.startswith(prefix)
    ]
    return _found(passthrough, purpose, after if by_digest else before)


def _prefixes(passthrough: list[dict[str, Any]], purpose: str) -> list[str]:
    return [
        match["prefix"]
        for config in passthrough
        if purpose in config["spec"]
        for match in config["spec"]["matchImages"]
    ]


def _found(configs: Sequence[Mapping[str, Any]], purpose: str, image: str) -> object:
    # The user's own ties are the user's: of several the first one, as a companion takes it.
    return [config["spec"][purpose] for config in islice(best_matches(configs, purpose, image), 1)]


def _value(purpose: str, number: int) -> dict[str, Any]:
    return pull_secret(f"s{number}") if purpose == "registry" else {"number": number}
