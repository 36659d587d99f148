"""The overrides of xplock.yaml: their keys, and what an entry of them says."""

from render.inputs.keys import Entries, Entry, Key
from render.inputs.shapes import Choice, Number, Text, TextMap, Texts
from render.overrides import Override

_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_NAME_MEANING = "at most 63 letters, digits, '-', '_' and '.', the first and the last a letter or digit"
_KEY_MEANING = f"{_NAME_MEANING}, in front of it perhaps a DNS name and '/'"


def _subdomain(characters: str) -> str:
    part = f"[{characters}](?:[-{characters}]*[{characters}])?"
    return rf"(?:{part}(?:\.{part})*)"


def _key(characters: str) -> str:
    return rf"(?:(?=[^/]{{1,253}}/){_subdomain(characters)}/)?{_NAME}"


# What the API server accepts. Only in the keys of annotations, capital letters may stand in front of the slash.
_OBJECT = Text(
    f"(?!.{{254}}){_subdomain('a-z0-9')}",
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
# The largest number that every reader of YAML and JSON has.
_HISTORY = Number(0, 2**31 - 1)

OVERRIDES = Entries(
    (
        Key(
            "prefix",
            Text(),
            "A source, a path above it or its registry: the packages that this is for.",
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
    """Return what an entry says for the packages at or below its prefix."""
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
