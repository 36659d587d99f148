"""The difference of two locks: as text for a terminal, as JSON, and as Markdown for a pull request."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from render.lock.diff import ChangedPackage, DiffedPackage, LockDiff
from render.texts import visible

EQUAL = "No differences.\n"

# Everything else about a package is one text.
_LISTS = frozenset({"requiredBy", "dependencies", "objects", "fields"})
# In a table: what is worth a reviewer's time, but for the version, which has columns of its own.
_TOLD = (
    "kind",
    "object",
    "digest",
    "tag",
    "root",
    "requiredBy",
    "dependencies",
    "objects",
    "family",
    "crossplane",
)
_CODE = re.compile(r"[^`|\\\n]+")
_LONG_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def format_diff(diff: LockDiff) -> str:
    """Write a difference for a person."""
    if diff.equal:
        return EQUAL
    blocks = [
        *[_changed_lines(package) for package in diff.changed],
        *[[f"Added {_headline(package)}"] for package in diff.added],
        *[[f"Removed {_headline(package)}"] for package in diff.removed],
        *([["Inputs", *[f"  {visible(text)}" for text in diff.inputs]]] if diff.inputs else []),
    ]
    return "".join(f"{line}\n" for block in blocks for line in block)


def diff_document(diff: LockDiff) -> dict[str, Any]:
    """Return a difference as JSON values."""
    return {
        "equal": diff.equal,
        "added": [_package_document(package) for package in diff.added],
        "removed": [_package_document(package) for package in diff.removed],
        "changed": [
            {
                "source": package.source,
                **{name: _change_document(name, *pair) for name, pair in package.changes.items()},
            }
            for package in diff.changed
        ],
        "inputs": list(diff.inputs),
    }


def format_markdown(diff: LockDiff) -> str:
    """Write a difference as a table that a pull request shows; nothing in it is read as markup."""
    if diff.equal:
        return EQUAL
    rows = [
        *[_changed_row(package) for package in diff.changed],
        *[
            _row("added", package.source, "", _first(package, "version"), _facts(package))
            for package in diff.added
        ],
        *[_row("removed", package.source, _first(package, "version"), "", "") for package in diff.removed],
    ]
    table = ["| | package | from | to | more |", "|---|---|---|---|---|", *rows] if rows else []
    inputs = ["Inputs:", "", *[f"- {_code(text)}" for text in diff.inputs]] if diff.inputs else []
    return "\n".join([*table, *([""] if table and inputs else []), *inputs, ""])


def _headline(package: DiffedPackage) -> str:
    kind, name = _first(package, "kind"), _first(package, "object")
    facts = [" ".join(part for part in (kind, name) if part)]
    if "root" in package.aspects:
        facts.append(f"asked for as {_first(package, 'root')}")
    if package.aspects.get("requiredBy"):
        facts.append(f"required by {', '.join(package.aspects['requiredBy'])}")
    told = "; ".join(fact for fact in facts if fact)
    return visible(f"{package.source} {_first(package, 'version')}" + (f" ({told})" if told else ""))


def _changed_lines(package: ChangedPackage) -> Iterator[str]:
    old, new = package.changes.get("version", ((), ()))
    versions = f" {', '.join(old)} -> {', '.join(new)}" if old or new else ""
    yield f"{'Updated' if versions else 'Changed'} {visible(package.source + versions)}"
    for name, (before, after) in package.changes.items():
        if name in _LISTS:
            yield from (f"  {name}: {visible(text)}" for text in _signed(before, after))
        elif name != "version":
            yield f"  {name}: {visible(', '.join(before) or 'none')} -> {visible(', '.join(after) or 'none')}"


def _signed(before: Sequence[str], after: Sequence[str]) -> list[str]:
    gone = [f"- {text}" for text in before if text not in after]
    come = [f"+ {text}" for text in after if text not in before]
    return gone + come


def _package_document(package: DiffedPackage) -> dict[str, Any]:
    return {
        "source": package.source,
        **{
            name: list(texts) if name in _LISTS else ", ".join(texts)
            for name, texts in package.aspects.items()
        },
    }


def _change_document(name: str, old: Sequence[str], new: Sequence[str]) -> dict[str, Any]:
    if name in _LISTS:
        return {
            "added": [text for text in new if text not in old],
            "removed": [text for text in old if text not in new],
        }
    return {"old": ", ".join(old) if old else None, "new": ", ".join(new) if new else None}


def _changed_row(package: ChangedPackage) -> str:
    old, new = package.changes.get("version", ((), ()))
    told = [_told(name, *package.changes[name]) for name in _TOLD if name in package.changes]
    kind = "updated" if old or new else "changed"
    return _row(kind, package.source, ", ".join(old), ", ".join(new), "<br>".join(told))


def _told(name: str, old: Sequence[str], new: Sequence[str]) -> str:
    if name in _LISTS:
        return f"{name}: {', '.join(f'{text[0]} {_code(text[2:])}' for text in _signed(old, new))}"
    return f"{name}: {_code(', '.join(old) or 'none')} → {_code(', '.join(new) or 'none')}"


def _facts(package: DiffedPackage) -> str:
    told = [name for name in ("kind", "object", "root", "requiredBy", "objects") if name in package.aspects]
    return "<br>".join(f"{name}: {', '.join(map(_code, package.aspects[name]))}" for name in told)


def _row(what: str, source: str, old: str, new: str, more: str) -> str:
    cells = [what, _code(source), _code(old) if old else "", _code(new) if new else "", more]
    return f"| {' | '.join(cells)} |"


def _first(package: DiffedPackage, name: str) -> str:
    return ", ".join(package.aspects.get(name, ()))


def _code(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no link, no mention, no end of the cell."""
    shown = visible(_LONG_DIGEST.sub(lambda digest: digest[0][:19] + "…", text))
    if _CODE.fullmatch(shown) and shown.strip() == shown:
        return f"`{shown}`"
    return "<code>" + "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown) + "</code>"
