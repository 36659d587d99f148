"""What Kubernetes demands of the names, labels and annotations of an object without a namespace."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

SYNC_OPTIONS = "argocd.argoproj.io/sync-options"

_LONGEST_NAME = 253
_LONGEST_WORD = 63
_MOST_ANNOTATIONS = 256 * 1024
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_WORD = re.compile("[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def check_names(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Find names, keys and values that Kubernetes refuses, in metadata whose fields have the right types."""
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if not _is_name(metadata["name"]):
        yield f"metadata.name: {metadata['name'][:300]!r} is not a DNS subdomain"
    yield from _check_keys(labels, "metadata.labels", str)
    # Annotations are compared without regard to case, so that old keys stay allowed.
    yield from _check_keys(annotations, "metadata.annotations", str.lower)
    for key, value in labels.items():
        if value and not _is_word(value):
            yield f"metadata.labels.{key}: {value!r} cannot be the value of a label"
    if _bytes_of(annotations) > _MOST_ANNOTATIONS:
        yield f"metadata.annotations: more than {_MOST_ANNOTATIONS} bytes"


def has_sync_option(metadata: Mapping[str, Any], option: str) -> bool:
    """Return whether an object has a sync option."""
    options = (metadata.get("annotations") or {}).get(SYNC_OPTIONS, "")
    return option in [word.strip() for word in options.split(",")]


def _check_keys(entries: Mapping[str, str], at: str, fold: Callable[[str], str]) -> Iterator[str]:
    yield from (f"{at}: {key!r} cannot be a key" for key in entries if not _is_key(fold(key)))


def _is_key(key: str) -> bool:
    prefix, slash, word = key.rpartition("/")
    return _is_word(word) and (not slash or _is_name(prefix))


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def _is_word(text: str) -> bool:
    return len(text) <= _LONGEST_WORD and _WORD.fullmatch(text) is not None


def _bytes_of(entries: Mapping[str, str]) -> int:
    return sum(len(text.encode()) for entry in entries.items() for text in entry)
