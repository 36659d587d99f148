"""Overrides: manifest fields for all packages at or below a prefix."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from render.errors import InvalidInput
from render.lean import dataclass, field
from render.packages import Kind
from render.references import InvalidReference, Source, parse_source


class InvalidPrefix(InvalidInput):
    """A text that is not the beginning of any source."""

    def __init__(self, text: str) -> None:
        # The text before an @ may be a password.
        shown = "***" + text[text.rindex("@") :] if "@" in text else text
        super().__init__(
            f"{shown!r} is neither a source nor the beginning of one",
            next="write a registry, or a path in one without tag and digest: xpkg.example.org/acme",
        )


def parse_prefix(text: str) -> str:
    """Parse a prefix into the canonical form of sources, without a slash at its end."""
    path = text.removesuffix("/")
    try:
        return str(parse_source(path)) if "/" in path else str(parse_source(f"{path}/x")).removesuffix("/x")
    except InvalidReference:
        raise InvalidPrefix(text) from None


def prefixes_of(source: Source) -> list[str]:
    """Return every prefix that a source is at or below, the shortest first."""
    return list(accumulate(str(source).split("/"), "{}/{}".format))


def covers(prefix: str, source: Source) -> bool:
    """Return whether a source is at or below a prefix; "" covers all."""
    return not prefix or prefix.removesuffix("/") in prefixes_of(source)


@dataclass(frozen=True, slots=True)
class Override:
    """Fields for every package at or below a prefix."""

    prefix: str
    runtime_config: str | None = None
    pull_secrets: tuple[str, ...] = ()
    pull_policy: str | None = None
    activation_policy: str | None = None
    history_limit: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def override_fields(
    source: Source, kind: Kind, own: Mapping[str, object], overrides: Sequence[Override]
) -> dict[str, object]:
    """Return the manifest fields of a package: its own, completed by every override that fits."""
    prefixes = set(prefixes_of(source))
    fitting = [override for override in overrides if override.prefix in prefixes]
    # The longest prefix comes last, and later fields win.
    fitting.sort(key=lambda override: len(override.prefix))
    metadata = _complete_metadata(_part(own, "metadata"), fitting)
    spec = _join([*(_spec(override, kind) for override in fitting), _part(own, "spec")])
    fields = {**own, "metadata": metadata, "spec": spec}
    return {key: value for key, value in fields.items() if value}


def _complete_metadata(own: Mapping[str, object], fitting: Sequence[Override]) -> dict[str, object]:
    labels = _join([*(override.labels for override in fitting), _part(own, "labels")])
    annotations = _join([*(override.annotations for override in fitting), _part(own, "annotations")])
    given = (("labels", labels), ("annotations", annotations))
    return {**own, **{key: value for key, value in given if value}}


def _spec(override: Override, kind: Kind) -> dict[str, object]:
    # A Configuration runs nothing, so its spec has no field for a runtime config.
    runs = kind is not Kind.CONFIGURATION
    fields: dict[str, object] = {
        "runtimeConfigRef": {"name": override.runtime_config} if override.runtime_config and runs else None,
        "packagePullSecrets": [{"name": name} for name in override.pull_secrets] or None,
        "packagePullPolicy": override.pull_policy,
        "revisionActivationPolicy": override.activation_policy,
        "revisionHistoryLimit": override.history_limit,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _join(mappings: Iterable[Mapping[str, object]]) -> dict[str, object]:
    return {key: value for mapping in mappings for key, value in mapping.items()}


def _part(fields: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = fields.get(name)
    return part if isinstance(part, Mapping) else {}
