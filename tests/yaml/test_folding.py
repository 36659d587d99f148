"""Keys that Go's JSON decoder takes for one another are found, whatever they look like."""

import pytest

from render.yaml.folding import find_lookalike_fields, find_lookalikes, fold


@pytest.mark.parametrize("key", ["kind", "Kind", "KIND", "\u212aind", "\u212aIND"])
def test_spellings_that_go_takes_for_one_field_fold_to_one_text(key: str) -> None:
    assert fold(key) == "kind"


@pytest.mark.parametrize(
    ("key", "other"),
    [("clas\u017f", "class"), ("re\u017fource\u017f", "resources"), ("DependsOn", "dependson")],
)
def test_the_long_s_is_an_s(key: str, other: str) -> None:
    assert fold(key) == fold(other)


@pytest.mark.parametrize("key", ["cla\u00df", "k\u0131nd", "k\u0130nd", "\ufb01eld", "kind ", "ki\u200bnd"])
def test_what_go_does_not_fold_stays_different(key: str) -> None:
    assert fold(key) not in {"class", "kind", "field"}


def test_only_other_spellings_of_known_keys_are_lookalikes() -> None:
    found = find_lookalikes(["kind", "Kind", "apiversion", "spec", "other"], ["kind", "apiVersion"])

    assert found == {"Kind": "kind", "apiversion": "apiVersion"}


def test_lookalikes_are_found_at_every_level_with_their_place() -> None:
    document = {
        "Kind": "x",
        "metadata": {"labels": {"Name": "free text"}},
        "spec": {"dependsOn": [{"provider": "a"}, {"Provider": "b"}], "other": {"Version": 1}},
    }
    known = {
        "kind": None,
        "metadata": {"name": None, "labels": None},
        "spec": {"dependsOn": {"provider": None, "version": None}},
    }

    found = list(find_lookalike_fields(document, known))

    assert found == [
        ((), "the key 'Kind' has to be spelled 'kind'"),
        (("spec", "dependsOn", 1), "the key 'Provider' has to be spelled 'provider'"),
    ]
