"""Rules for signatures that protect nothing are found without network."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from rig.builders.projects import HOME, World, small_world

from render.app.check import check_folders
from render.app.operator_settings import OperatorSettings
from render.checks.model import Checked, CheckedFolder
from render.checks.read import read_checked
from render.checks.signature_rules import rule_accepts_anyone, verification_lost
from render.cli.run import run
from render.lean import replace
from render.limits import Limits

KEY = {"name": "key", "key": {"secretRef": {"name": "acme", "key": "cosign.pub"}}}
IDENTITY = {"issuer": "https://issuer.example.org", "subject": "robin@example.org"}


def rule(prefix: str, authorities: Sequence[Mapping[str, Any]], name: str = "acme") -> dict[str, Any]:
    """Return an ImageConfig with verification."""
    return {
        **config(prefix, name),
        "spec": {
            "matchImages": [{"prefix": prefix}],
            "verification": {"provider": "Cosign", "cosign": {"authorities": authorities}},
        },
    }


def config(prefix: str, name: str, **spec: Any) -> dict[str, Any]:
    """Return an ImageConfig."""
    return {
        "apiVersion": "pkg.crossplane.io/v1beta1",
        "kind": "ImageConfig",
        "metadata": {"name": name},
        "spec": {"matchImages": [{"prefix": prefix}], **spec},
    }


def keyless(*identities: Mapping[str, str]) -> dict[str, Any]:
    """Return an authority with identities."""
    return {"name": "keyless", "keyless": {"identities": list(identities)}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A locked folder."""
    world: World = small_world(tmp_path)
    return world.project("shop", "app:v1.0.0")


def read(project: Path, *objects: Mapping[str, Any]) -> CheckedFolder:
    """Lock the folder with some objects, and read it."""
    text = "".join(f"---\n{json.dumps(value, indent=2)}\n" for value in objects)
    (project / "rules.yaml").write_text(text)
    assert run(["-q", "lock", str(project)]) == 0
    [one] = read_checked([project], Limits(), {}).folders
    return one


@pytest.mark.parametrize(
    ("authorities", "why"),
    [
        ([], "it has no authorities, and so accepts unsigned images as well"),
        ([{"name": "none"}], "authority none has neither a key nor identities"),
        ([keyless()], "authority keyless has neither a key nor identities"),
        (
            [keyless({"issuer": "https://issuer.example.org"})],
            "authority keyless has an identity that fits every subject",
        ),
        (
            [keyless(IDENTITY, {"subjectRegExp": "^robin"})],
            "authority keyless has an identity that fits every issuer",
        ),
        ([keyless({})], "authority keyless has an identity that fits every issuer and every subject"),
        # An expression that fits all texts names no one either, and it counts more than the plain text beside it.
        (
            [keyless({"issuerRegExp": "^https://", "subjectRegExp": "^https://git.example.org/acme/"})],
            "authority keyless has an identity that fits every issuer",
        ),
        (
            [keyless({**IDENTITY, "subjectRegExp": ".+"})],
            "authority keyless has an identity that fits every subject",
        ),
    ],
)
def test_a_rule_that_accepts_everyone_is_found_with_its_line(
    project: Path, authorities: list[Mapping[str, Any]], why: str
) -> None:
    one = read(project, config("x", "other"), rule(HOME, authorities))

    [finding] = rule_accepts_anyone(Checked((one,)))

    assert finding.message == "ImageConfig acme accepts signers that it does not name"
    assert finding.why[0].startswith(why)
    assert (finding.exit_code, finding.place.file.name, finding.place.line > 1) == (2, "rules.yaml", True)


@pytest.mark.parametrize("authorities", [[KEY], [keyless(IDENTITY)], [{**KEY, **keyless()}]])
def test_a_rule_that_names_its_signers_is_well(project: Path, authorities: list[Mapping[str, Any]]) -> None:
    one = read(project, rule(HOME, authorities))

    assert [*rule_accepts_anyone(Checked((one,))), *verification_lost(Checked((one,)))] == []


def test_an_expression_that_fits_longer_names_is_a_note(project: Path) -> None:
    begins = {"issuer": "https://issuer.example.org", "subjectRegExp": "^https://git.example.org/acme"}
    ends = {"issuer": "https://issuer.example.org", "subjectRegExp": "https://git.example.org/acme/.*$"}
    read(project, rule(HOME, [keyless(begins), keyless(ends)]))

    checked = check_folders([project], OperatorSettings({}, Limits()))

    assert checked.exit_code == 0
    told = f"{project}: ImageConfig acme: the expression"
    assert [note for note in checked.notes if "the expression" in note] == [
        f"{told} ^https://git.example.org/acme fits longer names as well; end it with $, or its name with a slash",
        f"{told} https://git.example.org/acme/.*$ fits longer names as well; begin it with ^",
    ]


def test_a_rule_that_a_rewrite_leaves_behind_is_found(project: Path) -> None:
    one = read(project, rule(HOME, [KEY]))
    assert isinstance(one.objects, tuple)
    lead = config(f"{HOME}/app:v1.0.0", "mirror", rewriteImage={"prefix": "mirror.example.org/app:v1.0.0"})
    pins = [value for value in one.objects if "rewriteImage" not in value.get("spec", {})]
    objects = (*pins, lead)

    [finding] = verification_lost(Checked((replace(one, objects=objects),)))

    assert finding.why == (
        f"{HOME}/app:v1.0.0 is pulled as mirror.example.org/app:v1.0.0, where ImageConfig acme does not match",
    )
    again = (*objects, rule("mirror.example.org/", [KEY], "mirrored"))
    assert list(verification_lost(Checked((replace(one, objects=again),)))) == []


def test_pins_lose_no_rule(project: Path) -> None:
    # A prefix with a tag gets a companion for the digest that the tag is pinned to.
    one = read(project, rule(f"{HOME}/app:v1", [KEY]))

    assert list(verification_lost(Checked((one,)))) == []
