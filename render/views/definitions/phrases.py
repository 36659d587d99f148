"""What a group of findings says, in the words of its rule."""

from collections.abc import Callable, Mapping

from render.definitions.model import Finding
from render.lean import TypeAlias
from render.texts import visible
from render.views.definitions.groups import Group, format_names

# The text of a value: as it is, or as code.
Quote: TypeAlias = Callable[[str], str]

# `{names}` are the definitions, the others are fields of a finding.
_PHRASES: Mapping[str, str] = {
    "stored-version-gone": "{before} is no longer a version of {names}",
    "version-gone": "{before} is no longer a version of {names}",
    "version-unserved": "{version} of {names} is no longer served",
    "version-deprecated": "{version} of {names} is deprecated now",
    "definition-gone": "no package brings {names} any more",
    "definition-new": "new: {names}",
    "definition-moved": "{before} -> {after} brings {names}",
    "storage-moved": "objects are stored in {after} instead of {before} in {names}",
    "no-way-back": "the old package does not know {after} of {names}",
    "required-new": "{path} is required in {names}",
    "field-gone": "{path} in {names}",
    "subresource": "{before} of {version} is gone from {names}",
    "composition-changed": "{names}",
    "composition-gone": "no package brings {names} any more",
    "composition-target": "{names}: for {before}, and the XRD refers to {after}",
}


def format_phrase(group: Group, quote: Quote = visible, *, everything: bool = False) -> str:
    """Write what a group says about its definitions."""
    names = format_names([quote(name) for name in group.names], group.noun, everything=everything)
    one = group.first
    phrase = _PHRASES.get(group.rule)
    if phrase is None:
        place = [quote(one.path)] if one.path else [f"version {quote(one.version)}"] if one.version else []
        return f"{': '.join(part for part in (*place, _change(one, quote)) if part)} in {names}"
    values = {name: quote(getattr(one, name)) for name in ("before", "after", "version", "path")}
    return phrase.format(names=names, **values)


def _change(one: Finding, quote: Quote) -> str:
    if one.before and one.after:
        return f"{quote(one.before)} -> {quote(one.after)}"
    return f"was {quote(one.before)}" if one.before else f"now {quote(one.after)}" if one.after else ""
