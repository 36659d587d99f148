"""How a rule says what it found about one definition."""

from render.definitions.index import Brought, BroughtComposition
from render.definitions.model import Finding
from render.definitions.rules import RULES, Risk
from render.lean import TypeAlias, dataclass
from render.packages import Kind

BroughtItem: TypeAlias = Brought | BroughtComposition
Anything: TypeAlias = BroughtItem | None

_SHOWN = 120
_OF_INPUT = "it describes the input of a Function: look at the Compositions that call it"


@dataclass(frozen=True, slots=True)
class Difference:
    """What a rule found, without the definition that it is about."""

    rule: str
    risk: Risk
    version: str = ""
    path: str = ""
    before: str = ""
    after: str = ""
    detail: str = ""


def differ(
    rule: str,
    risk: Risk | None = None,
    *,
    version: str = "",
    path: str = "",
    before: str = "",
    after: str = "",
    detail: str = "",
) -> Difference:
    """Return a difference by a rule, of the rule's own class unless another one is given."""
    return Difference(rule, risk or RULES[rule].risk, version, path, shorten(before), shorten(after), detail)


def shorten(text: str) -> str:
    """Return a text that fits in a line."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def make_finding(one: Difference, old: Anything, new: Anything, brought: BroughtItem) -> Finding:
    """Return a difference as a finding about what a package brings, or brought."""
    # What a Function brings describes its input, and is installed nowhere.
    is_input = brought.bringer.kind is Kind.FUNCTION
    return Finding(
        one.rule,
        Risk.NOTE if is_input else one.risk,
        brought.item.item.name,
        brought.item.item.kind,
        one.version,
        one.path,
        one.before,
        one.after,
        brought.bringer.name,
        old.bringer.version if old else "",
        new.bringer.version if new else "",
        _OF_INPUT if is_input else one.detail,
    )
