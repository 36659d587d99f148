"""Findings that say the same about several definitions: one group, where a line for each would be thousands."""

from collections.abc import Iterable, Mapping, Sequence

from render.definitions.model import Finding
from render.definitions.rules import RISKS, Risk
from render.lean import TypeAlias, dataclass
from render.texts import counted, first_names, visible
from render.xpkg.definitions import COMPOSITION

_Key: TypeAlias = tuple[str, ...]

# How many definitions a line names, and how many of them if there are more.
_NAMED = 5
_NAMED_OF_MANY = 2
# How many groups of one rule are shown.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Group:
    """What one rule says about one place, in any number of definitions."""

    risk: Risk
    rule: str
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """A finding that stands for all of them."""
        return self.findings[0]

    @property
    def names(self) -> list[str]:
        """The names of the definitions, sorted."""
        return sorted({one.definition for one in self.findings})

    @property
    def noun(self) -> str:
        """What its definitions are."""
        return "definition" if any(one.kind != COMPOSITION for one in self.findings) else COMPOSITION

    @property
    def steps(self) -> list[str]:
        """The packages with their versions before and after, sorted."""
        return sorted({format_package_step(one) for one in self.findings})


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one rule and class: those that are shown, and the others."""

    shown: tuple[Group, ...]
    hidden: tuple[Group, ...] = ()


def group_findings(findings: Iterable[Finding], *, everything: bool = False) -> list[Groups]:
    """Return findings in groups: the worst class first, and of each rule what most definitions have."""
    by_rule: dict[tuple[Risk, str], dict[_Key, list[Finding]]] = {}
    for one in findings:
        by_rule.setdefault((one.risk, one.rule), {}).setdefault(_key(one), []).append(one)
    found = []
    for (risk, rule), by_key in by_rule.items():
        groups = sorted((Group(risk, rule, tuple(some)) for some in by_key.values()), key=_order)
        # One line more is no longer than the line that says so.
        end = len(groups) if everything or len(groups) == _SHOWN + 1 else _SHOWN
        found.append(Groups(tuple(groups[:end]), tuple(groups[end:])))
    return sorted(found, key=lambda one: RISKS.index(one.shown[0].risk))


def count_by_risk(findings: Iterable[Finding]) -> dict[Risk, int]:
    """Return the number of definitions for each class that was found, the worst first."""
    names: dict[Risk, set[tuple[str, str]]] = {}
    for one in findings:
        names.setdefault(one.risk, set()).add((one.kind, one.definition))
    return {risk: len(names[risk]) for risk in RISKS if risk in names}


def count_by_package(findings: Iterable[Finding]) -> Mapping[str, dict[Risk, int]]:
    """Return the number of definitions for each class, by the source of the package."""
    by_package: dict[str, list[Finding]] = {}
    for one in findings:
        by_package.setdefault(one.package, []).append(one)
    return {package: count_by_risk(by_package[package]) for package in sorted(by_package)}


def format_counts(counts: Mapping[Risk, int]) -> str:
    """Write the number of definitions for each class in a line."""
    words = [
        counted(count, risk) if risk is Risk.NOTE else f"{count:,} {risk}" for risk, count in counts.items()
    ]
    return ", ".join(words)


def format_names(names: Sequence[str], noun: str, *, everything: bool = False) -> str:
    """Name some definitions: all, if they are few, or else the first ones and their number."""
    if everything or len(names) <= _NAMED:
        return ", ".join(names)
    return f"{counted(len(names), noun)} ({', '.join(names[:_NAMED_OF_MANY])}, …)"


def format_steps(group: Group, *, everything: bool = False) -> str:
    """Name the packages of a group with their versions, and what follows for its definitions."""
    steps = ", ".join(group.steps) if everything else first_names(group.steps, 1)
    return "; ".join(part for part in (steps, visible(group.first.detail)) if part)


def format_package_step(one: Finding) -> str:
    """Write the package of a finding with its versions before and after."""
    versions = [visible(text) for text in (one.from_version, one.to_version) if text]
    name = visible(one.package.rpartition("/")[2])
    # A Composition of the folder itself has no package.
    return " ".join(part for part in (name, " -> ".join(dict.fromkeys(versions))) if part)


def _key(one: Finding) -> _Key:
    """Return what makes findings of one rule the same."""
    of_package = one.package if one.rule == "definition-new" else ""
    return one.path, "" if one.path else one.version, one.before, one.after, one.detail, of_package


def _order(group: Group) -> tuple[int, tuple[str, ...]]:
    return -len(group.names), _key(group.first)
