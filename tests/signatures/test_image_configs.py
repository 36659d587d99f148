"""ImageConfigs are looked up as Crossplane does it: by text, by the longest prefix, after one rewrite."""

from typing import Any

from render.signatures.image_configs import ImageConfigs, has_rules

VERIFICATION = {"provider": "Cosign", "cosign": {"authorities": []}}


def config(name: str, *prefixes: str, **spec: Any) -> dict[str, Any]:
    """Return an ImageConfig."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": name},
        "spec": {"matchImages": [{"prefix": prefix} for prefix in prefixes], **spec},
    }


def names(configs: ImageConfigs, reference: str) -> list[str]:
    """Return the names of the rules for a reference."""
    return [rule.name for rule in configs.find_rules(reference)]


def test_the_longest_prefix_counts_and_others_do_not() -> None:
    configs = ImageConfigs.of(
        [
            config("host", "xpkg.example.org/", verification=VERIFICATION),
            config("acme", "xpkg.example.org/acme", "x", verification=VERIFICATION),
            config("longer", "xpkg.example.org/acme/provider", registry={}),
        ]
    )

    assert names(configs, "xpkg.example.org/acme/provider:v1") == ["acme"]
    assert names(configs, "xpkg.example.org/acme-corp/x:v1") == ["acme"]
    assert names(configs, "xpkg.example.org/labs/x:v1") == ["host"]
    assert names(configs, "other.example.org/x:v1") == []


def test_of_two_rules_for_one_prefix_both_are_returned() -> None:
    configs = ImageConfigs.of([config(name, "x", verification=VERIFICATION) for name in ("one", "two")])

    assert names(configs, "xpkg") == ["one", "two"]


def test_a_reference_is_rewritten_once() -> None:
    rewrites = [
        config("pin", "a.example/x:v1", rewriteImage={"prefix": "b.example/x@sha256:12"}),
        config("host", "a.example/", rewriteImage={"prefix": "c.example/"}),
        config("again", "b.example/", rewriteImage={"prefix": "d.example/"}),
    ]
    configs = ImageConfigs.of([*rewrites, config("rule", "b.example/", verification=VERIFICATION)])

    assert configs.resolve("a.example/x:v1") == "b.example/x@sha256:12"
    assert configs.resolve("a.example/x:v2") == "c.example/x:v2"
    assert configs.match("a.example/x:v1")
    assert not configs.match("a.example/x:v2")


def test_other_objects_are_no_rules() -> None:
    odd = {**config("odd", "x", verification=VERIFICATION), "apiVersion": "example.org/v1"}

    assert not has_rules([odd, {}, {"kind": "ImageConfig"}, config("none", "x")])
    assert has_rules([config("rule", "x", verification=VERIFICATION)])
