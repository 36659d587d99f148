"""The difference of two locks as text, JSON and Markdown."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from render.lock.aspects import LISTS, Aspects, Differences
from render.lock.diff import ChangedPackage, DiffedPackage, LockDiff
from render.texts import visible
from render.views.labels import format_step, step_document

EQUAL = "No differences.\n"
_CHANGED = "Changed"

# The values of aspects that are left out.
_UNSAID = {"state": "wanted", "released": "no"}
# The aspects that are those of the bytes; of a package that is added, its version stands for them.
_OF_THE_BYTES = frozenset(
    {
        "version",
        "digest",
        "dependencies",
        "objects",
        "objectsDigest",
        "definitionsDigest",
        "groups",
        "family",
        "crossplane",
    }
)
# The aspects in the headline of a package, each with the words before it.
_WORDS = {
    "state": "",
    "root": "asked for as ",
    "requiredBy": "required by ",
    "replacedBy": "replaced by ",
    "installedAs": "alias of ",
    "providedBy": "provided by ",
}


def format_diff(diff: LockDiff) -> str:
    """Write a difference as text."""
    blocks = [
        *[_changed_lines(package) for package in _breaking_first(diff.changed)],
        *[_added_lines(package) for package in diff.added],
        *[[f"Removed {_headline(package)}"] for package in diff.removed],
        _titled("Inputs", diff.inputs),
        _titled("Lock", diff.lock),
        _titled("Not a difference", diff.explained),
    ]
    lines = "".join(f"{line}\n" for block in blocks for line in block)
    return EQUAL + lines if diff.equal else lines


def diff_document(diff: LockDiff) -> dict[str, Any]:
    """Return a difference as JSON values."""
    return {
        "equal": diff.equal,
        "added": [_package_document(package) for package in diff.added],
        "removed": [_package_document(package) for package in diff.removed],
        "changed": [
            {
                "source": package.source,
                **step_document(package.step),
                **_move_document(package),
                **{name: change_document(name, *pair) for name, pair in package.changes.items()},
            }
            for package in diff.changed
        ],
        "inputs": list(diff.inputs),
        "lock": list(diff.lock),
        "explained": list(diff.explained),
    }


def _breaking_first(packages: Iterable[ChangedPackage]) -> list[ChangedPackage]:
    """Put the steps that may break something where a reviewer looks first."""
    return sorted(packages, key=lambda package: not (package.step and package.step.may_break))


def _titled(title: str, texts: Sequence[str]) -> list[str]:
    return [title, *[f"  {visible(text)}" for text in texts]] if texts else []


def _headline(package: DiffedPackage) -> str:
    kind, name = format_aspect(package, "kind"), format_aspect(package, "object")
    facts = [" ".join(part for part in (kind, name) if part)]
    facts += [
        f"{word}{format_aspect(package, name)}" for name, word in _WORDS.items() if name in package.aspects
    ]
    told = "; ".join(fact for fact in [*facts, package.note] if fact)
    return visible(f"{package.source} {format_aspect(package, 'version')}" + (f" ({told})" if told else ""))


def _added_lines(package: DiffedPackage) -> Iterator[str]:
    yield f"Added {_headline(package)}"
    for name, texts in _decided(package.aspects).items():
        if name not in _WORDS and name not in ("kind", "object"):
            yield from (f"  {name}: {visible(text)}" for text in texts)


def _decided(aspects: Aspects) -> Aspects:
    """Return the aspects that somebody has decided on; the others follow from the version."""
    return {name: texts for name, texts in aspects.items() if name not in _OF_THE_BYTES}


def _said_changes(package: ChangedPackage) -> Differences:
    """Return the aspects of a package that do not simply follow from its new version."""
    if "version" not in package.changes or package.moved_from:
        return package.changes
    version = package.changes["version"]
    followed = {"objectsDigest", "definitionsDigest"}
    if package.changes.get("root") == version:
        followed.add("root")
    before, after = package.changes.get("keptPins", ((), ()))
    kept = [f"{package.source}:{text}@" for text in version[0]]
    if not _more(before, after) and all(text.startswith(tuple(kept)) for text in _more(after, before)):
        followed.add("keptPins")
    return {name: pair for name, pair in package.changes.items() if name not in followed}


def _changed_lines(package: ChangedPackage) -> Iterator[str]:
    step = f" ({format_step(package.step)})" if package.step else ""
    yield f"{change_word(package)} {visible(_title(package))}{step}"
    for name, (before, after) in _said_changes(package).items():
        if name in LISTS:
            yield from (f"  {name}: {visible(text)}" for text in format_signed(before, after))
        elif name != "version":
            yield f"  {visible(format_change(name, before, after))}"


def _title(package: ChangedPackage) -> str:
    old, new = format_versions(package)
    if package.moved_from:
        how = f" by {package.strategy}" if package.strategy else ""
        return f"{package.moved_from} {old} -> {package.source} {new}{how}"
    if old or new:
        return f"{package.source} {old} -> {new}"
    return package.source if change_word(package) == _CHANGED else f"{package.source} {package.version}"


def format_versions(package: ChangedPackage) -> tuple[str, str]:
    """Return the versions before and after; empty if they are equal, unless the package has moved."""
    old, new = package.changes.get("version", ((), ()))
    same = package.version if package.moved_from else ""
    return ", ".join(old) or same, ", ".join(new) or same


def change_word(package: ChangedPackage) -> str:
    """Return what happened to a package in one word."""
    now = {name: after for name, (_, after) in package.changes.items()}
    if now.get("state") == ("deactivated",):
        return "Off"
    if package.moved_from:
        return "Moved"
    if "state" in now:
        return "Leaving" if now["state"] else "Returned"
    if now.get("released"):
        return "Released"
    return "Provided" if now.get("providedBy") else "Updated" if "version" in now else _CHANGED


def format_change(name: str, before: Sequence[str], after: Sequence[str]) -> str:
    """Write in one line how an aspect changed."""
    if name in LISTS:
        return f"{name}: {', '.join(format_signed(before, after))}"
    return f"{name}: {format_said(name, before)} -> {format_said(name, after)}"


def format_said(name: str, texts: Sequence[str]) -> str:
    """Write the values of an aspect, or its default."""
    return ", ".join(texts) or _UNSAID.get(name, "none")


def format_signed(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Write the removed values with a minus and the added ones with a plus."""
    signed = [
        *(f"- {text}" for text in _more(before, after)),
        *(f"+ {text}" for text in _more(after, before)),
    ]
    return signed or [f"~ in another order: {text}" for text in after]


def _more(texts: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the texts that others lack, in their order; a text that is there twice counts twice."""
    left, found = Counter(others), []
    for text in texts:
        if left[text] > 0:
            left[text] -= 1
        else:
            found.append(text)
    return found


def _move_document(package: ChangedPackage) -> dict[str, Any]:
    return {"movedFrom": package.moved_from, "strategy": package.strategy} if package.moved_from else {}


def _package_document(package: DiffedPackage) -> dict[str, Any]:
    return {
        "source": package.source,
        **{
            name: list(texts) if name in LISTS else ", ".join(texts)
            for name, texts in package.aspects.items()
        },
        **({"note": package.note} if package.note else {}),
    }


def change_document(name: str, old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    """Return an aspect before and after as JSON values."""
    if name in LISTS:
        added, removed = _more(new, old), _more(old, new)
        order = {} if added or removed else {"order": list(new)}
        return {"added": added, "removed": removed, **order}
    return {"old": ", ".join(old) if old else None, "new": ", ".join(new) if new else None}


def format_aspect(package: DiffedPackage, name: str) -> str:
    """Write the values of one aspect of a package."""
    return ", ".join(package.aspects.get(name, ()))


_CODE = re.compile(r"[^`|\\\n]+")
_LONG_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def format_markdown(diff: LockDiff) -> str:
    """Write a difference as a table for a pull request; texts of packages are never markup."""
    rows = [
        *[_changed_row(package) for package in _breaking_first(diff.changed)],
        *[
            _row("added", package, "", format_aspect(package, "version"), _facts(package))
            for package in diff.added
        ],
        *[
            _row("removed", package, format_aspect(package, "version"), "", _note(package))
            for package in diff.removed
        ],
    ]
    table = ["| | package | from | to | more |", "|---|---|---|---|---|", *rows] if rows else []
    parts = [
        [EQUAL.strip()] if diff.equal else table,
        _listed("Inputs:", diff.inputs),
        _listed("Lock:", diff.lock),
        _listed("Not a difference:", diff.explained),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    return [title, "", *[f"- {code(text)}" for text in texts]] if texts else []


def _changed_row(package: ChangedPackage) -> str:
    old, new = format_versions(package)
    told = [_told(name, *pair) for name, pair in _said_changes(package).items() if name != "version"]
    if package.moved_from:
        how = f" by {package.strategy}" if package.strategy else ""
        told.insert(0, f"from {code(package.moved_from)}{how}")
    return _row(change_word(package).lower() + _markdown_step(package), package, old, new, "<br>".join(told))


def _markdown_step(package: ChangedPackage) -> str:
    if package.step is None:
        return ""
    text = format_step(package.step)
    return f", **{text}**" if package.step.may_break else f", {text}"


def _told(name: str, old: Sequence[str], new: Sequence[str]) -> str:
    if name in LISTS:
        return f"{name}: {', '.join(f'{text[0]} {code(text[2:])}' for text in format_signed(old, new))}"
    return f"{name}: {code(format_said(name, old))} → {code(format_said(name, new))}"


def _facts(package: DiffedPackage) -> str:
    told = {**_decided(package.aspects), "objects": package.aspects.get("objects", ())}
    return "<br>".join(f"{name}: {', '.join(map(code, texts))}" for name, texts in told.items() if texts)


def _note(package: DiffedPackage) -> str:
    return code(package.note) if package.note else ""


def _row(what: str, package: DiffedPackage | ChangedPackage, old: str, new: str, more: str) -> str:
    cells = [what, code(package.source), code(old) if old else "", code(new) if new else "", more]
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Return text that Markdown shows unchanged: no markup, no link, no mention, no end of the cell."""
    shown = visible(_LONG_DIGEST.sub(lambda digest: digest[0][:19] + "…", text))
    if _CODE.fullmatch(shown) and shown.strip() == shown:
        return f"`{shown}`"
    return "<code>" + "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown) + "</code>"
