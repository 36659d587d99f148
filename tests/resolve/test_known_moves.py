"""Known moves of public packages, and the older of two sources."""

import json
import subprocess
import sys
from typing import Any

import pytest

from render.references import Source, parse_dependency_source, parse_source
from render.resolve.suggestions import KNOWN_MOVES_FILE, known_direction, known_targets

CONTRIB, UPBOUND = "xpkg.upbound.io/crossplane-contrib", "xpkg.upbound.io/upbound"
CROSSPLANE = "xpkg.crossplane.io/crossplane-contrib"


def sources(*texts: str) -> tuple[Source, ...]:
    return tuple(parse_source(text) for text in texts)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{CONTRIB}/function-auto-ready", f"{CROSSPLANE}/function-auto-ready"),
        (f"{CONTRIB}/provider-family-aws", f"{CROSSPLANE}/provider-family-aws"),
        (f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-family-aws"),
        (f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-aws-s3"),
        (f"{UPBOUND}/provider-gcp-config", f"{UPBOUND}/provider-family-gcp"),
        ("xpkg.upbound.io/upboundcare/provider-opentofu", f"{UPBOUND}/provider-opentofu"),
        # In more than one step.
        ("xpkg.upbound.io/crossplane/provider-aws", f"{CROSSPLANE}/provider-aws"),
        ("registry.upbound.io/crossplane/provider-helm", f"{CROSSPLANE}/provider-helm"),
        ("xpkg.upbound.io/coopnorge/provider-github", f"{CROSSPLANE}/provider-upjet-github"),
        (f"{UPBOUND}/function-patch-and-transform", f"{CROSSPLANE}/function-patch-and-transform"),
        # Docker Hub has two names.
        ("docker.io/crossplane/provider-gcp", "registry.upbound.io/crossplane/provider-gcp"),
        ("index.docker.io/crossplane/provider-gcp", "registry.upbound.io/crossplane/provider-gcp"),
    ],
)
def test_the_older_one_is_known_whichever_is_named_first(old: str, new: str) -> None:
    expected = sources(old, new)

    assert known_direction(*expected) == expected
    assert known_direction(*reversed(expected)) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{CONTRIB}/provider-helm", f"{CONTRIB}/provider-helm"),
        (f"{CONTRIB}/provider-helm", f"{CROSSPLANE}/provider-kubernetes"),
        # A star stands for nothing beyond one part of a path.
        (f"{CONTRIB}/a/b", f"{CROSSPLANE}/a/b"),
        (f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-aws-a/b"),
        (f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-awsome"),
        (f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-gcp-storage"),
        # Two that come from one are not each other's successors.
        (f"{UPBOUND}/provider-aws-s3", f"{UPBOUND}/provider-family-aws"),
        ("xpkg.example.org/acme/a", "xpkg.example.org/acme/b"),
    ],
)
def test_other_sources_have_no_known_direction(one: str, other: str) -> None:
    assert known_direction(*sources(one, other)) is None


def test_a_package_that_became_many_moves_to_all_of_them() -> None:
    there = sources(
        f"{UPBOUND}/provider-aws",
        f"{UPBOUND}/provider-aws-ec2",
        f"{UPBOUND}/provider-aws-s3",
        f"{UPBOUND}/provider-family-aws",
        f"{UPBOUND}/provider-family-gcp",
        f"{UPBOUND}/provider-gcp-storage",
        "xpkg.example.org/acme/provider-aws-s3",
    )

    assert known_targets(there[0], there) == there[1:4]


def test_a_source_in_the_middle_of_known_moves_is_not_a_target() -> None:
    old, between, new = sources(
        "xpkg.upbound.io/crossplane/provider-helm", f"{CONTRIB}/provider-helm", f"{CROSSPLANE}/provider-helm"
    )

    assert known_targets(old, [new, between, old]) == (new,)
    assert known_targets(old, [between, old]) == (between,)
    assert known_targets(new, [new, between, old]) == ()
    assert known_targets(old, []) == ()


def test_a_member_that_was_given_up_is_not_taken_for_a_service() -> None:
    old, config, head = sources(
        f"{UPBOUND}/provider-aws", f"{UPBOUND}/provider-aws-config", f"{UPBOUND}/provider-family-aws"
    )

    assert known_targets(old, [config, head]) == (head,)


def entries() -> list[dict[str, Any]]:
    return list(json.loads(KNOWN_MOVES_FILE.read_bytes())["moves"])


def test_every_entry_is_written_as_the_file_says() -> None:
    for entry in entries():
        assert entry.keys() - {"note"} == {"from", "to", "since"}
        texts = [entry["from"], *entry["to"]]
        for text in texts:
            # The star stands for text that sources can have.
            assert str(parse_dependency_source(text.replace("*", "x"))) == text.replace("*", "x")
            assert isinstance(parse_dependency_source(text.replace("*", "x")), Source)
            assert text.count("*") <= 1
        # What a star stands for in `from` is known from each `to`.
        assert "*" not in entry["from"] or all("*" in text for text in entry["to"])


def test_a_source_has_one_entry_and_no_move_ends_where_it_started() -> None:
    olds = [entry["from"] for entry in entries()]

    assert len(set(olds)) == len(olds)
    for entry in entries():
        old = parse_source(entry["from"].replace("*", "x"))
        for text in entry["to"]:
            new = parse_source(text.replace("*", "x"))
            assert known_direction(old, new) == known_direction(new, old) == (old, new)
            assert known_targets(old, [old, new]) == (new,)


def test_the_file_is_read_only_for_a_suggestion() -> None:
    script = (
        "import sys; opened = []; "
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None); "
        "import render.lifecycle.update; from render.resolve.suggestions import known_direction; "
        "from render.references import parse_source; count = lambda: sum('known_moves.json' in o for o in opened); "
        "print(count()); known_direction(parse_source('a.b/c'), parse_source('a.b/d')); print(count())"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)

    assert done.stdout.split() == ["0", "1"]
