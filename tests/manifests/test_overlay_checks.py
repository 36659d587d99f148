"""The changes that an overlay may make, and those that are refused."""

from pathlib import Path
from typing import Any

import pytest

from render.manifests.overlay_checks import BrokenByOverlay, check_overlay_output


def an_object(kind: str, name: str, api: str = "pkg.crossplane.io/v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def pin(prefix: str = "a:v1", target: str = "a@sha256:1") -> dict[str, Any]:
    matches = [{"type": "Prefix", "prefix": prefix}]
    return an_object("ImageConfig", "pin", matchImages=matches, rewriteImage={"prefix": target})


PROVIDER = an_object("Provider", "a", package="a:v1")
FUNCTION = an_object("Function", "f", package="f:v1")
CONFIG = an_object("ProviderConfig", "c", "aws.example.org/v1", x=1)
SECRET = an_object("ImageConfig", "secret", matchImages=[{"prefix": "a"}], registry={})
BEFORE = [pin(), SECRET, PROVIDER, FUNCTION, CONFIG]


def problems(*after: dict[str, Any]) -> list[str]:
    with pytest.raises(BrokenByOverlay) as raised:
        check_overlay_output(BEFORE, after, Path("over"))
    assert raised.value.exit_code == 2
    assert raised.value.what == "the overlay in over changes locked packages or pins"
    return list(raised.value.why)


def test_an_overlay_may_change_other_fields_and_add_other_objects() -> None:
    labelled = {**PROVIDER, "metadata": {"name": "a", "namespace": "x", "labels": {"team": "b"}}}
    extended = {**FUNCTION, "spec": {**FUNCTION["spec"], "revisionHistoryLimit": 3}}
    new = an_object("ConfigMap", "new", "v1")
    other_group = an_object("Provider", "p", "other.example.org/v1")

    check_overlay_output(BEFORE, [new, other_group, extended, labelled, pin()], Path("over"))


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        ([pin(), FUNCTION], "Provider/a is removed or renamed"),
        ([pin(), PROVIDER], "Function/f is removed or renamed"),
        ([PROVIDER, FUNCTION], "ImageConfig/pin is removed or renamed"),
        (
            [pin(), FUNCTION, an_object("Provider", "a", package="b:v1")],
            "Provider/a: spec.package is b:v1, and was a:v1",
        ),
        ([pin(), FUNCTION, an_object("Provider", "a")], "Provider/a: spec.package is None, and was a:v1"),
        (
            [pin(target="a@sha256:2"), PROVIDER, FUNCTION],
            "ImageConfig/pin: spec.rewriteImage is {'prefix': 'a@sha256:2'}, and was {'prefix': 'a@sha256:1'}",
        ),
        (
            [pin(prefix="b:v1"), PROVIDER, FUNCTION],
            "ImageConfig/pin: spec.matchImages is [{'type': 'Prefix', 'prefix': 'b:v1'}], "
            "and was [{'type': 'Prefix', 'prefix': 'a:v1'}]",
        ),
        (
            [pin(), PROVIDER, FUNCTION, an_object("Configuration", "n", package="n:v1")],
            "Configuration/n is new, and a package has to be locked",
        ),
        (
            [
                pin(),
                PROVIDER,
                FUNCTION,
                an_object("Provider", "a", "pkg.crossplane.io/v1beta1", package="a:v1"),
            ],
            "there are 2 objects Provider/a",
        ),
        (
            [pin(), PROVIDER, FUNCTION, *[{**CONFIG, "metadata": {"name": "c", "namespace": "n"}}] * 2],
            "there are 2 objects ProviderConfig/n/c",
        ),
    ],
)
def test_changed_packages_and_pins_are_refused(after: list[dict[str, Any]], problem: str) -> None:
    assert problems(*after) == [problem]


def test_a_renamed_package_is_reported_as_removed_and_as_new() -> None:
    assert problems(pin(), FUNCTION, an_object("Provider", "x-a", package="a:v1")) == [
        "Provider/a is removed or renamed",
        "Provider/x-a is new, and a package has to be locked",
    ]


def test_many_problems_are_counted_and_not_all_shown() -> None:
    before = [an_object("Provider", f"p{i}", package="x") for i in range(25)]

    with pytest.raises(BrokenByOverlay) as raised:
        check_overlay_output(before, [], Path("over"))

    assert len(raised.value.why) == 21
    assert raised.value.why[-1] == "… and 5 more"


def test_a_new_rewrite_is_refused() -> None:
    mirror = {**pin("a:v1", "evil@sha256:2"), "metadata": {"name": "mirror"}}

    assert problems(*BEFORE, mirror) == [
        "ImageConfig/mirror is new, and pins depend on every rewrite: put it into the folder itself"
    ]


def test_an_image_config_that_was_there_gets_no_rewrite() -> None:
    secret = {**SECRET, "spec": {**SECRET["spec"], "rewriteImage": {"prefix": "evil@sha256:2"}}}

    assert problems(pin(), secret, PROVIDER, FUNCTION, CONFIG) == [
        "ImageConfig/secret gets a rewrite, and pins depend on every rewrite: put it into the folder itself"
    ]


def test_an_overlay_must_not_detach_or_reactivate_a_package() -> None:
    off = an_object("Provider", "off", package="o:v1", revisionActivationPolicy="Manual")
    revision = an_object("ProviderRevision", "off-1", desiredState="Inactive")
    attached = {**PROVIDER, "spec": {**PROVIDER["spec"], "skipDependencyResolution": True}}
    on = an_object("Provider", "off", package="o:v1", revisionActivationPolicy="Automatic")
    active = an_object("ProviderRevision", "off-1", desiredState="Active")

    with pytest.raises(BrokenByOverlay) as raised:
        check_overlay_output([PROVIDER, off, revision], [attached, on, active], Path("over"))

    assert raised.value.why == (
        "Provider/a: spec.skipDependencyResolution is True, and was None",
        "Provider/off: spec.revisionActivationPolicy is Automatic, and was Manual",
        "ProviderRevision/off-1: spec.desiredState is Active, and was Inactive",
    )


@pytest.mark.parametrize("kind", ["ConfigMap", "List"])
@pytest.mark.parametrize("key", ["items", "Items", "item\u017f"])
def test_no_object_of_an_overlay_has_items(kind: str, key: str) -> None:
    hiding = {**an_object(kind, "new", "v1"), key: [an_object("Provider", "b", package="b:v1")]}

    assert problems(*BEFORE, hiding) == [
        f"{kind}/new has the field {key}, and Argo CD would apply each item as an object"
    ]


def test_every_field_that_hides_items_is_named() -> None:
    hiding = {
        **an_object("List", "new", "v1"),
        "items": [],
        "Items": [an_object("Provider", "b", package="b:v1")],
    }

    assert len(problems(*BEFORE, hiding)) == 2


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"Kind": "Provider"}, "the key 'Kind' has to be spelled 'kind'"),
        ({"apiversion": "pkg.crossplane.io/v1"}, "the key 'apiversion' has to be spelled 'apiVersion'"),
        ({"metadata": {"name": "new", "Name": "b"}}, "metadata: the key 'Name' has to be spelled 'name'"),
    ],
)
def test_no_object_of_an_overlay_has_keys_that_go_would_fold(more: dict[str, Any], problem: str) -> None:
    hiding = {**an_object("ConfigMap", "new", "v1"), **more}

    assert problems(*BEFORE, hiding) == [f"ConfigMap/new: {problem}"]


def test_an_overlay_does_not_change_the_image_of_a_revision() -> None:
    before = an_object("ProviderRevision", "off-1", desiredState="Inactive")
    after = an_object("ProviderRevision", "off-1", desiredState="Inactive", image="b:v1", revision=7)

    with pytest.raises(BrokenByOverlay) as raised:
        check_overlay_output([before], [after], Path("over"))

    assert list(raised.value.why) == ["ProviderRevision/off-1: spec.image is b:v1, and was None"]
