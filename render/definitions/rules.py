"""The rules of upgrade safety: the class of harm that each finds, and its meaning in a line."""

from collections.abc import Mapping
from enum import StrEnum

from render.lean import dataclass


class Risk(StrEnum):
    """The class of a finding, the worst first."""

    # The API server refuses the change.
    BLOCKED = "blocked"
    # Stored objects lose data, or no update to them passes.
    LOST = "lost"
    # Manifests, Compositions and functions that write the old form are refused or ignored.
    WRITERS = "writers"
    NOTE = "note"


RISKS = tuple(Risk)
MEANINGS: Mapping[Risk, str] = {
    Risk.BLOCKED: "the API server refuses it, and the upgrade stops half-way",
    Risk.LOST: "stored objects lose data, or no update to them passes",
    Risk.WRITERS: "manifests, Compositions and functions that write the old form are refused or ignored",
    Risk.NOTE: "worth a look",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, the worst class that it finds, and what it finds."""

    name: str
    risk: Risk
    meaning: str


def _of(risk: Risk, meanings: Mapping[str, str]) -> dict[str, Rule]:
    return {name: Rule(name, risk, meaning) for name, meaning in meanings.items()}


# A finding may be of a lower class than its rule: a field that vanishes from a status is a note.
RULES: Mapping[str, Rule] = {
    **_of(
        Risk.BLOCKED,
        {
            "stored-version-gone": "a version that objects are stored in is no longer a version of the definition",
            "scope": "the scope of a definition changes",
            "names": "the group, kind, plural or another fixed name of a definition changes",
            "claim-names": "the claim of an XRD changes",
            "composition-type": "a Composition is for another composite resource than before",
            "enforced-composition": "an XRD enforces another Composition than before",
            "legacy-fields": "an XRD has fields that its apiVersion or scope does not allow",
            "conversion": "versions are converted in another way than before, or by a webhook that is switched off",
        },
    ),
    **_of(
        Risk.LOST,
        {
            "definition-gone": "no package brings the definition any more",
            "field-gone": "a field is no longer part of the schema, so it is pruned",
            "type-changed": "a field has another type than before",
            "required-new": "a field is required that was not, and has no default",
            "rule-new": "there is a validation rule that was not there before",
            "merge-keys": "lists or maps are merged in another way than before",
            "unknown-fields": "unknown fields were kept, and are pruned now",
        },
    ),
    **_of(
        Risk.WRITERS,
        {
            "version-gone": "a version is no longer part of the definition",
            "version-unserved": "a version is no longer served",
            "enum-closed": "a field takes a fixed set of values, and took any before",
            "enum-smaller": "a field takes fewer values than before",
            "tighter": "a field has a narrower range, length, pattern or format than before",
            "default-changed": "a field that is left out gets another value than before",
            "default-gone": "a field that is left out gets no value any more",
            "subresource": "the subresource `status` or `scale` is gone",
            "composition-target": "a Composition is for a version that its XRD does not refer to",
        },
    ),
    **_of(
        Risk.NOTE,
        {
            "definition-moved": "another package brings the definition now",
            "definition-new": "the definition was not there before",
            "storage-moved": "objects are stored in another version from now on",
            "no-way-back": "the old package does not know the version that objects are stored in from now on",
            "version-deprecated": "a version is deprecated now",
            "composition-changed": "a Composition changes, which is behaviour and not judged",
            "composition-gone": "no package brings the Composition any more; it stays in the cluster",
            "other": "a schema differs in a way that no other rule knows",
        },
    ),
}
