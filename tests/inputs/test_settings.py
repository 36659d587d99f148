"""Settings are read by one table, which is also the schema that editors use."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from render.constraints import parse_constraint
from render.inputs.schema import SCHEMA_FILE, format_schema
from render.inputs.settings import Families, PartialDependencies, Settings, parse_settings
from render.limits import Limits
from render.references import Digest, Source
from render.registry.rewrites import Rewrite
from render.roots import Request

# It comes without types.
jsonschema: Any = import_module("jsonschema")

DIGEST = Digest("sha256:" + "ab" * 32)
STORE = "xpkg.example.org/acme/provider-store"

EVERYTHING = f"""
# yaml-language-server: $schema=xplock.schema.json
roots:
- package: {STORE}
  version: ">=v1.2"
  name: store
rewrites:
- from: xpkg.example.org/
  to: mirror.corp/xp/
crossplaneVersion: v2.3.4
families: free
partialDependencies: refuse
layouts:
- prefix: XPKG.example.org:443/acme/
  folder: registry
"""


def parse(text: str, folder: Path) -> Settings:
    problems: list[str] = []
    settings = parse_settings(text.encode(), folder, Limits(), problems)
    assert problems == []
    return settings


def problems_of(text: str, folder: Path) -> list[str]:
    problems: list[str] = []
    parse_settings(text.encode(), folder, Limits(), problems)
    return problems


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()

    settings = parse(EVERYTHING, tmp_path)

    (root,) = settings.roots
    assert root.source == Source("xpkg.example.org", "acme/provider-store")
    assert root.request == Request(parse_constraint(">=v1.2"))
    assert (root.name, root.kind, root.place) == ("store", None, "xplock.yaml: roots[0]")
    assert settings.rewrites == (Rewrite("xpkg.example.org/", "mirror.corp/xp/", "xplock.yaml: rewrites[0]"),)
    assert str(settings.crossplane_version) == "v2.3.4"
    assert settings.families is Families.FREE
    assert settings.partial_dependencies is PartialDependencies.REFUSE
    assert settings.layouts == (("xpkg.example.org/acme", tmp_path / "registry"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing but a remark\n",
        "{}",
        "roots:",
        "roots: []\nlayouts: []\nrewrites: []",
        "families: follow\npartialDependencies: complete",
    ],
)
def test_what_is_not_said_has_its_default_value(text: str, tmp_path: Path) -> None:
    assert parse(text, tmp_path) == Settings()


@pytest.mark.parametrize(
    ("package", "request_"),
    [
        (STORE, Request()),
        (f"{STORE}:v1.2.3", Request(tag="v1.2.3")),
        (f"{STORE}@{DIGEST}", Request(digest=DIGEST)),
        (f"{STORE}:v1.2.3@{DIGEST}", Request(tag="v1.2.3", digest=DIGEST)),
    ],
)
def test_a_root_asks_for_what_its_reference_says(package: str, request_: Request, tmp_path: Path) -> None:
    (root,) = parse(f"roots: [{{package: '{package}'}}]", tmp_path).roots

    assert root.request == request_


def test_a_range_may_be_a_digest(tmp_path: Path) -> None:
    (root,) = parse(f"roots: [{{package: {STORE}, version: '{DIGEST}'}}]", tmp_path).roots

    assert root.request == Request(digest=DIGEST)


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("rootz: []", "rootz", "did you mean roots?"),
        ("family: free", "family", "did you mean families?"),
        ("qqq: 1", "qqq", "the keys are roots, rewrites"),
        ("roots: [{package: a.b/c, versoin: 1}]", "roots[0].versoin", "did you mean version?"),
        ("roots: [{version: '*'}]", "roots[0].package", "it is missing"),
        ("roots: [null]", "roots[0].package", "it is missing"),
        ("roots: [text]", "roots[0]", "expected a mapping, found text"),
        ("roots: {}", "roots", "expected a list, found a mapping"),
        ("roots: [{package: 5}]", "roots[0].package", "expected text, found a number"),
        ("roots: [{package: ''}]", "roots[0].package", "it is empty"),
        ("roots: [{package: acme/x}]", "roots[0].package", "does not start with a registry host"),
        ("roots: [{package: 'docker.io/x'}]", "roots[0].package", "docker.io/library/x"),
        (f"roots: [{{package: {STORE}, version: '>>1'}}]", "roots[0].version", "not a version constraint"),
        (f"roots: [{{package: '{STORE}:v1', version: '*'}}]", "roots[0].version", "excludes a tag"),
        (f"roots: [{{package: '{STORE}@{DIGEST}', version: '*'}}]", "roots[0].version", "excludes a tag"),
        (f"roots: [{{package: {STORE}, name: Store}}]", "roots[0].name", "a DNS label"),
        (f"roots: [{{package: {STORE}, name: {'a' * 64}}}]", "roots[0].name", "a DNS label"),
        ("rewrites: [{from: a, to: ''}]", "rewrites[0].to", "it is empty"),
        ("rewrites: [{from: a}]", "rewrites[0].to", "it is missing"),
        ("crossplaneVersion: 2.3", "crossplaneVersion", "write it in quotes"),
        ("crossplaneVersion: two", "crossplaneVersion", "is not a version"),
        ("families: loose", "families", "expected follow or free, found 'loose'"),
        ("partialDependencies: maybe", "partialDependencies", "expected complete or refuse"),
        ("layouts: [{prefix: a.b, folder: nowhere}]", "layouts[0].folder", "'nowhere' is not a folder"),
        ("layouts: [{prefix: 'https://a.b', folder: .}]", "layouts[0].prefix", "is not a package reference"),
        (
            "layouts: [{prefix: a.b, folder: .}, {prefix: a.b/, folder: .}]",
            "layouts[1].prefix",
            "has a layout already",
        ),
        ("[]", "the document", "expected a mapping, found a list"),
        ("{}\n---\n{}", "", "expected one document, found 2"),
        ("roots: [", "line ", "did not find"),
        ("families: free\nfamilies: free", "line 2", "a second time"),
    ],
)
def test_a_problem_names_the_file_and_the_place(text: str, place: str, fact: str, tmp_path: Path) -> None:
    (problem,) = problems_of(text, tmp_path)

    assert problem.startswith(f"xplock.yaml: {place}")
    assert fact in problem


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    problems = problems_of("colour: red\nfamilies: 1\nroots: [{}, {package: x}]\nlayouts: no", tmp_path)

    places = sorted(problem.split(": ")[1] for problem in problems)
    assert places == ["colour", "families", "layouts", "roots[0].package", "roots[1].package"]


def test_only_what_differs_from_the_defaults_is_given(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()

    settings = parse(EVERYTHING.replace("families: free", "families: follow"), tmp_path)

    assert settings.given == {
        "crossplaneVersion": "v2.3.4",
        "partialDependencies": "refuse",
        "layouts": [{"prefix": "XPKG.example.org:443/acme/", "folder": "registry"}],
    }


def test_the_shipped_schema_is_the_one_of_the_table() -> None:
    assert SCHEMA_FILE.read_bytes() == format_schema()


def test_the_schema_is_one_that_editors_understand() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(format_schema()))


@pytest.mark.parametrize(
    "document",
    [
        {"roots": [{"package": STORE, "version": "^1", "name": "store"}], "families": "free"},
        {"rewrites": [{"from": "a", "to": "b"}], "crossplaneVersion": "v2.3.4"},
        {"roots": [{"version": "^1"}]},
        {"roots": [{"package": ""}]},
        {"roots": [{"package": STORE, "name": "Not-A-Label"}]},
        {"roots": {}},
        {"families": "loose"},
        {"colour": "red"},
        {"rewrites": [{"from": "a", "to": "b", "why": "c"}]},
        {"crossplaneVersion": 2},
    ],
)
def test_parser_and_schema_agree_on_what_is_wrong(document: dict[str, Any], tmp_path: Path) -> None:
    accepted = jsonschema.Draft202012Validator(json.loads(format_schema())).is_valid(document)

    assert (problems_of(json.dumps(document), tmp_path) == []) is accepted
