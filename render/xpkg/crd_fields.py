"""The `crd` field of a dependency or an install object: a text, or a mapping of group, version and kind."""

from difflib import get_close_matches

from render.crd_dependencies import MAPPING_KEYS, CrdRequest, make_crd, parse_crd
from render.yaml.documents import type_name
from render.yaml.fields import Fields, describe

CRD_KEY = "crd"


def read_crd(entry: Fields, key: str = CRD_KEY) -> CrdRequest | None:
    """Read the CRDs that a field asks for; add to the problems if it is missing or wrong."""
    value = entry.get(key)
    if isinstance(value, str):
        with entry.errors_at(key):
            return parse_crd(value)
        return None
    if isinstance(value, dict):
        return _read_mapping(entry.mapping(key))
    found = type_name(value) if isinstance(value, list) else describe(value)
    entry.complain(f"expected text or a mapping of {', '.join(MAPPING_KEYS)}, found {found}", key)
    return None


def _read_mapping(crd: Fields) -> CrdRequest | None:
    known = len(crd.problems)
    for name in sorted(map(str, crd.value.keys() - set(MAPPING_KEYS))):
        near = get_close_matches(name, MAPPING_KEYS, n=1)
        crd.complain("unknown field" + (f"; did you mean {near[0]}?" if near else ""), name)
    group, version, kind = crd.required_text("group"), crd.optional_text("version"), crd.required_text("kind")
    if len(crd.problems) > known or group is None or kind is None:
        return None
    with crd.errors_at():
        return make_crd(group, version, kind)
    return None
