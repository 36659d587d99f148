"""Objects → names of files: what people would call them, safe on every file system, no two alike."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from render.manifests.identities import Identity, identify

KUSTOMIZATION = "kustomization.yaml"

_UNSAFE = re.compile(r"[^a-z0-9.-]+")
# Some file systems stop at 143 bytes, most at 255.
_LONGEST = 120
_HASH_DIGITS = 16


def name_files(objects: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each object: the shortest one that no other object could have, too."""
    offers = [_offer_names(identify(value)) for value in objects]
    wanted = Counter(name for names in offers for name in set(names))
    wanted[KUSTOMIZATION] += 1
    return [next((name for name in names if wanted[name] == 1), names[-1]) for names in offers]


def _offer_names(identity: Identity) -> tuple[str, str, str]:
    group, kind, namespace, name = identity
    mark = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:_HASH_DIGITS]
    short, grouped = _safe(kind, namespace, name), _safe(kind, group, namespace, name)
    return _bounded(short, mark), _bounded(grouped, mark), _marked(short, mark)


def _safe(*parts: str) -> str:
    # In lower case, since some file systems take two names for one that differ only in that.
    text = "-".join(part for part in parts if part).lower()
    return _UNSAFE.sub("-", text).strip("-.") or "object"


def _bounded(text: str, mark: str) -> str:
    return f"{text}.yaml" if len(text) <= _LONGEST else _marked(text, mark)


def _marked(text: str, mark: str) -> str:
    return f"{text[: _LONGEST - len(mark) - 1]}-{mark}.yaml"
