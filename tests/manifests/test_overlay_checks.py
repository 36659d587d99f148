"""What an overlay may change, and what it may not."""

from pathlib import Path
from typing import Any

import pytest

from render.manifests.overlay_checks import BrokenByOverlay, check_fixed


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
        check_fixed(BEFORE, after, Path("over"))
    assert raised.value.exit_code == 2
    assert raised.value.what == "the overlay in over changes what is locked"
    return list(raised.value.why)


def test_other_fields_other_objects_and_new_ones_are_the_users() -> None:
    labelled = {**PROVIDER, "metadata": {"name": "a", "namespace": "x", "labels": {"team": "b"}}}
    extended = {**FUNCTION, "spec": {**FUNCTION["spec"], "revisionHistoryLimit": 3}}
    new = an_object("ConfigMap", "new", "v1")
    other_group = an_object("Provider", "p", "other.example.org/v1")

    check_fixed(BEFORE, [new, other_group, extended, labelled, pin()], Path("over"))


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        ([pin(), FUNCTION], "Provider/a is gone, or has another name"),
        ([pin(), PROVIDER], "Function/f is gone, or has another name"),
        ([PROVIDER, FUNCTION], "ImageConfig/pin is gone, or has another name"),
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
            "Provider/a is there 2 times",
        ),
        (
            [pin(), PROVIDER, FUNCTION, *[{**CONFIG, "metadata": {"name": "c", "namespace": "n"}}] * 2],
            "ProviderConfig/n/c is there 2 times",
        ),
    ],
)
def test_packages_and_pins_stay_what_they_are(after: list[dict[str, Any]], problem: str) -> None:
    assert problems(*after) == [problem]


def test_a_renamed_package_is_told_as_what_went_and_what_came() -> None:
    assert problems(pin(), FUNCTION, an_object("Provider", "x-a", package="a:v1")) == [
        "Provider/a is gone, or has another name",
        "Provider/x-a is new, and a package has to be locked",
    ]


def test_many_problems_are_counted_and_not_all_shown() -> None:
    before = [an_object("Provider", f"p{i}", package="x") for i in range(25)]

    with pytest.raises(BrokenByOverlay) as raised:
        check_fixed(before, [], Path("over"))

    assert len(raised.value.why) == 21
    assert raised.value.why[-1] == "… and 5 more"


def test_a_rewrite_that_pins_do_not_know_of_is_refused() -> None:
    mirror = {**pin("a:v1", "evil@sha256:2"), "metadata": {"name": "mirror"}}

    assert problems(*BEFORE, mirror) == [
        "ImageConfig/mirror is new, and pins have to know of every rewrite: put it into the folder itself"
    ]


def test_nobody_is_detached_or_switched_on_again_behind_the_locks_back() -> None:
    off = an_object("Provider", "off", package="o:v1", revisionActivationPolicy="Manual")
    revision = an_object("ProviderRevision", "off-1", desiredState="Inactive")
    attached = {**PROVIDER, "spec": {**PROVIDER["spec"], "skipDependencyResolution": True}}
    on = an_object("Provider", "off", package="o:v1", revisionActivationPolicy="Automatic")
    active = an_object("ProviderRevision", "off-1", desiredState="Active")

    with pytest.raises(BrokenByOverlay) as raised:
        check_fixed([PROVIDER, off, revision], [attached, on, active], Path("over"))

    assert raised.value.why == (
        "Provider/a: spec.skipDependencyResolution is True, and was None",
        "Provider/off: spec.revisionActivationPolicy is Automatic, and was Manual",
        "ProviderRevision/off-1: spec.desiredState is Active, and was Inactive",
    )
