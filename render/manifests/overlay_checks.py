"""What an overlay has to leave as it is: the packages, and the pins that say which bytes they are."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from render.errors import InvalidInput
from render.lock.model import spec_of
from render.manifests.identity import PACKAGE_GROUP, Identity, identify
from render.packages import Kind
from render.texts import first_lines

_PIN = "ImageConfig"
_FIELDS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(Kind, ("package", "skipDependencyResolution")),
    **dict.fromkeys((f"{kind}Revision" for kind in Kind), ("desiredState",)),
    _PIN: ("matchImages", "rewriteImage"),
}
# May be added; what was rendered switches a package off, and stays.
_ONCE_SAID = "revisionActivationPolicy"
_SHOWN = 20

_Object: TypeAlias = Mapping[str, Any]


class BrokenByOverlay(InvalidInput):
    """An overlay that renames, drops, repoints or adds a package, or a pin."""

    def __init__(self, overlay: Path, problems: Sequence[str]) -> None:
        super().__init__(
            f"the overlay in {overlay} changes what is locked",
            why=first_lines(problems, _SHOWN),
            next="change what the folder asks for, and leave names, packages and pins out of the overlay",
        )


def check_fixed(before: Sequence[_Object], after: Sequence[_Object], overlay: Path) -> None:
    """Refuse what came out of an overlay if it is not what was locked any more."""
    problems = [*_find_changes(before, after), *_find_additions(before, after), *_find_doubles(after)]
    if problems:
        raise BrokenByOverlay(overlay, problems)


def _find_changes(before: Sequence[_Object], after: Sequence[_Object]) -> Iterator[str]:
    found = {identify(value): value for value in after}
    for value in filter(_is_fixed, before):
        place = identify(value)
        if place not in found:
            yield f"{_shown(place)} is gone, or has another name"
            continue
        for field in (*_FIELDS[place[1]], *([_ONCE_SAID] if _ONCE_SAID in spec_of(value) else [])):
            old, new = spec_of(value).get(field), spec_of(found[place]).get(field)
            if old != new:
                yield f"{_shown(place)}: spec.{field} is {new}, and was {old}"


def _find_additions(before: Sequence[_Object], after: Sequence[_Object]) -> Iterator[str]:
    known = {identify(value) for value in before}
    for value in after:
        place = identify(value)
        if place in known or not _is_fixed(value):
            continue
        if place[1] == _PIN:
            yield f"{_shown(place)} is new, and pins have to know of every rewrite: put it into the folder itself"
        else:
            yield f"{_shown(place)} is new, and a package has to be locked"


def _find_doubles(after: Sequence[_Object]) -> Iterator[str]:
    for place, count in Counter(map(identify, after)).items():
        if count > 1:
            yield f"{_shown(place)} is there {count} times"


def _is_fixed(value: _Object) -> bool:
    group, kind, *_ = identify(value)
    # An ImageConfig that rewrites nothing, a pull secret for instance, says nothing about bytes.
    return group == PACKAGE_GROUP and kind in _FIELDS and (kind != _PIN or "rewriteImage" in spec_of(value))


def _shown(place: Identity) -> str:
    _, kind, namespace, name = place
    return f"{kind}/{namespace}{'/' if namespace else ''}{name}"
