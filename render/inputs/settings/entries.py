"""The entries of xplock.yaml for moves, overrides and used folders: their keys, and how they are parsed."""

import errno
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

from render.crd_dependencies import CatalogSource
from render.errors import in_one_line
from render.inputs.settings.table import Choice, Entries, Entry, Key, Number, OneOrMore, Text, TextMap, Texts
from render.limits import LimitExceeded, Limits
from render.moves import Move, Strategy, follow_moves
from render.names import DNS_NAME
from render.overrides import Override
from render.references import InvalidReference, Source, parse_source
from render.system.boundary import Boundary, real_path
from render.versions.constraints import ANY, parse_constraint

MOVES = Entries(
    (
        Key(
            "from",
            Text(),
            "The source that was replaced, with its registry and without tag and digest.",
            required=True,
            examples=("xpkg.example.org/old-team/provider-nop",),
        ),
        Key(
            "to",
            OneOrMore(Text()),
            "The source that replaces it; a list where several packages replace one.",
            required=True,
            examples=("xpkg.example.org/acme/provider-nop",),
        ),
        Key(
            "strategy",
            Choice((Strategy.ALIAS, Strategy.REPOINT, Strategy.DEACTIVATE)),
            "alias: the old object keeps its source, and its pin points to the new package. repoint: the old object "
            "gets the new source. deactivate: the new package has an object of its own, and the old one is "
            "deactivated. Without it, xplock chooses by what is installed and what depends on it.",
        ),
    )
)


def parse_moves(top: Entry, file: str, limits: Limits) -> tuple[Move, ...]:
    """Parse the moves; a circle of moves is a problem."""
    entries = top.entries.get("moves", ())
    found: dict[Source, tuple[Entry, Move]] = {}
    for i, entry in enumerate(entries):
        move = _parse_move(entry, f"{file}: moves[{i}]", found)
        if move:
            found[move.source] = entry, move
    moves = tuple(move for _, move in found.values())
    with top.fields.errors_at("moves"):
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
        entry.fields.complain(problem, key)
    strategy = Strategy(said["strategy"]) if "strategy" in said else None
    return None if problems else Move(old, tuple(new), strategy=strategy, place=place)


def _parse_source(entry: Entry, key: str, text: str) -> Source | None:
    try:
        return parse_source(text)
    except InvalidReference as error:
        hint = "write a registry and a path in it, without tag and digest"
        entry.fields.complain(f"{in_one_line(error, advice=False)}; {hint}", key)
        return None


def _contradictions(
    old: Source, new: Collection[Source], taken: Collection[Source]
) -> Iterator[tuple[str, str]]:
    if old in taken:
        yield "from", f"{old} has an entry already"
    if old in new:
        yield "to", f"{old} cannot replace itself"
    [(most, times)] = Counter(new).most_common(1)
    if times > 1:
        yield "to", f"{most} is listed {times:,} times"


def _check_count(moves: Collection[Move], limits: Limits) -> None:
    # The work for chains of lists grows with the square of this.
    count = sum(len(move.targets) for move in moves)
    if count > limits.packages:
        raise LimitExceeded("there are too many of them", "packages", limits, found=f"{count:,}")


def _check_strategies(followed: Mapping[Source, Move], entries: Mapping[Source, Entry]) -> None:
    for move in followed.values():
        if len(move.targets) > 1 and move.strategy not in (None, Strategy.DEACTIVATE):
            entries[move.source].fields.complain(
                f"{move.strategy} is for one package, and {move.source} becomes {len(move.targets)}; "
                f"leave it out, or write {Strategy.DEACTIVATE}",
                "strategy",
            )


_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_NAME_MEANING = "at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
_KEY_MEANING = f"{_NAME_MEANING}, optionally after a DNS name and '/'"


def _subdomain(characters: str) -> str:
    part = f"[{characters}](?:[-{characters}]*[{characters}])?"
    return rf"(?:{part}(?:\.{part})*)"


def _key(characters: str) -> str:
    return rf"(?:(?=[^/]{{1,253}}/){_subdomain(characters)}/)?{_NAME}"


# The rules of the API server. Capital letters before the slash are allowed in keys of annotations only.
_OBJECT = Text(
    DNS_NAME,
    "the name of an object: at most 253 lower-case letters, digits, '-' and '.', "
    "the first and the last a letter or digit",
)
_LABELS = TextMap(
    Text(_key("a-z0-9"), f"the key of a label: {_KEY_MEANING}"),
    Text(f"(?:{_NAME})?", f"the value of a label: {_NAME_MEANING}", may_be_empty=True),
)
_ANNOTATIONS = TextMap(
    Text(_key("A-Za-z0-9"), f"the key of an annotation: {_KEY_MEANING}"), Text(may_be_empty=True)
)
# The largest whole number that all YAML and JSON readers support.
_HISTORY = Number(0, 2**31 - 1)

OVERRIDES = Entries(
    (
        Key(
            "prefix",
            Text(),
            "A source, a path above it, or a registry; the entry applies to all packages below.",
            required=True,
            examples=("xpkg.example.org/acme",),
        ),
        Key(
            "runtimeConfig",
            _OBJECT,
            "The DeploymentRuntimeConfig of Providers and Functions, by its name.",
        ),
        Key("pullSecrets", Texts(_OBJECT), "The pull secrets, by their names."),
        Key(
            "pullPolicy",
            Choice(("Always", "IfNotPresent", "Never")),
            "When Crossplane pulls the package.",
        ),
        Key(
            "activationPolicy",
            Choice(("Automatic", "Manual")),
            "Whether a new revision is activated by Crossplane or by you.",
        ),
        Key("historyLimit", _HISTORY, "How many old revisions stay; 0 keeps them all."),
        Key("labels", _LABELS, "Labels of the package objects."),
        Key("annotations", _ANNOTATIONS, "Annotations of the package objects."),
    ),
    needs_more=True,
)


def parse_override(prefix: str, entry: Entry) -> Override:
    """Return the override of an entry."""
    given = entry.plain
    return Override(
        prefix,
        runtime_config=given.get("runtimeConfig"),
        pull_secrets=tuple(given.get("pullSecrets", ())),
        pull_policy=given.get("pullPolicy"),
        activation_policy=given.get("activationPolicy"),
        history_limit=given.get("historyLimit"),
        labels=given.get("labels", {}),
        annotations=given.get("annotations", {}),
    )


def parse_uses(top: Entry, folder: Path, boundary: Boundary | None) -> Iterator[tuple[str, Path]]:
    """Yield each used folder, as it is written and as a path."""
    taken: dict[Path, str] = {}
    for text in top.plain.get("uses", ()):
        problem = _problem(text, folder, taken, boundary)
        if problem:
            top.fields.complain(f"{text!r} {problem}", "uses")
        else:
            yield text, folder / text


def _problem(text: str, folder: Path, taken: dict[Path, str], boundary: Boundary | None) -> str:
    # It is stored in the lock as it is written, which has to be the same on every machine.
    if Path(text).is_absolute():
        return "is an absolute path; write it relative to this file"
    if "\0" in text:
        return "is not a folder"
    if boundary and not boundary.includes(folder / text):
        # Refused where it is read; rendering works without the used folders.
        return ""
    if not _can_be_folder(folder / text):
        return "is not a folder"
    there = real_path(folder / text)
    if there == real_path(folder):
        return "is this folder itself"
    first = taken.setdefault(there, text)
    return "" if first is text else f"is the same folder as {first!r}"


def _can_be_folder(path: Path) -> bool:
    """Return whether a path can be a folder, even a missing one: rendering works without the used folders."""
    try:
        path.stat()
    except OSError as error:
        return error.errno != errno.ELOOP
    return True


def parse_catalog_sources(top: Entry, file: str) -> Iterator[CatalogSource]:
    """Yield the sources of the catalog."""
    taken: set[Source] = set()
    for i, entry in enumerate(top.entries.get("catalog", ())):
        said = entry.plain
        if ("source" in said) == ("file" in said):
            entry.fields.complain("expected either a source or a file")
            continue
        if "source" not in said:
            continue
        source = _parse_catalog_source(entry, said["source"], taken)
        constraint = ANY
        with entry.fields.errors_at("version"):
            constraint = parse_constraint(said["version"]) if "version" in said else ANY
        if source:
            taken.add(source)
            yield CatalogSource(source, f"{file}: catalog[{i}]", constraint)


def _parse_catalog_source(entry: Entry, text: str, taken: Collection[Source]) -> Source | None:
    if "*" in text:
        entry.fields.complain(
            "a registry cannot list its repositories, so name each source, or a file of `xplock catalog build`",
            "source",
        )
        return None
    source = _parse_source(entry, "source", text)
    if source in taken:
        entry.fields.complain(f"{source} has an entry already", "source")
        return None
    return source


def parse_catalog_files(top: Entry) -> Iterator[str]:
    """Yield the files of the catalog, relative to the folder."""
    for entry in top.entries.get("catalog", ()):
        name = entry.plain.get("file")
        if name is None or "source" in entry.plain:
            continue
        if "version" in entry.plain:
            entry.fields.complain("a file has the versions of each row", "version")
        path = PurePosixPath(name)
        if "\0" in name or path.is_absolute() or ".." in path.parts:
            entry.fields.complain("expected a file of this folder", "file")
        else:
            yield str(path)
