"""The result of `adopt` as text and JSON: what is taken over, which files say so, what is added, what to do next."""

from collections.abc import Iterator
from typing import Any

from render.commands import as_path
from render.live.adopting.files import file_name, root_manifest
from render.live.adopting.model import Adoption
from render.settings import PinMode
from render.system.files import LOCK_FILE
from render.texts import counted, first_names, visible

_SHOWN = 5
_WIDTH = len("Dependency")


def format_adoption(made: Adoption) -> str:
    """Write the roots and dependencies of an adopted cluster, and the only additions to its objects."""
    lines = []
    for root in made.roots:
        one = root.package
        lines.append(f"{'Root':<{_WIDTH}} {one.title} {one.reference} ({root.why})")
    lines += [f"{'Dependency':<{_WIDTH}} {one.title} {one.reference}" for one in made.dependencies]
    lines += [f"{'File':<{_WIDTH}} {made.folder / name}" for name in made.files]
    lines += _additions(made)
    return "".join(f"{visible(line)}\n" for line in lines)


def adoption_hints(made: Adoption, *, dry_run: bool) -> Iterator[str]:
    """Yield what to know and to do next."""
    for note in made.notes:
        yield f"note: {note}"
    if made.unproven:
        yield (
            f"note: the name of no revision proves the bytes of {first_names(made.unproven, _SHOWN)}; "
            "those are locked that their tags name now"
        )
    if dry_run:
        yield f"{_summary(made)}; nothing was written"
        return
    if not made.files:
        yield f"{_summary(made)}; nothing had to be written"
        return
    yield f"{_summary(made)}; next: commit {as_path(made.folder)}, and let it sync"
    if made.pin is PinMode.TAG:
        yield (
            "after that, as a commit of its own, pin: digest in xplock.yaml makes moved tags harmless; it restarts "
            "each provider once, with the same bytes"
        )


def adoption_document(made: Adoption, *, dry_run: bool) -> dict[str, Any]:
    """Return the result for a program."""
    return {
        "folder": str(made.folder),
        "written": not dry_run,
        "files": list(made.files),
        "roots": [
            {
                "kind": str(root.package.object.kind),
                "name": root.package.name,
                "source": str(root.package.source),
                "package": root.package.object.package,
                "file": file_name(root_manifest(root)),
                "why": root.why,
            }
            for root in made.roots
        ],
        "dependencies": [
            {
                "kind": str(one.object.kind),
                "name": one.name,
                "source": str(one.source),
                "package": one.object.package,
            }
            for one in made.dependencies
        ],
        "annotations": {key: list(names) for key, names in made.comparison.annotations.items()},
        "pins": list(made.comparison.pins),
        "unproven": list(made.unproven),
        "notes": list(made.notes),
        "warnings": list(made.warnings),
    }


def _additions(made: Adoption) -> Iterator[str]:
    for key, names in made.comparison.annotations.items():
        yield f"{'Annotation':<{_WIDTH}} {key} on {counted(len(names), 'object')}"
    if made.comparison.pins:
        yield f"{'Pins':<{_WIDTH}} {counted(len(made.comparison.pins), 'ImageConfig')}"


def _summary(made: Adoption) -> str:
    count = len(made.roots) + len(made.dependencies)
    detached = sum(bool(package.detached) for package in made.lock.in_order())
    more = f", {detached:,} detached" if detached else ""
    return (
        f"{made.folder / LOCK_FILE}: {counted(count, 'package')} of the cluster, {counted(len(made.roots), 'root')}{more}; "
        "no field of them changes"
    )
