"""What registries have now, beside a lock: whether its bytes are still there, and which versions are newer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from render.app.definitions import compare_upgrades
from render.app.operator_settings import OperatorSettings
from render.app.reporter import Reporter
from render.app.world import World, open_world
from render.commands import LockCall, as_path, shell
from render.errors import Differs, RenderError
from render.inputs.projects import NothingAsked, read_inputs, read_settings
from render.inputs.roots import parse_package
from render.lock.freshness import require_consistent_lock
from render.lock.lookup import find_source
from render.lock.model import Lock, State
from render.lock.online.verify import Trouble, VerifyFinding, verify_lock
from render.lock.text.file import read_lock
from render.references import InvalidReference, Source
from render.rewrites import Rewrite
from render.texts import counted
from render.versions.semantic import order_candidates
from render.views.outdated import Standing, find_standings, wanted_packages
from render.views.versions import Offered

Layouts = Sequence[tuple[str, Path]]


class LockNotGood(RenderError):
    """A lock names bytes that are gone or have changed."""


@dataclass(frozen=True, slots=True)
class Verification:
    """How many packages of a folder were verified, and what was found."""

    folder: str
    packages: int
    findings: Sequence[VerifyFinding]
    # The packages that `lock -P` can name.
    active: frozenset[Source] = frozenset()


def verify_folders(
    folders: Sequence[Path], layouts: Layouts, operator: OperatorSettings, reporter: Reporter
) -> list[Verification]:
    """Compare every locked package with its registry; the cache is not asked, since it only has what was."""
    world = open_world(operator.without_cache(), reporter)
    found = []
    for folder in folders:
        with reporter.busy(f"asking about what {folder} has locked"):
            found.append(_verify(folder, world, layouts))
    return found


def require_verified(verifications: Sequence[Verification], options: Sequence[str] = ()) -> None:
    """Raise if a registry has other bytes or other tags than were locked; advice repeats the options."""
    findings = [finding for one in verifications for finding in one.findings]
    grave = sorted({str(finding.package.source) for finding in findings if finding.trouble.is_grave})
    if grave:
        raise LockNotGood(
            f"{counted(len(grave), 'locked package')} cannot be relied on",
            why=", ".join(grave),
            next=[
                "do not roll this lock out; find out who changed it or the registry, then lock again:",
                *(
                    LockCall((one.folder,), (), tuple(options)).again()
                    for one in verifications
                    if _is_grave(one)
                ),
            ],
        )
    unclaimed = sorted({str(one.package.source) for one in findings if one.trouble is Trouble.NO_CLAIM})
    if unclaimed:
        raise Differs(
            f"{counted(len(unclaimed), 'package')} replaced others by a claim that its bytes do not make",
            why=", ".join(unclaimed),
            next="if that is meant, write each move in xplock.yaml, as above, and lock; if not, restore the lock from Git",
        )
    moved = sorted({str(finding.package.source) for finding in findings})
    gone = any(finding.trouble in (Trouble.TAG_GONE, Trouble.PIN_GONE) for finding in findings)
    if moved:
        raise Differs(
            f"the tags of {counted(len(moved), 'package')} are not what was locked",
            why=", ".join(moved),
            next=[
                "nothing changes in the cluster",
                *(["if a tag never was there, the lock was edited: restore it from Git"] if gone else []),
                *_ways_on(verifications, options),
            ],
        )


def _is_grave(one: Verification) -> bool:
    return any(finding.trouble.is_grave for finding in one.findings)


def _ways_on(verifications: Sequence[Verification], options: Sequence[str]) -> Iterator[str]:
    """Yield the commands that help, for each folder: a tag that is gone has nothing to take."""
    for one in verifications:
        own = [f for f in one.findings if f.package.source in one.active and not f.of_pin]
        moved = sorted({str(f.package.source) for f in own if f.trouble is Trouble.TAG_MOVED})
        if moved:
            call = LockCall((one.folder,), tuple(moved), tuple(options))
            yield f"to take what {'its tag names' if len(moved) == 1 else 'their tags name'} now: {call.again()}"
        if any(f.trouble is Trouble.TAG_GONE for f in own):
            yield f"to see which versions there are: {shell('xplock', 'outdated', *options, as_path(one.folder))}"


def find_outdated(
    folder: Path,
    layouts: Layouts,
    world: World,
    reporter: Reporter,
    *,
    offline: bool = False,
    definitions: bool = False,
) -> list[Standing]:
    """Return how every locked package stands beside the versions in its registry.

    With `definitions`, what can be upgraded now has what that does to definitions.
    """
    lock = require_consistent_lock(folder, world.limits)
    inputs = read_inputs(folder, world.limits, world.settings.environ)
    catalog = world.catalog([*layouts, *inputs.settings.layouts], inputs.rewrites, offline=offline)
    sources = [package.source for package in wanted_packages(lock)]
    with reporter.busy(f"asking for the tags of {counted(len(sources), 'package')}"):
        tags = fetch_tags(sources, catalog.tags, parallel=world.limits.parallel)
    found = find_standings(lock, tags, follow_families=inputs.settings.families == "follow")
    if not definitions:
        return found
    upgrades = {one.package.source: one.wanted.text for one in found if one.newer_within and one.wanted}
    compared = compare_upgrades(lock, upgrades, catalog, world.limits, reporter)
    return [replace(one, definitions=compared.get(one.package.source)) for one in found]


def find_versions(
    text: str, folder: Path, layouts: Layouts, operator: OperatorSettings, reporter: Reporter
) -> Offered:
    """Return the versions that a registry has of a package, newest first, and which one a folder has locked."""
    lock = read_lock(folder, operator.limits) or Lock()
    try:
        source = parse_package(text).source
    except InvalidReference:
        if not lock.packages:
            raise
        source = find_source(text, lock, folder=folder)
    world = open_world(operator, reporter)
    rewrites: Sequence[Rewrite]
    try:
        inputs = read_inputs(folder, operator.limits, operator.environ)
        settings, rewrites = inputs.settings, inputs.rewrites
    except NothingAsked:
        # A folder that is to get its first package may know its registry already.
        settings = read_settings(folder, operator.limits)
        rewrites = settings.rewrites
    with reporter.busy(f"asking for the tags of {source}"):
        tags = world.catalog([*layouts, *settings.layouts], rewrites).tags(source)
    versions = tuple(reversed(order_candidates(tags)))
    package = lock.packages.get(source)
    return Offered(source, versions, len(set(tags)) - len(versions), package.version_tag if package else None)


def fetch_tags(
    sources: Iterable[Source], fetch: Callable[[Source], Sequence[str]], *, parallel: int
) -> dict[Source, Sequence[str]]:
    """Fetch the tags of all sources in parallel; of several failures, raise the first in order."""
    pool = ThreadPoolExecutor(parallel, thread_name_prefix="xplock-tags")
    try:
        asked = {source: pool.submit(fetch, source) for source in sources}
        return {source: future.result() for source, future in asked.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def _verify(folder: Path, world: World, layouts: Layouts) -> Verification:
    lock = require_consistent_lock(folder, world.limits)
    inputs = read_inputs(folder, world.limits, world.settings.environ)
    catalog = world.catalog([*layouts, *inputs.settings.layouts], inputs.rewrites)
    with ThreadPoolExecutor(world.limits.parallel, thread_name_prefix="xplock-verify") as pool:
        findings = verify_lock(lock, catalog, pool.map)
    active = frozenset(source for source, one in lock.packages.items() if one.state is State.WANTED)
    return Verification(str(folder), len(lock.installed()) + len(lock.provided), findings, active)
