"""The parameters of an Application: settings that change its manifests and not its lock."""

from collections.abc import Mapping
from pathlib import Path

from render.errors import InvalidInput
from render.inputs.projects import Inputs
from render.lean import Any, dataclass, replace
from render.settings import Settings, Waves
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


def read_parameters(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values of parameters: from the Application's parameters, else its env, else the operator."""
    given = _parse_parameters(environ.get(_PARAMETERS, ""))
    found = {}
    for parameter in KNOWN:
        chosen = given.get(parameter.name) or _read_variables(parameter, environ)
        if chosen:
            found[parameter.name] = chosen
    return found


def apply_parameters(inputs: Inputs, chosen: Mapping[str, str]) -> Inputs:
    """Return inputs with the parameters of an Application; a lock records none of them."""
    settings, problems = inputs.settings, []
    if "waves" in chosen:
        if chosen["waves"] in tuple(Waves):
            settings = replace(settings, waves=Waves(chosen["waves"]))
        else:
            problems.append(f"waves: expected {' or '.join(Waves)}, found {chosen['waves']!r}")
    if "overlay" in chosen:
        folder = inputs.folder / chosen["overlay"]
        if Path(chosen["overlay"]).is_absolute() or not is_folder(folder):
            problems.append(f"overlay: {chosen['overlay']!r} is not a folder, relative to the project")
        settings = replace(settings, overlay=folder)
    if problems:
        raise InvalidParameters(problems)
    return replace(inputs, settings=settings)


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
