"""ImageConfigs as Crossplane looks them up: the longest prefix of a reference counts, after one rewrite."""

from render.lean import TYPE_CHECKING, Any, dataclass
from render.rewrites import Rewrite, Rewrites
from render.signatures.rules import Rule, parse_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_API_VERSION = "pkg.crossplane.io/v1beta1"


@dataclass(frozen=True, slots=True)
class ImageConfigs:
    """The rewrites and the rules of a cluster."""

    rewrites: Rewrites
    rules: "Sequence[tuple[str, Rule]]"

    @classmethod
    def of(cls, objects: "Iterable[Mapping[str, Any]]") -> "ImageConfigs":
        """Return the ImageConfigs among some objects."""
        configs = _configs(objects)
        return cls(Rewrites(list(_rewrites(configs))), list(_rules(configs)))

    def resolve(self, reference: str) -> str:
        """Return the reference that is pulled for another one."""
        rewrite = self.rewrites.find(reference)
        return rewrite.apply(reference) if rewrite else reference

    def match(self, reference: str) -> bool:
        """Return whether a rule is for what is pulled for a reference."""
        return bool(self.find_rules(self.resolve(reference)))

    def find_rules(self, reference: str) -> "list[Rule]":
        """Return the rules for a reference that is pulled; of several with one prefix Crossplane takes either one."""
        fitting = [(prefix, rule) for prefix, rule in self.rules if prefix and reference.startswith(prefix)]
        longest = max((len(prefix) for prefix, _ in fitting), default=0)
        return [rule for prefix, rule in fitting if len(prefix) == longest]


def has_rules(objects: "Iterable[Mapping[str, Any]]") -> bool:
    """Return whether any ImageConfig among some objects has a rule."""
    return any(True for _ in _rules(_configs(objects)))


def _configs(objects: "Iterable[Mapping[str, Any]]") -> "list[Mapping[str, Any]]":
    return [
        one for one in objects if (one.get("apiVersion"), one.get("kind")) == (_API_VERSION, "ImageConfig")
    ]


def _rewrites(configs: "Iterable[Mapping[str, Any]]") -> "Iterator[Rewrite]":
    for value in configs:
        new = _mapping(_spec(value).get("rewriteImage")).get("prefix")
        if isinstance(new, str) and new:
            yield from (Rewrite(prefix, new, _name(value)) for prefix in _prefixes(value))


def _rules(configs: "Iterable[Mapping[str, Any]]") -> "Iterator[tuple[str, Rule]]":
    for value in configs:
        verification = _spec(value).get("verification")
        if verification is not None:
            rule = parse_rule(_name(value), verification)
            yield from ((prefix, rule) for prefix in dict.fromkeys(_prefixes(value)))


def _prefixes(value: "Mapping[str, Any]") -> "Iterator[str]":
    matches = _spec(value).get("matchImages")
    for match in matches if isinstance(matches, list) else ():
        prefix = _mapping(match).get("prefix")
        if isinstance(prefix, str):
            yield prefix


def _name(value: "Mapping[str, Any]") -> str:
    return str(_mapping(value.get("metadata")).get("name"))


def _spec(value: "Mapping[str, Any]") -> "Mapping[str, Any]":
    return _mapping(value.get("spec"))


def _mapping(value: Any) -> "Mapping[str, Any]":
    return value if isinstance(value, dict) else {}
