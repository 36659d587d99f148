"""The operator's policy, which no project can weaken: a file that the environment names."""

from collections.abc import Mapping
from pathlib import Path

from render.errors import InvalidInput, RenderError, in_one_line
from render.inputs.policies.keys import POLICY
from render.inputs.policies.parse import parse_policy
from render.inputs.settings.table import read_entry
from render.limits import Limits
from render.policy.model import Policy
from render.system.files import read_mounted
from render.yaml.documents import file_rules, parse_documents
from render.yaml.fields import Fields, Problems

VARIABLE = "XPLOCK_POLICY"
_AUTHOR = "the operator's policy"


class UnusablePolicy(InvalidInput):
    """A policy of the operator that cannot be read; nothing is allowed without it."""

    def __init__(self, file: str, why: list[str]) -> None:
        super().__init__(
            f"the operator's policy {file} cannot be used",
            why=why,
            next=f"correct the file; the variable {VARIABLE} or the option --policy names it",
        )


def read_operator_policy(environ: Mapping[str, str], limits: Limits) -> Policy | None:
    """Read the policy that the operator's environment names; None without one."""
    file = environ.get(VARIABLE, "")
    if not file:
        return None
    # The plugin runs in the folder of a project, which must not decide which file this is.
    if not Path(file).is_absolute():
        raise UnusablePolicy(file, [f"{VARIABLE} has to be a whole path, which begins with a slash"])
    problems = Problems()
    data = read_mounted(environ, VARIABLE, "file_bytes", limits)
    top = Fields(_parse(data, file, limits), problems)
    policy = parse_policy(read_entry(top, (POLICY,)), file, _AUTHOR)
    if policy is None and not problems:
        problems.add((), "it has no policy")
    if problems or policy is None:
        raise UnusablePolicy(file, problems.texts())
    return policy


def _parse(data: bytes, file: str, limits: Limits) -> object:
    if not data:
        raise UnusablePolicy(file, ["it cannot be read, or is empty"])
    try:
        documents = parse_documents(data, file_rules(limits))
    except RenderError as error:
        raise UnusablePolicy(file, [in_one_line(error, advice=False)]) from None
    if len(documents) > 1:
        raise UnusablePolicy(file, [f"expected one document, found {len(documents):,}"])
    return documents[0] if documents else None
