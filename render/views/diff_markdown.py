"""The difference of two locks as Markdown, for a pull request."""

import re
from collections.abc import Sequence

from render.lock.diff import ChangedPackage, DiffedPackage, LockDiff
from render.texts import visible
from render.views.diff import (
    EQUAL,
    LISTS,
    change_word,
    format_aspect,
    format_said,
    format_signed,
    format_versions,
)

# In a table: what is worth a reviewer's time, but for the version, which has columns of its own.
_TOLD = (
    *("kind", "object", "installedAs", "digest", "tag", "state", "released", "providedBy", "root"),
    *("requiredBy", "replaces", "replacedBy", "detached", "staleEntry", "dependencies", "objects"),
    *("family", "crossplane", "keptPins"),
)
_FACTS = (
    *("kind", "object", "installedAs", "state", "released", "providedBy", "root", "requiredBy"),
    *("replaces", "replacedBy", "detached", "objects"),
)
_CODE = re.compile(r"[^`|\\\n]+")
_LONG_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def format_markdown(diff: LockDiff) -> str:
    """Write a difference as a table that a pull request shows; nothing in it is read as markup."""
    rows = [
        *[_changed_row(package) for package in diff.changed],
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
        _listed("Not a difference:", diff.explained),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    return [title, "", *[f"- {code(text)}" for text in texts]] if texts else []


def _changed_row(package: ChangedPackage) -> str:
    old, new = format_versions(package)
    told = [_told(name, *package.changes[name]) for name in _TOLD if name in package.changes]
    if package.moved_from:
        how = f" by {package.strategy}" if package.strategy else ""
        told.insert(0, f"from {code(package.moved_from)}{how}")
    return _row(change_word(package).lower(), package, old, new, "<br>".join(told))


def _told(name: str, old: Sequence[str], new: Sequence[str]) -> str:
    if name in LISTS:
        return f"{name}: {', '.join(f'{text[0]} {code(text[2:])}' for text in format_signed(old, new))}"
    return f"{name}: {code(format_said(name, old))} → {code(format_said(name, new))}"


def _facts(package: DiffedPackage) -> str:
    told = [name for name in _FACTS if name in package.aspects]
    return "<br>".join(f"{name}: {', '.join(map(code, package.aspects[name]))}" for name in told)


def _note(package: DiffedPackage) -> str:
    return code(package.note) if package.note else ""


def _row(what: str, package: DiffedPackage | ChangedPackage, old: str, new: str, more: str) -> str:
    cells = [what, code(package.source), code(old) if old else "", code(new) if new else "", more]
    return f"| {' | '.join(cells)} |"


def code(text: str) -> str:
    """Return text that Markdown shows as it is: no markup, no link, no mention, no end of the cell."""
    shown = visible(_LONG_DIGEST.sub(lambda digest: digest[0][:19] + "…", text))
    if _CODE.fullmatch(shown) and shown.strip() == shown:
        return f"`{shown}`"
    return "<code>" + "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in shown) + "</code>"
