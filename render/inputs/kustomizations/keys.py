"""The keys of a kustomization at every level; a key that is not listed may fetch something or run a program."""

from collections.abc import Iterator
from typing import Any

from render.yaml.documents import Place
from render.yaml.folding import KnownFields


def _keys(text: str, **below: KnownFields) -> KnownFields:
    return {**dict.fromkeys(text.split()), **below}


_FIELD_SPEC = _keys("group version kind path create")
_SELECTOR = _keys("group version kind name namespace labelSelector annotationSelector")
_GENERATOR_OPTIONS = _keys("labels annotations disableNameSuffixHash immutable")
_GENERATOR = _keys("name namespace behavior files envs env literals", options=_GENERATOR_OPTIONS)
_IMAGE = _keys("name newName tagSuffix newTag digest")
_PATCH = _keys("path patch", target=_SELECTOR, options=_keys("allowNameChange allowKindChange"))
_FIELD_OPTIONS = _keys("delimiter index encoding create")
_REPLACED = _keys("fieldPaths", select=_SELECTOR, reject=_SELECTOR, options=_FIELD_OPTIONS)
_REPLACEMENT = _keys(
    "path sourceValue",
    source=_keys("group version kind name namespace fieldPath", options=_FIELD_OPTIONS),
    targets=_REPLACED,
)

# Keys without any path in them, and keys with paths somewhere below.
PLAIN_KEYS = _keys(
    "apiVersion kind namePrefix nameSuffix namespace commonLabels commonAnnotations buildMetadata",
    metadata=_keys("name namespace labels annotations"),
    labels=_keys("pairs includeSelectors includeTemplates", fields=_FIELD_SPEC),
    images=_IMAGE,
    imageTags=_IMAGE,
    replicas=_keys("name count"),
    vars=_keys(
        "name",
        objref=_keys("apiVersion group version kind name namespace"),
        fieldref=_keys("fieldpath fieldPath"),
    ),
    sortOptions=_keys("order", legacySortOptions=_keys("orderFirst orderLast")),
    generatorOptions=_GENERATOR_OPTIONS,
)
PATHS_BELOW = _keys(
    "",
    patches=_PATCH,
    patchesJson6902=_PATCH,
    replacements=_REPLACEMENT,
    openapi=_keys("path"),
    configMapGenerator=_GENERATOR,
    secretGenerator={**_GENERATOR, "type": None},
)


def find_unknown_keys(value: Any, known: KnownFields | None, place: Place) -> Iterator[Place]:
    """Yield the places of keys that are not known; without known keys, every key is allowed."""
    if known is None:
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from find_unknown_keys(item, known, (*place, i))
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in known:
                yield from find_unknown_keys(item, known[key], (*place, key))
            else:
                yield (*place, key)
