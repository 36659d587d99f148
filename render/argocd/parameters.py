"""The parameters of an Application: settings that change its manifests and not its lock."""

from collections.abc import Mapping
from pathlib import Path

from render.errors import InvalidInput
from render.inputs.projects import Inputs
from render.lean import Any, dataclass, replace
from render.settings import Settings, Waves
from render.system.boundary import real_path
from render.system.files import is_folder

# Argo CD puts the plugin's parameters into one variable, and each entry of `env` into one with a prefix.
_PARAMETERS = "ARGOCD_APP_PARAMETERS"
_TENANT_PREFIX = "ARGOCD_ENV_"
_MOST_CHARACTERS = 4_096


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name in an Application, its variable, and the texts that Argo CD shows."""

    name: str
    variable: str
    title: str
    tooltip: str


KNOWN = (
    Parameter(
        "waves",
        "XPLOCK_WAVES",
        "Order of packages",
        "flat: pins first, then everything else. graph: dependencies before dependants, one wave each.",
    ),
    Parameter(
        "overlay",
        "XPLOCK_OVERLAY",
        "Overlay",
        "A folder with a kustomization, relative to the project, that the manifests are piped through.",
    ),
)


class InvalidParameters(InvalidInput):
    """An Application has parameters that are invalid."""

    def __init__(self, why: list[str]) -> None:
        super().__init__(
            "the Application's plugin parameters cannot be used",
            why=why,
            next=f"the parameters are {', '.join(parameter.name for parameter in KNOWN)}, each a string",
        )


class InvalidVariables(InvalidInput):
    """The operator set a variable for all Applications to a value that this one cannot use."""

    def __init__(self, why: list[str]) -> None:
        super().__init__(
            "a variable of the plugin's sidecar cannot be used",
            why=why,
            next="correct it in the environment of the sidecar; an Application's own parameter wins over it",
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """The value of a parameter, and whether it is the operator's for all Applications."""

    text: str
    by_operator: bool = False


def read_parameters(environ: Mapping[str, str]) -> dict[str, Chosen]:
    """Return the values of parameters: from the Application's parameters, else its env, else the operator."""
    given = _parse_parameters(environ.get(_PARAMETERS, ""))
    found = {}
    for parameter in KNOWN:
        own = given.get(parameter.name) or environ.get(f"{_TENANT_PREFIX}{parameter.variable}")
        text = own or environ.get(parameter.variable, "")
        if text:
            found[parameter.name] = Chosen(text, by_operator=not own)
    return found


def apply_parameters(inputs: Inputs, chosen: Mapping[str, Chosen]) -> Inputs:
    """Return inputs with the parameters of an Application; a lock records none of them."""
    problems = {name: _find_problem(name, chosen[name].text, inputs) for name in chosen}
    own = [f"{name}: {problems[name]}" for name in chosen if problems[name] and not chosen[name].by_operator]
    if own:
        raise InvalidParameters(own)
    theirs = [
        f"{parameter.variable}: {problems[parameter.name]}"
        for parameter in KNOWN
        if problems.get(parameter.name)
    ]
    if theirs:
        raise InvalidVariables(theirs)
    settings = inputs.settings
    if "waves" in chosen:
        settings = replace(settings, waves=Waves(chosen["waves"].text))
    if "overlay" in chosen:
        settings = replace(settings, overlay=inputs.folder / chosen["overlay"].text)
    return replace(inputs, settings=settings)


def _find_problem(name: str, text: str, inputs: Inputs) -> str:
    """Return what is wrong with the value of a parameter, or nothing."""
    if name == "waves":
        return "" if text in tuple(Waves) else f"expected {' or '.join(Waves)}, found {text!r}"
    folder = inputs.folder / text
    if Path(text).is_absolute() or "\0" in text:
        return f"{text!r} is not a folder, relative to the project"
    # First, so that the error for a path outside is the same whether it exists or not.
    if inputs.boundary and not inputs.boundary.includes(folder):
        return f"{text!r} is outside of the repository"
    if not is_folder(folder):
        return f"{text!r} is not a folder, relative to the project"
    return _find_misplaced(text, inputs.folder)


def _find_misplaced(text: str, project: Path) -> str:
    """Return why a folder can be no overlay; found later, the error would not name the parameter."""
    # Imported late: few Applications name an overlay.
    from render.inputs.kustomizations.checks import repository_of

    overlay = real_path(project / text)
    if overlay == real_path(project):
        return f"{text!r} is the project folder itself"
    return "" if repository_of(project).includes(overlay) else f"{text!r} is outside of the repository"


def announce(settings: Settings, folder: Path, environ: Mapping[str, str]) -> str:
    """Return the announcement that Argo CD shows, with the values that hold without parameters."""
    # Imported late: rendering does not need it.
    import json

    overlay = settings.overlay
    written = {"waves": str(settings.waves), "overlay": _relative(overlay, folder) if overlay else ""}
    entries = [
        {
            "name": parameter.name,
            "title": parameter.title,
            "tooltip": parameter.tooltip,
            "collectionType": "string",
            "string": _read_variables(parameter, environ) or written[parameter.name],
        }
        for parameter in KNOWN
    ]
    return json.dumps(entries) + "\n"


def _read_variables(parameter: Parameter, environ: Mapping[str, str]) -> str:
    """Return the value from the Application's env, else from the operator's environment."""
    name = parameter.variable
    return environ.get(f"{_TENANT_PREFIX}{name}") or environ.get(name, "")


def _relative(overlay: Path, folder: Path) -> str:
    return overlay.relative_to(folder).as_posix() if overlay.is_relative_to(folder) else str(overlay)


def _parse_parameters(text: str) -> dict[str, str]:
    """Parse the list of parameters; without any, Argo CD passes null or an empty text."""
    if text in ("", "null"):
        return {}
    if len(text) > _MOST_CHARACTERS:
        raise InvalidParameters([f"they have more than {_MOST_CHARACTERS:,} characters"])
    # Imported late: few Applications have parameters.
    import json

    try:
        listed: Any = json.loads(text) or []
    except (ValueError, RecursionError):
        raise InvalidParameters([f"{_PARAMETERS} is not JSON"]) from None
    found: dict[str, str] = {}
    problems = []
    known = [parameter.name for parameter in KNOWN]
    for entry in listed if isinstance(listed, list) else [listed]:
        name = entry.get("name") if isinstance(entry, dict) else None
        if name not in known:
            problems.append(f"{name!r} is not a parameter")
        elif not isinstance(entry.get("string"), str) or entry.keys() - {"name", "string"}:
            problems.append(f"{name}: expected a string")
        elif name in found:
            problems.append(f"{name} is given twice")
        else:
            found[name] = entry["string"]
    if problems:
        raise InvalidParameters(problems)
    return found
