"""Findings as SARIF 2.1.0: the parts that we write, as the standard describes them."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from render import __version__
from render.checks.formats import sarif_document
from render.checks.model import Finding, Place
from render.checks.rules import load_rules
from render.lean import replace

# It comes with a dependency, and without types.
jsonschema: Any = import_module("jsonschema")

PARTS = Path(__file__).parent.parent / "data/sarif-parts.json"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that files are named from."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def finding(rule: str, file: str | Path, *, message: str = "it is odd") -> Finding:
    return Finding(rule, "app", message, ("a", "b"), ("do",), 3, Place(Path(file), 7))


def results(*findings: Finding) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sarif_document(findings)["runs"][0]["results"]
    return found


def fingerprints(*findings: Finding) -> list[dict[str, str]]:
    return [result["partialFingerprints"] for result in results(*findings)]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.usefixtures("repository")
def test_a_log_is_what_the_standard_describes(count: int) -> None:
    found = [
        finding("lock-stale", "app/a b%.yaml"),
        finding("rendered-twice", "/"),
        finding("lock-listed", "x"),
    ]

    document = json.loads(json.dumps(sarif_document(found[:count])))

    jsonschema.Draft202012Validator(json.loads(PARTS.read_text())).validate(document)


@pytest.mark.parametrize(
    "way",
    ["version", "runs/0/tool/driver/name", "runs/0/results/0/message/text", "runs/0/tool/driver/rules/0/id"],
)
def test_the_description_refuses_a_log_without_what_it_needs(way: str) -> None:
    document = sarif_document([finding("lock-stale", "app/a.yaml")])
    *parts, last = [int(part) if part.isdigit() else part for part in way.split("/")]
    inner: Any = document
    for part in parts:
        inner = inner[part]
    del inner[last]

    assert not jsonschema.Draft202012Validator(json.loads(PARTS.read_text())).is_valid(document)


def test_every_rule_is_told_with_its_help() -> None:
    driver = sarif_document([])["runs"][0]["tool"]["driver"]

    assert (driver["name"], driver["version"]) == ("xplock", __version__)
    assert [rule["id"] for rule in driver["rules"]] == list(load_rules())
    assert all("## What to do" in rule["help"]["markdown"] for rule in driver["rules"])


@pytest.mark.usefixtures("repository")
def test_a_result_has_its_rule_its_message_and_its_place() -> None:
    [result] = results(finding("lock-stale", "app/crossplane.lock.yaml"))

    assert result.pop("partialFingerprints")
    assert result == {
        "ruleId": "lock-stale",
        "ruleIndex": list(load_rules()).index("lock-stale"),
        "level": "error",
        "message": {"text": "it is odd\n  why:  a\n        b\n  next: do"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "app/crossplane.lock.yaml", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 7},
                }
            }
        ],
    }


def test_files_are_named_from_the_current_folder_as_parts_of_uris(repository: Path) -> None:
    found = results(
        finding("lock-stale", repository / "a b/ü%,:?#.yaml"), finding("lock-stale", "a/../b.yaml")
    )

    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in found]
    assert uris == ["a%20b/%C3%BC%25%2C%3A%3F%23.yaml", "b.yaml"]


def test_no_text_becomes_a_link_or_a_command_of_a_terminal() -> None:
    [result] = results(finding("lock-stale", "a", message="[here](https://evil.example) \x1b[2J"))

    assert "](" not in result["message"]["text"]
    assert "\x1b" not in result["message"]["text"]


def test_braces_are_doubled_since_single_ones_hold_arguments() -> None:
    [result] = results(finding("lock-stale", "a", message="{0} and {name}"))

    assert result["message"]["text"].startswith("{{0}} and {{name}}\n")


def test_no_text_of_a_rule_has_braces() -> None:
    # They would have to be doubled, which viewers of a help text may show as it is.
    rules = sarif_document([])["runs"][0]["tool"]["driver"]["rules"]

    assert [rule["id"] for rule in rules if {"{", "}"} & set(json.dumps(rule["help"]["text"]))] == []


@pytest.mark.usefixtures("repository")
def test_a_finding_keeps_its_fingerprint_when_it_moves_to_another_line() -> None:
    here = finding("lock-stale", "a.yaml", message="a.yaml: line 7: it is odd")
    below = replace(here, message="a.yaml: line 12: it is odd", place=Place(Path("a.yaml"), 12))

    assert fingerprints(here) == fingerprints(below)
    assert fingerprints(here)[0].keys() == {"xplockFinding/v1"}


@pytest.mark.usefixtures("repository")
def test_different_findings_have_different_fingerprints() -> None:
    one = finding("lock-listed", "a.yaml")
    others = [
        finding("lock-stale", "a.yaml"),
        finding("lock-listed", "b.yaml"),
        finding("lock-listed", "a.yaml", message="it is even"),
        replace(one, why=("b",)),
    ]

    found = fingerprints(one, *others)

    assert len({value["xplockFinding/v1"] for value in found}) == len(found) == 5


def test_the_same_findings_give_the_same_bytes() -> None:
    found = [finding("lock-stale", "a"), finding("lock-listed", "b")]

    assert json.dumps(sarif_document(found)) == json.dumps(sarif_document(found))
