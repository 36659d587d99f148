"""Both ways to one closure side by side: a ratio, and a table that says where the time goes."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from statistics import median

from rig.live.closure.packages import publish_closure
from rig.live.closure.sync_times import SyncTimes
from rig.live.closure.ways import clear, prepare_bare, prepare_locked, settle
from rig.live.platform import LiveCluster

_WAYS = {"locked": prepare_locked, "bare": prepare_bare}
# One for each field of SyncTimes.
_STEPS = (
    "push → operation started: refresh, generate",
    "→ last ImageConfig: apply",
    "→ first package: the delay between waves",
    "→ last package: apply, or Crossplane's resolver",
    "→ all healthy: Crossplane",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was measured, one of each way per round."""

    packages: int
    locked: Sequence[SyncTimes]
    bare: Sequence[SyncTimes]

    @property
    def seconds(self) -> tuple[float, float]:
        """The medians, locked and bare, of the time until all packages run."""
        locked, bare = (median(one.healthy for one in way) for way in (self.locked, self.bare))
        return locked, bare

    @property
    def ratio(self) -> float:
        """How much of the time that Crossplane needs for a bare root a lock takes."""
        locked, bare = self.seconds
        return locked / bare

    @property
    def summary(self) -> str:
        """Write how long both took, and what that makes."""
        locked, bare = self.seconds
        return (
            f"{self.packages} packages run {locked:.1f} s after the push of their lock, "
            f"{bare:.1f} s after the push of their root alone: {self.ratio:.2f} x"
        )

    @property
    def table(self) -> str:
        """Write the median of each step; those of several steps do not add up to the median of all."""
        columns = zip(_STEPS, _medians(self.locked), _medians(self.bare), strict=True)
        rows = [f"  {what:<50} {locked:6.1f} s  {bare:6.1f} s" for what, locked, bare in columns]
        return "\n".join([f"  {'':<50} {'locked':>8}  {'bare':>8}", *rows])


def compare(
    cluster: LiveCluster, rounds: int, tell: Callable[[str], None], *, warm_up: int = 0
) -> Comparison:
    """Install the closure in both ways in each round, taking turns in who is first; leave out rounds that warm up."""
    taken: dict[str, list[SyncTimes]] = {way: [] for way in _WAYS}
    packages = 0
    for number in range(warm_up + rounds):
        for way in sorted(_WAYS, reverse=number % 2 == 0):
            closure = publish_closure(cluster.registry, f"{way}{number}")
            packages = len(closure.sources)
            team = _WAYS[way](cluster, closure)
            times = settle(cluster, closure, team)
            taken[way].append(times)
            tell(f"{closure.name}: {times.healthy:.1f} s")
            clear(cluster, team)
    return Comparison(packages, taken["locked"][warm_up:], taken["bare"][warm_up:])


def _medians(times: Sequence[SyncTimes]) -> list[float]:
    steps = [[later - earlier for earlier, later in pairwise((0.0, *astuple(one)))] for one in times]
    return [median(step) for step in zip(*steps, strict=True)]
