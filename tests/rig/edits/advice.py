"""Doing what an error says, as far as that is something to write into the folder."""

import re

from render.lean import replace
from rig.builders.catalogs import named, root
from rig.builders.lock_story import move
from rig.commands.refusals import Refusal
from rig.commands.suggestions import offered_moves
from rig.edits.folders import Folder

_ASK_INSTEAD = re.compile(r"ask for (\S+) instead of (\S+)")


def take_advice(folder: Folder, refused: Refusal) -> Folder:
    """Return a folder as an error says that it should be; where that is nothing to paste, it stays as it is."""
    advised = folder
    if "  moves:" in refused.next:
        for old, new in offered_moves(refused.next).items():
            advised = _without_opposite(advised, str(old), *map(str, new))
            advised = advised.moving(move(str(old), *map(str, new)), old=str(old))
    for line in refused.next:
        for new, old in _ASK_INSTEAD.findall(line):
            advised = _ask_instead(advised, old, new)
    source = refused.what.split(" ")[0]
    if source in folder.moves and refused.next[0].startswith("remove the entry"):
        advised = advised.moving(None, old=source)
    if source in folder.moves and refused.next[0].startswith("leave out the strategy"):
        advised = advised.moving(replace(folder.moves[source], strategy=None), old=source)
    return advised


def _without_opposite(folder: Folder, old: str, *new: str) -> Folder:
    for name in new:
        if name in folder.moves and named(old) in folder.moves[name].targets:
            folder = folder.moving(None, old=name)
    return folder


def _ask_instead(folder: Folder, old: str, new: str) -> Folder:
    if old not in folder.roots:
        return folder
    asked = folder.roots[old]
    folder = folder.without(old)
    wish = replace(root(new), name=asked.name, kind=asked.kind)
    return folder if new in folder.roots else folder.asking(new, wish)
