"""The ImageConfigs for a mirror: rewrites that lead there, and rules that go on to match."""

from typing import Any

import pytest

from render.errors import InvalidInput
from render.manifests.mirror_configs import mirror_configs
from render.mirrors import BARE, Mirror, check_paths
from render.references import parse_source
from render.rewrites import Rewrite, Rewrites

MIRROR = Mirror("mirror.example/xp")
APP = parse_source("xpkg.example.org/acme/app")
OTHER = parse_source("other.example.org:5000/acme/app")
KEY = {"provider": "Cosign", "cosign": {"authorities": [{"name": "acme"}]}}


def rule(name: str, *prefixes: str, **purposes: object) -> dict[str, Any]:
    """Return an ImageConfig of a user."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": name},
        "spec": {"matchImages": [{"prefix": prefix} for prefix in prefixes], **purposes},
    }


def translated(*rules: dict[str, Any], rewrites: tuple[Rewrite, ...] = ()) -> dict[str, list[str]]:
    """Return the prefixes of the copies of some rules, by name."""
    made = mirror_configs(MIRROR, [APP, OTHER], rules, Rewrites(rewrites))
    return {
        value["metadata"]["name"]: [match["prefix"] for match in value["spec"]["matchImages"]]
        for value in made
        if "rewriteImage" not in value["spec"]
    }


def test_each_host_gets_one_rewrite_with_slashes_at_both_ends() -> None:
    made = mirror_configs(MIRROR, [OTHER, APP, APP], (), Rewrites(()))

    assert [
        (value["spec"]["matchImages"][0]["prefix"], value["spec"]["rewriteImage"]["prefix"]) for value in made
    ] == [
        ("other.example.org:5000/", "mirror.example/xp/other.example.org-5000/"),
        ("xpkg.example.org/", "mirror.example/xp/xpkg.example.org/"),
    ]
    assert {value["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for value in made} == {"-1"}


def test_a_pull_secret_has_an_image_config_of_its_own() -> None:
    made = mirror_configs(Mirror("mirror.example/xp", pull_secret="login"), [APP], (), Rewrites(()))

    assert [value["spec"] for value in made if "registry" in value["spec"]] == [
        {
            "matchImages": [{"type": "Prefix", "prefix": "mirror.example/xp/"}],
            "registry": {"authentication": {"pullSecretRef": {"name": "login"}}},
        }
    ]


@pytest.mark.parametrize(
    ("prefix", "copies"),
    [
        ("xpkg.example.org", ["mirror.example/xp/xpkg.example.org/"]),
        ("xpkg.", ["mirror.example/xp/xpkg.example.org/"]),
        ("xpkg.example.org/ac", ["mirror.example/xp/xpkg.example.org/ac"]),
        ("xpkg.example.org/acme/app", ["mirror.example/xp/xpkg.example.org/acme/app"]),
        ("xpkg.example.org/acme/app:v1", ["mirror.example/xp/xpkg.example.org/acme/app:v1"]),
        ("other.example.org:5000/acme", ["mirror.example/xp/other.example.org-5000/acme"]),
    ],
)
def test_a_rule_is_repeated_for_the_copies_of_what_it_matches(prefix: str, copies: list[str]) -> None:
    assert translated(rule("signed", prefix, verification=KEY)) == {"signed-mirror": copies}


@pytest.mark.parametrize(
    "value",
    [
        rule("elsewhere", "third.example.org/", verification=KEY),
        rule("already", "mirror.example/xp/", verification=KEY),
        rule("login", "xpkg.example.org/", registry={"authentication": {"pullSecretRef": {"name": "x"}}}),
        rule("empty", "", verification=KEY),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "spec": {"verification": KEY}},
    ],
)
def test_a_rule_that_matches_no_copy_or_belongs_to_the_registry_is_not_repeated(
    value: dict[str, Any],
) -> None:
    assert translated(value) == {}


def test_a_rule_matches_where_the_rewrites_of_the_folder_lead() -> None:
    cache = Rewrite("xpkg.example.org/", "cache.example.org/x/", "here")

    found = translated(
        rule("signed", "cache.example.org/x/acme", verification=KEY),
        rule("unused", "xpkg.example.org/", verification=KEY),
        rewrites=(cache,),
    )

    copy = "mirror.example/xp/xpkg.example.org/acme/app"
    assert found == {"signed-mirror": [f"{copy}:", f"{copy}@"]}


def test_of_two_rules_that_would_get_one_prefix_the_more_special_one_stays() -> None:
    found = translated(
        rule("all", "xpkg", verification={"provider": "Cosign"}, runtime={"configRef": {"name": "x"}}),
        rule("host", "xpkg.example.org", verification=KEY),
    )

    assert set(found) == {"all-mirror", "host-mirror"}
    made = mirror_configs(
        MIRROR,
        [APP],
        [rule("all", "xpkg", verification={}, runtime={"a": "b"}), rule("host", "xpkg.", verification=KEY)],
        Rewrites(()),
    )
    purposes = {value["metadata"]["name"]: set(value["spec"]) - {"matchImages"} for value in made}
    assert purposes["all-mirror"] == {"runtime"}
    assert purposes["host-mirror"] == {"verification"}


def test_two_sources_on_one_path_are_refused() -> None:
    bare = Mirror("mirror.example", BARE)
    check_paths(MIRROR, [APP, OTHER])

    assert str(bare.place(APP)) == "mirror.example/acme/app"
    with pytest.raises(InvalidInput, match="one path") as error:
        check_paths(bare, [APP, OTHER])

    assert "other.example.org:5000/acme/app and xpkg.example.org/acme/app" in str(error.value)
