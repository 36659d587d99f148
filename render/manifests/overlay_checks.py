"""The fields that an overlay must not change: those that decide which packages are installed, and from which bytes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from render.errors import InvalidInput
from render.inputs.objects import REVISIONS, find_items_keys, find_misspelt
from render.lock.model import spec_of
from render.manifests.identity import Identity, identify
from render.packages import PACKAGE_GROUP, Kind
from render.texts import first_lines

_PIN = "ImageConfig"
_FIELDS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(Kind, ("package", "skipDependencyResolution")),
    **dict.fromkeys(REVISIONS, ("desiredState", "image")),
    _PIN: ("matchImages", "rewriteImage"),
}
# An overlay may add this field. Where it was rendered, it deactivates a package and must stay.
_KEEP_IF_SET = "revisionActivationPolicy"
_SHOWN = 20

_Object: TypeAlias = Mapping[str, Any]


class BrokenByOverlay(InvalidInput):
    """An overlay that renames, removes, repoints or adds a package or a pin."""

    def __init__(self, overlay: Path, problems: Sequence[str]) -> None:
        super().__init__(
            f"the overlay in {overlay} changes locked packages or pins",
            why=first_lines(problems, _SHOWN),
            next="change the folder's manifests instead, and remove names, packages and pins from the overlay",
        )


def check_overlay_output(before: Sequence[_Object], after: Sequence[_Object], overlay: Path) -> None:
    """Raise if an overlay changed packages or pins."""
    problems = [
        *_find_changes(before, after),
        *_find_additions(before, after),
        *_find_duplicates(after),
        *_find_items(after),
        *_find_misspelt(after),
    ]
    if problems:
        raise BrokenByOverlay(overlay, problems)


def _find_changes(before: Sequence[_Object], after: Sequence[_Object]) -> Iterator[str]:
    found = {identify(value): value for value in after}
    for value in filter(_is_fixed, before):
        identity = identify(value)
        if identity not in found:
            yield f"{_shown(identity)} is removed or renamed"
            continue
        for field in (*_FIELDS[identity[1]], *([_KEEP_IF_SET] if _KEEP_IF_SET in spec_of(value) else [])):
            old, new = spec_of(value).get(field), spec_of(found[identity]).get(field)
            if old != new:
                yield f"{_shown(identity)}: spec.{field} is {new}, and was {old}"


def _find_additions(before: Sequence[_Object], after: Sequence[_Object]) -> Iterator[str]:
    known = {identify(value): value for value in before}
    for value in after:
        identity = identify(value)
        old = known.get(identity)
        # One that was there is compared, unless only the overlay makes it a rewrite.
        if not _is_fixed(value) or (old is not None and _is_fixed(old)):
            continue
        if identity[1] == _PIN:
            what = "is new" if old is None else "gets a rewrite"
            yield f"{_shown(identity)} {what}, and pins depend on every rewrite: put it into the folder itself"
        else:
            yield f"{_shown(identity)} is new, and a package has to be locked"


def _find_duplicates(after: Sequence[_Object]) -> Iterator[str]:
    for identity, count in Counter(map(identify, after)).items():
        if count > 1:
            yield f"there are {count} objects {_shown(identity)}"


def _find_items(after: Sequence[_Object]) -> Iterator[str]:
    for value in after:
        for key in find_items_keys(value):
            yield f"{_shown(identify(value))} has the field {key}, and Argo CD would apply each item as an object"


def _find_misspelt(after: Sequence[_Object]) -> Iterator[str]:
    for value in after:
        for place, problem in find_misspelt(value):
            yield f"{_shown(identify(value))}: {'.'.join(map(str, ('', *place)))[1:]}{': ' if place else ''}{problem}"


def _is_fixed(value: _Object) -> bool:
    group, kind, *_ = identify(value)
    # An ImageConfig without a rewrite, for instance with a pull secret, does not decide which bytes are pulled.
    return group == PACKAGE_GROUP and kind in _FIELDS and (kind != _PIN or "rewriteImage" in spec_of(value))


def _shown(identity: Identity) -> str:
    _, kind, namespace, name = identity
    return f"{kind}/{namespace}{'/' if namespace else ''}{name}"
