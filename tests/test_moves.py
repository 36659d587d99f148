"""Moves are followed to where they end, and those that count less give way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.limits import Limits
from render.moves import CircularMoves, Consent, Move, Strategy, add_moves, follow_moves, format_moves
from render.references import Source
from render.yaml.documents import file_rules, parse_documents

NAMES = "abcdefg"


def source(name: str) -> Source:
    return Source("xpkg.example.org", f"acme/{name}")


def move(old: str, new: str, consent: Consent = Consent.MOVES) -> Move:
    """Return a move to one source, or to each letter of several."""
    return Move(source(old), tuple(source(name) for name in new), consent)


def ends(moves: dict[Source, Move]) -> dict[str, str]:
    return {old.name: "".join(target.name for target in moved.targets) for old, moved in moves.items()}


@pytest.mark.parametrize(
    ("moves", "followed"),
    [
        ([], {}),
        ([("a", "b")], {"a": "b"}),
        ([("a", "b"), ("b", "c"), ("c", "d")], {"a": "d", "b": "d", "c": "d"}),
        ([("c", "d"), ("a", "b"), ("b", "c")], {"a": "d", "b": "d", "c": "d"}),
        ([("a", "bc")], {"a": "bc"}),
        ([("a", "b"), ("b", "cd")], {"a": "cd", "b": "cd"}),
        # What is there twice in the end is there once, at its first place.
        ([("a", "bcd"), ("b", "de")], {"a": "dec", "b": "de"}),
        ([("a", "bc"), ("b", "d"), ("c", "d")], {"a": "d", "b": "d", "c": "d"}),
        # Two ways to one source are no circle.
        ([("a", "bc"), ("b", "d"), ("c", "b")], {"a": "d", "b": "d", "c": "d"}),
        ([("a", "bc"), ("c", "be"), ("b", "d")], {"a": "de", "b": "d", "c": "de"}),
    ],
)
def test_moves_are_followed_to_their_ends(moves: list[tuple[str, str]], followed: dict[str, str]) -> None:
    assert ends(follow_moves(move(*pair) for pair in moves)) == followed


def test_a_move_keeps_what_was_said_about_it() -> None:
    first = Move(source("a"), (source("b"),), Consent.CLAIM, Strategy.REPOINT, "a claim of b")
    second = Move(source("b"), (source("c"),), Consent.MOVES, Strategy.ALIAS, "xplock.yaml: moves[0]")

    followed = follow_moves([second, first])

    assert followed[source("a")] == Move(
        source("a"), (source("c"),), Consent.CLAIM, Strategy.REPOINT, "a claim of b"
    )
    assert followed[source("b")] == second


def test_a_chain_may_be_longer_than_pythons_stack() -> None:
    chain = [Move(source(f"p{i}"), (source(f"p{i + 1}"),)) for i in range(5_000)]

    followed = follow_moves(chain)

    assert {moved.targets for moved in followed.values()} == {(source("p5000"),)}


def test_many_ways_to_one_end_are_not_gone_one_by_one() -> None:
    steps = range(200)
    forks = [Move(source(f"a{i}"), (source(f"b{i}"), source(f"c{i}"))) for i in steps]
    joins = [Move(source(f"{side}{i}"), (source(f"a{i + 1}"),)) for i in steps for side in "bc"]

    followed = follow_moves([*forks, *joins])

    assert {moved.targets for moved in followed.values()} == {(source("a200"),)}


@pytest.mark.parametrize(
    ("moves", "circle"),
    [
        ([("a", "a")], "aa"),
        ([("a", "b"), ("b", "a")], "aba"),
        ([("c", "a"), ("b", "c"), ("a", "b")], "abca"),
        # The way into a circle is no part of it.
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "c")], "cdc"),
        ([("a", "xb"), ("b", "yc"), ("c", "zb")], "bcb"),
        ([("a", "xe"), ("x", "y"), ("e", "f"), ("f", "ya")], "aefa"),
    ],
)
def test_a_circle_is_shown_whole_and_without_detours(moves: list[tuple[str, str]], circle: str) -> None:
    with pytest.raises(CircularMoves) as caught:
        follow_moves(move(*pair) for pair in moves)

    assert caught.value.exit_code == 2
    assert caught.value.why == (" -> ".join(str(source(name)) for name in circle),)


@pytest.mark.parametrize(
    ("known", "more", "together"),
    [
        # Undoing a move is its opposite: what was recorded no longer counts.
        ([("b", "a")], [("a", "b")], {"b": "a"}),
        ([("c", "a")], [("a", "b"), ("b", "c")], {"a": "b", "c": "b"}),
        ([("b", "a")], [("a", "bc")], {"b": "a"}),
        # A source that has a move keeps it.
        ([("a", "b")], [("a", "c")], {"a": "b"}),
        ([], [("a", "b"), ("a", "c")], {"a": "b"}),
        # What was recorded goes on to where the user leads it, and the other way round.
        ([("b", "c")], [("a", "b")], {"a": "c", "b": "c"}),
        ([("a", "b")], [("b", "c")], {"a": "c", "b": "c"}),
        # Those that count less can lead in a circle among themselves.
        ([], [("a", "b"), ("b", "c"), ("c", "a")], {"a": "c", "b": "c"}),
        ([], [("a", "a")], {}),
    ],
)
def test_moves_that_count_less_give_way(
    known: list[tuple[str, str]], more: list[tuple[str, str]], together: dict[str, str]
) -> None:
    user = follow_moves(move(*pair) for pair in known)

    found = add_moves(user, [move(*pair, Consent.CLAIM) for pair in more])

    assert ends(found) == together


def test_what_is_added_is_told_from_what_was_known() -> None:
    found = add_moves(follow_moves([move("b", "c")]), [move("a", "b", Consent.CLAIM)])

    assert [found[source(name)].consent for name in "ab"] == [Consent.CLAIM, Consent.MOVES]


ONE_MOVE = st.builds(move, st.sampled_from(NAMES), st.text(NAMES, min_size=1, max_size=3))
SOME_MOVES = st.lists(ONE_MOVE, max_size=8)


def has_circle(moves: list[Move]) -> bool:
    """Tell whether some source leads to itself, by squaring the relation until nothing is new."""
    last = {one.source: one.targets for one in moves}
    leads = {(old, new) for old, targets in last.items() for new in targets}
    while more := {(a, d) for a, b in leads for c, d in leads if b == c} - leads:
        leads |= more
    return any(old == new for old, new in leads)


@given(SOME_MOVES)
def test_no_target_is_itself_a_source_that_moves(moves: list[Move]) -> None:
    try:
        followed = follow_moves(moves)
    except CircularMoves:
        assert has_circle(moves)
        return

    assert not has_circle(moves)
    assert followed.keys() == {one.source for one in moves}
    for one in followed.values():
        assert one.targets
        assert len(set(one.targets)) == len(one.targets)
        assert not followed.keys() & set(one.targets)


@given(SOME_MOVES, SOME_MOVES)
def test_moves_that_are_followed_already_can_be_added_to_whatever_comes(
    known: list[Move], more: list[Move]
) -> None:
    user = add_moves({}, known)

    found = add_moves(user, more)

    assert found.keys() >= user.keys()
    assert found.keys() <= user.keys() | {one.source for one in more}
    assert all(not found.keys() & set(one.targets) for one in found.values())
    assert add_moves(found, more).keys() == found.keys()


@given(SOME_MOVES)
def test_the_order_of_moves_changes_nothing(moves: list[Move]) -> None:
    once = list({one.source: one for one in moves}.values())
    if has_circle(once):
        return

    assert follow_moves(once) == follow_moves(reversed(once))
    assert list(follow_moves(once)) == sorted(one.source for one in once)


def test_the_lines_to_paste_say_what_the_moves_say() -> None:
    lines = format_moves([move("a", "b"), move("c", "de")])

    assert lines == [
        "  moves:",
        f"    - from: {source('a')}",
        f"      to: {source('b')}",
        f"    - from: {source('c')}",
        "      to:",
        f"        - {source('d')}",
        f"        - {source('e')}",
    ]
    (document,) = parse_documents("\n".join(lines).encode(), file_rules(Limits()))
    assert document == {
        "moves": [
            {"from": str(source("a")), "to": str(source("b"))},
            {"from": str(source("c")), "to": [str(source("d")), str(source("e"))]},
        ]
    }
