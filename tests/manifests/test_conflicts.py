"""The rendered set is never empty, and no two of its objects have one identity."""

from typing import Any

import pytest
from rig.builders.locks import digest, package, source
from rig.builders.render_inputs import image_config

from render.errors import InvalidInput, RenderError
from render.manifests.conflicts import FOLDER, LOCK, check_identities, check_packages

ACME = "xpkg.example.org/acme"


def secret(name: str, namespace: str | None = None, api: str = "v1") -> dict[str, Any]:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": api, "kind": "Secret", "metadata": metadata}


def provider(name: str, reference: str) -> dict[str, Any]:
    spec = {"package": reference}
    return {
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Provider",
        "metadata": {"name": name},
        "spec": spec,
    }


def test_one_source_under_two_names_is_refused() -> None:
    first = package("new v1.0.0", installed_as=source("old"), object_name="first")
    second = package("old v1.0.0", object_name="second")

    with pytest.raises(RenderError, match=f"{ACME}/old would be installed twice") as error:
        check_packages([first, second])

    assert "as first and as second" in str(error.value)


def test_objects_that_differ_in_anything_but_the_version_may_stand_side_by_side() -> None:
    values = [
        secret("a"),
        secret("b"),
        secret("a", "n"),
        secret("a", "m"),
        secret("a", api="acme.example/v1"),
    ]

    check_identities([(FOLDER, values), (LOCK, [provider("a", f"{ACME}/a:v1")])])


def test_objects_without_a_name_are_never_the_same() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "x-"}}

    check_identities([(FOLDER, [job, dict(job), {"apiVersion": "batch/v1", "kind": "Job"}])])


def test_two_passthrough_objects_with_one_identity_are_refused() -> None:
    values = [secret("a", "n", api="acme.example/v1"), secret("a", "n", api="acme.example/v2")]

    with pytest.raises(InvalidInput) as error:
        check_identities([(FOLDER, values)])

    assert error.value.what == "there are two objects Secret n/a of acme.example"
    assert error.value.why[:2] == ("one is in the folder", "the other is in the folder")
    assert error.value.next == ("keep one of them",)


def test_a_passthrough_object_with_the_identity_of_a_pin_is_refused() -> None:
    pin = image_config("xplock-a-v1-0123abcd", f"{ACME}/a:v1")

    with pytest.raises(InvalidInput) as error:
        check_identities([(FOLDER, [dict(pin)]), (LOCK, [pin])])

    assert error.value.what == "there are two objects ImageConfig xplock-a-v1-0123abcd of pkg.crossplane.io"
    assert error.value.why[:2] == ("one is in the folder", "the other is made from the lock")
    assert error.value.next == ("remove or rename the one in the folder",)


def test_the_error_names_both_packages_with_one_name() -> None:
    values = [provider("a", f"{ACME}/a:v1"), provider("a", f"other.example/a@{digest('ab')}")]

    with pytest.raises(InvalidInput) as error:
        check_identities([(LOCK, values)])

    assert error.value.what == "there are two objects Provider a of pkg.crossplane.io"
    assert error.value.why[:2] == (
        f"one is made from the lock, for {ACME}/a:v1",
        f"the other is made from the lock, for other.example/a@{digest('ab')}",
    )
    assert error.value.next == ("run: xplock lock",)
