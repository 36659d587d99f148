"""What is asked for more than once: one root or one rewrite if everyone agrees, else a problem with both places."""

from collections.abc import Iterable

from render.packages import Kind
from render.references import Source
from render.rewrites import Rewrite
from render.roots import Root
from render.values import replace


def agree_on_roots(roots: Iterable[Root], problems: list[str]) -> tuple[Root, ...]:
    """Return one root for each source, sorted by source and name."""
    agreed: dict[Source, Root] = {}
    for root in roots:
        known = agreed.get(root.source)
        agreed[root.source] = root if known is None else _join(known, root, problems)
    _check_names(agreed.values(), problems)
    return tuple(sorted(agreed.values(), key=lambda root: (root.source, root.name or "")))


def agree_on_rewrites(rewrites: Iterable[Rewrite], problems: list[str]) -> tuple[Rewrite, ...]:
    """Return one rewrite for each prefix, in the order they come in."""
    agreed: dict[str, Rewrite] = {}
    for rewrite in rewrites:
        known = agreed.setdefault(rewrite.prefix, rewrite)
        if known.replacement != rewrite.replacement:
            problems.append(
                f"{rewrite.place}: {rewrite.prefix} is rewritten to {rewrite.replacement} here "
                f"and to {known.replacement} in {known.place}; Crossplane takes either"
            )
    return tuple(agreed.values())


def _join(known: Root, root: Root, problems: list[str]) -> Root:
    differences = [
        ("version", str(known.request), str(root.request), known.request != root.request),
        ("name", known.name, root.name, _differ(known.name, root.name)),
        ("kind", known.kind, root.kind, _differ(known.kind, root.kind)),
    ]
    for what, old, new, differs in differences:
        if differs:
            problems.append(
                f"{root.place}: {root.source} is asked for with the {what} {new} here "
                f"and with {old} in {known.place}"
            )
    if known.is_manifest and root.is_manifest and known.fields != root.fields:
        problems.append(f"{root.place}: the manifest of {root.source} has other fields than in {known.place}")
    return replace(
        known,
        place=f"{known.place} and {root.place}",
        name=known.name or root.name,
        kind=known.kind or root.kind,
        fields=known.fields or root.fields,
    )


def _differ(old: str | None, new: str | None) -> bool:
    # Whoever says nothing agrees.
    return old is not None and new is not None and old != new


def _check_names(roots: Iterable[Root], problems: list[str]) -> None:
    named: dict[tuple[Kind, str], Root] = {}
    for root in roots:
        if root.name is None or root.kind is None:
            continue
        known = named.setdefault((root.kind, root.name), root)
        if known is not root:
            problems.append(
                f"{root.place}: {root.kind}/{root.name} is {root.source} here and {known.source} in {known.place}"
            )
