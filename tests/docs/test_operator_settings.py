"""The pages name every setting of the operator and every parameter of an Application."""

import ast
import re

from rig.docs.pages import TOP

from render.argocd.parameters import KNOWN
from render.cli.operator_options import CACHE, GIT_TOKEN, POLICY, REGISTRIES, TRUSTED_ROOT
from render.limits import Limits, setting

SECURITY = (TOP / "docs/security.md").read_text()
ARGO_CD = (TOP / "docs/argo-cd.md").read_text()
VARIABLE = re.compile(r"_?[A-Z]+(?:_[A-Z]+)+")
# Git's own, which operators know from git; Argo CD's; and files of git that look like variables.
NOT_OURS = re.compile(r"GIT_.*|ARGOCD_.*|.*_HEAD")
# Set for programs that we start, or by a shell that completes a command.
INNER = {"XPLOCK_GIT_HEADER", "XPLOCK_NOTHING", "_XPLOCK_COMPLETE", "LC_ALL", "HTTP_PROXY", "XDG_DATA_HOME"}
# Read by libraries or put together from parts, and one that does not look like a variable of ours.
# Words of registries in the messages that a cluster shows.
WORDS = {"MANIFEST_UNKNOWN", "NAME_UNKNOWN"}
READ_ELSEWHERE = {"HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "TMPDIR"}


def names_in_table(heading: str) -> list[str]:
    """Return every name in the first column of a table."""
    table = SECURITY.partition(f"\n{heading}\n|---")[2].partition("\n\n")[0]
    return [name for row in table.splitlines()[1:] for name in re.findall(r"`([^`]+)`", row.split("|")[1])]


def variables_in_code() -> set[str]:
    """Return every text in the code that is the name of a variable."""
    trees = [ast.parse(path.read_text()) for path in (TOP / "render").rglob("*.py")]
    values = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {value for value in values if isinstance(value, str) and VARIABLE.fullmatch(value)}


def test_the_table_has_every_variable_that_is_read_and_no_other() -> None:
    told = set(names_in_table("| variable | option | meaning |"))

    read = {name for name in variables_in_code() - INNER - WORDS if not NOT_OURS.fullmatch(name)}

    limits = setting("*")
    assert told - {limits} == read | READ_ELSEWHERE
    assert limits in told
    assert {setting(name) for name in Limits.__annotations__} & told == set()


def test_the_table_has_every_option_beside_its_variable() -> None:
    rows = re.findall(r"^\| `(XPLOCK_\w+)` \| (`--[^|]+`) \|", SECURITY, re.MULTILINE)
    lock_policy = {("XPLOCK_LOCK_POLICY", "--lock-policy")}

    told = {(variable, option) for variable, text in rows for option in re.findall(r"`([^`]+)`", text)}

    assert told - lock_policy == {
        (option.variable, option.opts[0]) for option in (*CACHE, *REGISTRIES, GIT_TOKEN, POLICY, TRUSTED_ROOT)
    }
    assert lock_policy <= told


def test_the_parameters_of_an_application_are_listed_with_their_variables() -> None:
    rows = re.findall(r"^\| `(\w+)` \| `(XPLOCK_\w+)` \|", ARGO_CD, re.MULTILINE)

    assert rows == [(parameter.name, parameter.variable) for parameter in KNOWN]
