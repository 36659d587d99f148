"""What counts as a definition of a kind, and how a kind is found in the index."""

from typing import Any

import pytest
from rig.builders.catalogs import named
from rig.builders.definitions import XRD_API_V2, a_crd, a_version, an_mrd, an_xrd, as_document, item_of

from render.crd_dependencies import parse_crd
from render.limits import Limits
from render.resolve.crds.index import Index, index_packages
from render.xpkg.definitions import Definition
from render.xpkg.outline import describe_definition

S3, MORE = named("s3"), named("more")


def facts(value: dict[str, Any]) -> Definition:
    found = describe_definition(item_of(value), as_document(value), Limits())
    assert isinstance(found, Definition)
    return found


def index(*values: dict[str, Any]) -> Index:
    return index_packages({S3: [facts(value) for value in values]})


def served(found: Index, text: str) -> bool:
    return found.find(parse_crd(text)).served == (S3,)


@pytest.mark.parametrize("make", [a_crd, an_mrd, an_xrd])
def test_a_crd_an_mrd_and_an_xrd_define_their_kind(make: Any) -> None:
    found = index(make(name="things.example.org"))

    for name in ("thing", "Thing", "THINGS", "*"):
        assert served(found, f"{name}.example.org/v1")


def test_an_xrd_defines_its_claim_too_if_it_offers_one() -> None:
    claims = an_xrd(name="xthings.example.org", claimNames={"kind": "Thing", "plural": "things"})
    found, bare = index(claims), index(an_xrd(name="xthings.example.org", api_version=XRD_API_V2))

    assert served(found, "thing.example.org/v1")
    assert served(found, "things.example.org/v1")
    assert not served(bare, "thing.example.org/v1")


def test_a_version_that_is_listed_and_not_served_does_not_count() -> None:
    found = index(a_crd(a_version("v1"), a_version("v1beta1", served=False, storage=False)))

    assert served(found, "thing.example.org/v1")
    assert found.find(parse_crd("thing.example.org/v1beta1")).named == (S3,)
    assert found.find(parse_crd("*.example.org/v1beta1")).served == ()


def test_a_singular_that_is_written_out_is_a_name_and_no_plural_is_derived() -> None:
    names = {"kind": "Policy", "plural": "policies", "singular": "rule"}
    found = index(a_crd(name="policies.example.org", names=names))

    assert [name for name in ("rule", "policy", "policies", "policys", "rules") if served(found, f"{name}.example.org")] == [
        "rule",
        "policy",
        "policies",
    ]  # fmt: skip


def test_a_kind_is_found_within_its_group_alone() -> None:
    found = index_packages({
        S3: [facts(a_crd(name="things.example.org"))],
        MORE: [facts(a_crd(name="things.more.example.org"))],
    })  # fmt: skip

    assert found.find(parse_crd("thing.example.org")).served == (S3,)
    assert found.find(parse_crd("*.more.example.org")).served == (MORE,)
    assert found.groups == ["example.org", "more.example.org"]


def test_a_definition_that_cannot_be_read_defines_nothing() -> None:
    value = a_crd(name="things.example.org")
    broken = describe_definition(item_of(value), b"\nspec: [", Limits())

    assert isinstance(broken, Definition)
    assert index_packages({S3: [broken]}).find(parse_crd("thing.example.org")).served == ()
