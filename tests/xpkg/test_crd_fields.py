"""The `crd` field as a text and as a mapping; everything wrong with it has its place."""

from typing import Any

import pytest

from render.crd_dependencies import parse_crd
from render.xpkg.crd_fields import read_crd
from render.yaml.fields import Fields, Problems


def _read(crd: Any) -> tuple[str, list[str]]:
    problems = Problems()
    found = read_crd(Fields({"crd": crd}, problems, ("spec", "dependsOn", 0)))
    return str(found or ""), problems.texts()


@pytest.mark.parametrize(
    ("crd", "text"),
    [
        ("bucket.s3.example.org/v1", "bucket.s3.example.org/v1"),
        ({"group": "s3.example.org", "version": "v1", "kind": "Bucket"}, "bucket.s3.example.org/v1"),
        ({"group": "s3.example.org", "kind": "*"}, "*.s3.example.org"),
    ],
)
def test_a_text_and_a_mapping_are_read(crd: Any, text: str) -> None:
    assert _read(crd) == (str(parse_crd(text)), [])


@pytest.mark.parametrize(
    ("crd", "place", "problem"),
    [
        (None, "spec.dependsOn[0].crd", "expected text or a mapping of group, version, kind, found nothing"),
        (["a"], "spec.dependsOn[0].crd", "expected text or a mapping of group, version, kind, found a list"),
        ("bucket", "spec.dependsOn[0].crd", "has no group"),
        ({"kind": "Bucket"}, "spec.dependsOn[0].crd", "group is missing"),
        ({"group": "s3.example.org"}, "spec.dependsOn[0].crd", "kind is missing"),
        ({"group": "s3.example.org", "kind": 1}, "spec.dependsOn[0].crd.kind", "expected text, found 1"),
        (
            {"group": "s3.example.org", "kind": "Bucket", "versions": "v1"},
            "spec.dependsOn[0].crd.versions",
            "unknown field; did you mean version?",
        ),
        ({"group": "*.example.org", "kind": "Bucket"}, "spec.dependsOn[0].crd", "a group holds no *"),
    ],
)
def test_a_wrong_field_is_a_problem_with_its_place(crd: Any, place: str, problem: str) -> None:
    found, problems = _read(crd)

    assert found == ""
    assert [text for text in problems if text.startswith(f"{place}: ") and problem in text] == problems
    assert len(problems) == 1
