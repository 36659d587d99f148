"""The moves of xplock.yaml: their keys, and what the entries say together."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from render.inputs.keys import Entries, Entry, Key
from render.inputs.problems import complaints
from render.inputs.shapes import Choice, OneOrMore, Text
from render.limits import LimitExceeded, Limits
from render.moves import Move, Strategy, follow_moves
from render.references import InvalidReference, Source, parse_source

MOVES = Entries(
    (
        Key(
            "from",
            Text(),
            "The source whose place others have taken, with its registry and without tag and digest.",
            required=True,
            examples=("xpkg.example.org/old-team/provider-nop",),
        ),
        Key(
            "to",
            OneOrMore(Text()),
            "The source that has taken its place; a list where one package became many.",
            required=True,
            examples=("xpkg.example.org/acme/provider-nop",),
        ),
        Key(
            "strategy",
            Choice((Strategy.ALIAS, Strategy.REPOINT, Strategy.DEACTIVATE)),
            "alias: the old object and its source stay, with the new package behind them. repoint: the old object gets "
            "the new source. deactivate: the new package has an object of its own, and the old one is switched off. "
            "Without it, what is installed and who depends on it decide.",
        ),
    )
)


def parse_moves(top: Entry, file: str, limits: Limits) -> tuple[Move, ...]:
    """Return the moves as they are written; together they must lead somewhere."""
    entries = top.entries.get("moves", ())
    found: dict[Source, tuple[Entry, Move]] = {}
    for i, entry in enumerate(entries):
        move = _parse_move(entry, f"{file}: moves[{i}]", found)
        if move:
            found[move.source] = entry, move
    moves = tuple(move for _, move in found.values())
    with complaints(top.fields, "moves"):
        _check_count(moves, limits)
        _check_strategies(follow_moves(moves), {source: entry for source, (entry, _) in found.items()})
    return moves


def _parse_move(entry: Entry, place: str, taken: Collection[Source]) -> Move | None:
    said = entry.plain
    old = _parse_source(entry, "from", said["from"]) if "from" in said else None
    targets = [_parse_source(entry, "to", text) for text in said.get("to", ())]
    new = [target for target in targets if target]
    if not old or not new or len(new) < len(targets):
        return None
    problems = list(_contradictions(old, new, taken))
    for key, problem in problems:
        entry.fields.complain(key, problem)
    strategy = Strategy(said["strategy"]) if "strategy" in said else None
    return None if problems else Move(old, tuple(new), strategy=strategy, place=place)


def _parse_source(entry: Entry, key: str, text: str) -> Source | None:
    try:
        return parse_source(text)
    except InvalidReference as error:
        hint = "write a registry and a path in it, without tag and digest"
        entry.fields.complain(key, "; ".join([error.what, *error.why, hint]))
        return None


def _contradictions(
    old: Source, new: Collection[Source], taken: Collection[Source]
) -> Iterator[tuple[str, str]]:
    if old in taken:
        yield "from", f"{old} has an entry already"
    if old in new:
        yield "to", f"{old} cannot take its own place"
    [(most, times)] = Counter(new).most_common(1)
    if times > 1:
        yield "to", f"{most} is there {times:,} times"


def _check_count(moves: Collection[Move], limits: Limits) -> None:
    # Chains of lists grow by the square of this.
    count = sum(len(move.targets) for move in moves)
    if count > limits.packages:
        raise LimitExceeded("there are too many of them", "packages", limits, found=f"{count:,}")


def _check_strategies(followed: Mapping[Source, Move], entries: Mapping[Source, Entry]) -> None:
    for move in followed.values():
        if len(move.targets) > 1 and move.strategy not in (None, Strategy.DEACTIVATE):
            entries[move.source].fields.complain(
                "strategy",
                f"{move.strategy} is for one package, and {move.source} becomes {len(move.targets)}; "
                f"leave it out, or write {Strategy.DEACTIVATE}",
            )
