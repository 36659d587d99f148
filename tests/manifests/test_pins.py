"""Every locked tag is rewritten to its digest, at the repository that the user's rewrites name."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.builders.locks import digest, package, source
from rig.builders.render_inputs import best_matches, image_config, rewrite, rewrite_image
from rig.cluster.crds import problems_of

from render.errors import InvalidInput
from render.lock.model import KeptPin
from render.manifests.pins import find_pins, render_pin

ACME = "xpkg.example.org/acme"


def marked(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def test_a_pin_is_one_image_config_for_source_and_tag() -> None:
    base = package("base v1.2.0")

    (made,) = map(render_pin, find_pins([base], []))

    assert made == {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {
            "name": f"xplock-acme-base-v1-2-0-{marked(f'{ACME}/base:v1.2.0')}",
            "annotations": {"argocd.argoproj.io/sync-wave": "-1"},
        },
        "spec": {
            "matchImages": [{"type": "Prefix", "prefix": f"{ACME}/base:v1.2.0"}],
            "rewriteImage": {"prefix": f"{ACME}/base@{base.digest}"},
        },
    }
    assert problems_of(made) == []


def test_the_name_of_a_pin_is_stable() -> None:
    (pin,) = find_pins([package("nop v0.4.0")], [])

    # printf xpkg.example.org/acme/nop:v0.4.0 | sha256sum
    assert pin.name == "xplock-acme-nop-v0-4-0-3b790cb8"


@pytest.mark.parametrize("tag", ["v1.0.0_rc", "UPPER", "_", "v" + "1" * 127, "a.b-c", "--"])
def test_any_tag_makes_a_valid_kubernetes_name(tag: str) -> None:
    base = package(f"base {tag}", object_name="b" * 63)

    (made,) = map(render_pin, find_pins([base], []))

    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", made["metadata"]["name"])
    assert problems_of(made) == []


def test_tags_that_are_equal_as_names_get_different_pins() -> None:
    packages = [
        package("base v1.0", kept_pins=tuple(KeptPin(tag, digest("a")) for tag in ("v1-0", "v1_-0", "v1.0.")))
    ]

    names = {pin.name for pin in find_pins(packages, [])}

    assert len(names) == 4


def test_the_users_rewrite_is_composed_in() -> None:
    base = package("base v1.2.0")

    (pin,) = find_pins([base], [rewrite("xpkg.example.org", "mirror.example/up")])

    assert pin.prefix == f"{ACME}/base:v1.2.0"
    assert pin.target == f"mirror.example/up/acme/base@{base.digest}"


def test_pins_of_earlier_versions_stay_behind_those_of_what_is_installed() -> None:
    packages = [
        package("app v2.0.0", kept_pins=(KeptPin("v1.9.0", digest("19")), KeptPin("v1.8.0", digest("18")))),
        package("base v1.2.0"),
    ]

    pins = find_pins(packages, [rewrite(f"{ACME}/app", "mirror.example/app")])

    assert [(pin.prefix, pin.target) for pin in pins] == [
        (f"{ACME}/app:v2.0.0", f"mirror.example/app@{packages[0].digest}"),
        (f"{ACME}/base:v1.2.0", f"{ACME}/base@{packages[1].digest}"),
        (f"{ACME}/app:v1.9.0", f"mirror.example/app@{digest('19')}"),
        (f"{ACME}/app:v1.8.0", f"mirror.example/app@{digest('18')}"),
    ]
    assert all(pin.name.startswith("xplock-acme-app-v") for pin in pins if "/app:" in pin.prefix)


def test_a_package_installed_by_digest_has_no_pin_but_keeps_its_kept_pins() -> None:
    base = package(f"base {digest('ab')}", kept_pins=(KeptPin("v1.0.0", digest("10")),))

    pins = find_pins([base], [])

    assert [pin.prefix for pin in pins] == [f"{ACME}/base:v1.0.0"]


def test_the_current_pin_of_a_tag_wins_over_a_kept_one() -> None:
    kept = (KeptPin("v2.0.0", digest("f")), KeptPin("v1.0.0", digest("10")), KeptPin("v1.0.0", digest("11")))
    app = package("app v2.0.0", kept_pins=kept)

    pins = find_pins([app], [])

    assert [(pin.prefix, pin.digest) for pin in pins] == [
        (f"{ACME}/app:v2.0.0", app.digest),
        (f"{ACME}/app:v1.0.0", digest("10")),
    ]


def test_an_alias_is_pinned_under_its_old_source_to_bytes_of_the_new_one() -> None:
    kept = (
        KeptPin("v1.5.0", digest("15")),
        KeptPin("v1.0.0", digest("10"), source=source("old")),
        KeptPin("v0.9.0", digest("9"), source=source("old"), installed_as=source("oldest")),
    )
    moved = package("new v2.0.0", installed_as=source("old"), object_name="acme-old", kept_pins=kept)

    pins = find_pins([moved], [rewrite(f"{ACME}/new", "mirror.example/new")])

    assert [(pin.prefix, pin.target) for pin in pins] == [
        (f"{ACME}/old:v2.0.0", f"mirror.example/new@{moved.digest}"),
        (f"{ACME}/old:v1.5.0", f"mirror.example/new@{digest('15')}"),
        (f"{ACME}/old:v1.0.0", f"{ACME}/old@{digest('10')}"),
        (f"{ACME}/oldest:v0.9.0", f"{ACME}/old@{digest('9')}"),
    ]
    assert pins[0].name == f"xplock-acme-old-v2-0-0-{marked(f'{ACME}/old:v2.0.0')}"


def test_a_repointed_package_keeps_the_pins_of_its_old_source() -> None:
    kept = (KeptPin("v1.0.0", digest("10"), source=source("old")),)

    pins = find_pins([package("new v2.0.0", kept_pins=kept)], [])

    assert [(pin.prefix, pin.location) for pin in pins] == [
        (f"{ACME}/new:v2.0.0", f"{ACME}/new"),
        (f"{ACME}/old:v1.0.0", f"{ACME}/old"),
    ]


def test_the_pin_of_a_tag_does_not_apply_to_a_longer_tag() -> None:
    # Plain prefixes: that of v1.1.1 fits v1.1.10 as well.
    packages = [
        package(
            "base v1.1.10", kept_pins=(KeptPin("v1.1.1", digest("111")), KeptPin("v1.1.100", digest("f")))
        )
    ]

    configs = [render_pin(pin) for pin in find_pins(packages, [])]

    assert len(best_matches(configs, "rewriteImage", f"{ACME}/base:v1.1.10")) == 1
    assert rewrite_image(configs, f"{ACME}/base:v1.1.10") == f"{ACME}/base@{packages[0].digest}"
    assert rewrite_image(configs, f"{ACME}/base:v1.1.1") == f"{ACME}/base@{digest('111')}"
    assert rewrite_image(configs, f"{ACME}/base:v1.1.100") == f"{ACME}/base@{digest('f')}"


@pytest.mark.parametrize("place", ["mirror.yaml: spec.matchImages[1]", "xplock.yaml: rewrites[0]"])
def test_a_rewrite_with_the_prefix_of_a_pin_is_refused(place: str) -> None:
    own = rewrite(f"{ACME}/base:v1.2.0", "mirror.example/base:v1.2.0", place)
    base = package("base v1.2.0")

    with pytest.raises(InvalidInput, match="same prefix") as error:
        find_pins([base, package("app v1.0.0")], [own])

    assert error.value.why == (
        f"{place} rewrites {ACME}/base:v1.2.0 to mirror.example/base:v1.2.0, "
        f"its pin rewrites it to mirror.example/base@{base.digest}",
    )
    assert "before the tag, or remove the rewrite" in str(error.value)
    assert "by its digest" in str(error.value)


def test_all_contested_pins_are_in_one_error_within_bounds() -> None:
    packages = [package(f"p{i:02} v1.0.0") for i in range(25)]
    own = [rewrite(f"{item.source}:v1.0.0", "mirror.example/p:v1.0.0") for item in packages]

    with pytest.raises(InvalidInput) as error:
        find_pins(packages, own)

    assert [line.partition("/p")[2][:2] for line in error.value.why[:20]] == [f"{i:02}" for i in range(20)]
    assert error.value.why[20:] == ("… and 5 more",)


def test_a_rewrite_equal_to_the_pin_is_allowed() -> None:
    base = package("base v1.2.0")
    own = rewrite(f"{ACME}/base:v1.2.0", f"mirror.example/base@{base.digest}")

    (pin,) = find_pins([base], [own])

    assert pin.target == own.replacement


def test_a_users_rewrite_wins_over_a_kept_pin() -> None:
    app = package(
        f"app {digest('ab')}", kept_pins=(KeptPin("v1.0.0", digest("10")), KeptPin("v0.9.0", digest("9")))
    )

    pins = find_pins([app], [rewrite(f"{ACME}/app:v1.0.0", "mirror.example/app:v1.0.0")])

    assert [pin.prefix for pin in pins] == [f"{ACME}/app:v0.9.0"]


_tags = st.text("v1.", min_size=1, max_size=5).filter(lambda text: text[0] != ".")
_ends = st.sampled_from(
    ["", "/acme", "/acme/a", "/acme/ab", "/acme/a:", "/acme/ab:v", "/acme/a:1", "/acme/a:v1."]
)


@given(
    st.dictionaries(
        st.sampled_from(["a", "ab", "b"]), st.lists(_tags, min_size=1, max_size=4, unique=True), min_size=1
    ),
    st.dictionaries(_ends, st.sampled_from(["m.example", "n.example/x"]), max_size=4),
)
def test_crossplane_pulls_the_locked_bytes_from_where_it_pulled_before(
    tags: dict[str, list[str]], mirrors: dict[str, str]
) -> None:
    pairs = {f"xpkg.example.org{end}": f"{mirror}{end}" for end, mirror in mirrors.items()}
    packages = [
        package(
            f"{name} {first}", kept_pins=tuple(KeptPin(tag, digest(f"{i}b")) for i, tag in enumerate(rest))
        )
        for name, (first, *rest) in tags.items()
    ]
    if any(f"{ACME}/{name}:{first}" in pairs for name, (first, *_) in tags.items()):
        return

    pins = find_pins(packages, [rewrite(*pair) for pair in pairs.items()])

    own = [
        image_config(f"own{i}", old, rewriteImage={"prefix": new})
        for i, (old, new) in enumerate(pairs.items())
    ]
    configs = own + [render_pin(pin) for pin in pins]
    for pin in pins:
        before = rewrite_image(own, pin.prefix)
        assert rewrite_image(configs, pin.prefix) == f"{before.rpartition(':')[0]}@{pin.digest}"
    for item in packages:
        assert rewrite_image(configs, f"{item.source}:{item.version}").endswith(f"@{item.digest}")
