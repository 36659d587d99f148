"""What Crossplane alone would pick, as text: edge by edge, where it stops, who stays unhealthy, and what differs."""

from collections.abc import Iterator

from render.resolve.mimic.model import Action, CrossplaneAnswer, Pick
from render.texts import counted, visible
from render.views.mimic.comparison import Comparison

_LIMIT = 2_000


def format_comparison(comparison: Comparison) -> str:
    """Write it all."""
    lines = [*_course(comparison), *_ours(comparison), *_other_order(comparison)]
    return "".join(f"{visible(line, limit=_LIMIT)}\n" for line in lines)


def _course(comparison: Comparison) -> Iterator[str]:
    flag = f" with its flag for {comparison.flag}" if comparison.flag else ""
    start = "the Lock that is there" if comparison.is_live else "an empty cluster"
    yield f"Crossplane alone{flag}, from {start}:"
    for pick in comparison.answer.picks:
        yield f"  {_format_pick(pick)}"
    yield from _end(comparison.answer)


def _format_pick(pick: Pick) -> str:
    if pick.action is Action.APPLIED:
        return f"you apply {pick.source} {pick.version}"
    updated = "updated to " if pick.action is Action.UPDATED else ""
    return f"{pick.dependant} -> {pick.source} {pick.constraints} -> {updated}{pick.version}"


def _end(answer: CrossplaneAnswer) -> Iterator[str]:
    stop = answer.stop
    if stop:
        edge = f"{stop.dependant} -> {stop.dependency}: " if stop.dependency else ""
        yield f"  stops for good: {edge}{stop.why}"
    condition = f"Resolved={answer.resolved}"
    yield f"Its Lock has {counted(len(answer.entries), 'package')}, {condition}; {len(answer.unhealthy):,} unhealthy"
    for one in answer.unhealthy:
        yield f"  {one.source} {one.version}: {'; '.join(one.why)}"


def _ours(comparison: Comparison) -> Iterator[str]:
    if comparison.packages is None:
        return
    found = comparison.differences
    if not found:
        yield f"The answer of xplock is the same, {counted(comparison.packages, 'package')}"
        return
    yield f"The answer of xplock, {counted(comparison.packages, 'package')}, differs in {len(found):,}:"
    for one in found:
        theirs, ours = one.crossplane or "not installed", one.xplock or "not installed"
        yield f"  {one.source}: Crossplane {theirs}, xplock {ours}"
        yield f"    {one.why}"


def _other_order(comparison: Comparison) -> Iterator[str]:
    other = comparison.reversed
    if other is None:
        return
    found = comparison.order_differences
    same_end = [(one.source, one.why) for one in other.unhealthy] == [
        (one.source, one.why) for one in comparison.answer.unhealthy
    ]
    if not found and same_end and other.resolved == comparison.answer.resolved:
        yield "With the roots in the other order it ends the same"
        return
    yield "With the roots in the other order, which Crossplane leaves to chance:"
    for one in found:
        yield f"  {one.source}: {one.reversed_version or 'not installed'} instead of {one.version or 'nothing'}"
    for line in _end(other):
        yield f"  {line}"
