"""The rule about environments: nothing is in a later one that the one before does not have."""

from collections.abc import Iterator

from render.checks.environments import Earlier
from render.checks.model import Checked, CheckedFolder, Finding
from render.checks.positions import read_lock_place
from render.commands import as_path, shell
from render.errors import Differs
from render.lock.model import Lock, LockedPackage
from render.lock.pins import all_pins
from render.references import Source
from render.texts import counted, first_lines

_SHOWN = 20


def drift(checked: Checked) -> Iterator[Finding]:
    """A folder has versions that the environment before it does not have."""
    for one in checked.folders if checked.earlier else ():
        earlier = checked.earlier.get(one.path)
        if earlier is not None and isinstance(one.lock, Lock):
            found = {source: why for source, package, why in _ahead(one.lock, earlier)}
            if found:
                yield _finding(one, earlier, found)


def _finding(one: CheckedFolder, earlier: Earlier, found: dict[Source, str]) -> Finding:
    never = sum("never" in why for why in found.values())
    told = f", {never:,} of them never {'was' if never == 1 else 'were'} there" if never else ""
    names = [word for source in found for word in ("-P", str(source))]
    back = shell("xplock", "promote", *names, as_path(one.name), as_path(earlier.name))
    return Finding(
        "drift",
        one.name,
        f"it is ahead of {earlier.name} in {counted(len(found), 'package')}{told}",
        tuple(first_lines(list(found.values()), _SHOWN)),
        (
            f"bring them there and test them: {back}",
            f"or go back: {shell('xplock', 'promote', '--allow-downgrade', as_path(earlier.name), as_path(one.name))}",
        ),
        Differs.exit_code,
        read_lock_place(one, f"source: {next(iter(found))}\n"),
    )


def _ahead(lock: Lock, earlier: Earlier) -> Iterator[tuple[Source, LockedPackage, str]]:
    """Yield the packages that are newer than in the environment before, or other than all that it had."""
    # Imported late: most folders are no environment.
    from render.lock.fleets import Standing, standing_of, wanted_of

    there = wanted_of(earlier.lock)
    for source, package in wanted_of(lock).items():
        other = there.get(source)
        if other is None:
            continue
        standing, known = standing_of(package, other), _had(other, package)
        if standing is Standing.AHEAD or (standing is Standing.OTHER and not known):
            told = (
                "" if known else f", which never had {'it' if standing is Standing.AHEAD else 'these bytes'}"
            )
            yield (
                source,
                package,
                f"{source}: {_version(package)} here, {_version(other)} in {earlier.name}{told}",
            )


def _had(there: LockedPackage, package: LockedPackage) -> bool:
    """Return whether a folder had these bytes, as far as its kept pins know."""
    return any(pin.digest == package.digest for pin in all_pins(there, there))


def _version(package: LockedPackage) -> str:
    return package.version_tag or package.digest
