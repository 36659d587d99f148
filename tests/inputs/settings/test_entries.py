"""Moves in the settings say where each source goes, or why they cannot."""

import json
from pathlib import Path
from typing import Any

import pytest

from render.inputs.settings.file import parse_settings
from render.limits import Limits
from render.moves import Move, Strategy

ACME = "xpkg.example.org/acme"
OLD, NEW, NEXT = f"{ACME}/old", f"{ACME}/new", f"{ACME}/next"


def parse(*entries: dict[str, Any], limits: Limits | None = None) -> tuple[tuple[Move, ...], list[str]]:
    problems: list[str] = []
    text = json.dumps({"moves": entries})
    return parse_settings(text.encode(), Path(), limits or Limits(), problems).moves, problems


def moved(old: str, *new: str, **more: str) -> dict[str, Any]:
    return {"from": old, "to": new[0] if len(new) == 1 else list(new), **more}


def told(moves: tuple[Move, ...]) -> list[tuple[str, list[str], str | None]]:
    return [(str(move.source), [str(target) for target in move.targets], move.strategy) for move in moves]


def test_a_move_leads_to_one_source_or_to_many() -> None:
    moves, problems = parse(moved(OLD, NEW), moved(f"{ACME}/all", NEW, NEXT, strategy="deactivate"))

    assert problems == []
    assert told(moves) == [
        (OLD, [NEW], None),
        (f"{ACME}/all", [NEW, NEXT], Strategy.DEACTIVATE),
    ]
    assert [move.place for move in moves] == ["xplock.yaml: moves[0]", "xplock.yaml: moves[1]"]


def test_sources_are_spelled_as_all_sources_are() -> None:
    moves, problems = parse(moved("XPKG.Example.org:443/acme/old", f"{ACME}/new"))

    assert problems == []
    assert told(moves) == [(OLD, [NEW], None)]


def test_a_chain_is_kept_as_it_is_written() -> None:
    moves, problems = parse(moved(OLD, NEW), moved(NEW, NEXT))

    assert problems == []
    assert told(moves) == [(OLD, [NEW], None), (NEW, [NEXT], None)]


@pytest.mark.parametrize("key", ["from", "to"])
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (f"{ACME}/x:v1.0.0", "without tag and digest"),
        (f"{ACME}/x@sha256:{'ab' * 32}", "without tag and digest"),
        ("acme/x", "does not start with a registry host"),
        ("xpkg.example.org", "does not start with a registry host"),
        ("https://xpkg.example.org/x", "it starts with a scheme"),
        (f"{ACME}/X", "is not a repository"),
        ("user:secret@xpkg.example.org/x", "it carries user info"),
    ],
)
def test_only_whole_sources_with_their_registry_move(key: str, text: str, fact: str) -> None:
    moves, problems = parse({**moved(OLD, NEW), key: text})

    assert moves == ()
    (problem,) = problems
    assert problem.startswith(f"xplock.yaml: moves[0].{key}: ")
    assert fact in problem
    assert "secret" not in problem


def test_a_list_with_one_wrong_source_leads_nowhere() -> None:
    moves, problems = parse(moved(OLD, NEW, "acme/x"))

    assert moves == ()
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("entry", "place", "problem"),
    [
        (moved(OLD, OLD), "to", f"{OLD} cannot replace itself"),
        (moved(OLD, NEW, "XPKG.example.org/acme/old"), "to", f"{OLD} cannot replace itself"),
        (moved(OLD, NEW, NEXT, "xpkg.example.org:443/acme/new"), "to", f"{NEW} is listed 2 times"),
        ({"from": OLD, "to": []}, "to", "it is empty"),
        ({"from": OLD, "to": None}, "to", "it is missing"),
        (
            moved(OLD, NEW, NEXT, strategy="alias"),
            "strategy",
            f"alias is for one package, and {OLD} becomes 2; leave it out, or write deactivate",
        ),
        (
            moved(OLD, NEW, NEXT, strategy="repoint"),
            "strategy",
            f"repoint is for one package, and {OLD} becomes 2; leave it out, or write deactivate",
        ),
        (
            moved(OLD, NEW, strategy="plain"),
            "strategy",
            "expected alias, repoint or deactivate, found 'plain'",
        ),
    ],
)
def test_a_move_that_makes_no_sense_is_named_with_its_place(
    entry: dict[str, Any], place: str, problem: str
) -> None:
    _, problems = parse(moved(f"{ACME}/first", f"{ACME}/second"), entry)

    assert problems == [f"xplock.yaml: moves[1].{place}: {problem}"]


def test_a_source_moves_once() -> None:
    _, problems = parse(moved(OLD, NEW), moved("xpkg.example.org:443/acme/old", NEXT))

    assert problems == [f"xplock.yaml: moves[1].from: {OLD} has an entry already"]


def test_a_circle_is_a_problem_that_shows_it() -> None:
    _, problems = parse(moved(NEXT, OLD), moved(OLD, NEW), moved(NEW, NEXT))

    (problem,) = problems
    assert problem.startswith("xplock.yaml: moves: moves lead in a circle; ")
    assert f"{NEW} -> {NEXT} -> {OLD} -> {NEW}" in problem


def test_a_strategy_for_one_package_does_not_fit_a_chain_that_ends_at_many() -> None:
    _, problems = parse(moved(OLD, NEW, strategy="alias"), moved(NEW, f"{ACME}/a", f"{ACME}/b"))

    assert [problem.partition("; ")[0] for problem in problems] == [
        f"xplock.yaml: moves[0].strategy: alias is for one package, and {OLD} becomes 2"
    ]


def test_a_strategy_for_one_package_fits_lists_that_end_at_one() -> None:
    moves, problems = parse(
        moved(OLD, f"{ACME}/a", f"{ACME}/b", strategy="alias"),
        moved(f"{ACME}/a", NEW),
        moved(f"{ACME}/b", NEW),
    )

    assert problems == []
    assert len(moves) == 3


@pytest.mark.parametrize(("count", "accepted"), [(5, True), (6, False)])
def test_there_are_no_more_moves_than_packages(count: int, accepted: bool) -> None:
    entries = [moved(f"{ACME}/old{i}", NEW) for i in range(count - 2)]

    _, problems = parse(*entries, moved(OLD, NEW, NEXT), limits=Limits(packages=5))

    assert (problems == []) is accepted
    assert all(problem.startswith("xplock.yaml: moves: there are too many") for problem in problems)


def test_all_problems_of_all_moves_come_at_once() -> None:
    _, problems = parse({"from": "x", "to": ["y", "z"]}, {"to": NEW}, moved(OLD, OLD))

    assert sorted(problem.split(": ")[1] for problem in problems) == [
        "moves[0].from",
        "moves[0].to",
        "moves[0].to",
        "moves[1].from",
        "moves[2].to",
    ]
