"""What an Application may choose about its manifests: only what every reader of the lock renders alike."""

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
    """One choice: its name in an Application, the variable of the same meaning, and how it is announced."""

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
    """Parameters of an Application that cannot be obeyed."""

    def __init__(self, why: list[str]) -> None:
        super().__init__(
            "the Application's plugin parameters cannot be used",
            why=why,
            next=f"the parameters are {', '.join(parameter.name for parameter in KNOWN)}, each a string",
        )


def read_parameters(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what was chosen: by parameters, else by the Application's env, else by the operator."""
    given = _parse_parameters(environ.get(_PARAMETERS, ""))
    found = {}
    for parameter in KNOWN:
        chosen = given.get(parameter.name) or _read_variables(parameter, environ)
        if chosen:
            found[parameter.name] = chosen
    return found


def apply_parameters(inputs: Inputs, chosen: Mapping[str, str]) -> Inputs:
    """Return inputs as an Application wants them; nothing of this is recorded in a lock."""
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
    """Return the announcement that Argo CD shows; the values are those that hold without any parameter."""
    # Whoever asks for manifests alone pays for none of this.
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
    """Return what the Application's env says, else the operator's."""
    name = parameter.variable
    return environ.get(f"{_TENANT_PREFIX}{name}") or environ.get(name, "")


def _relative(overlay: Path, folder: Path) -> str:
    return overlay.relative_to(folder).as_posix() if overlay.is_relative_to(folder) else str(overlay)


def _parse_parameters(text: str) -> dict[str, str]:
    """Parse a list of parameters; without any, Argo CD says null or nothing."""
    if text in ("", "null"):
        return {}
    if len(text) > _MOST_CHARACTERS:
        raise InvalidParameters([f"they have more than {_MOST_CHARACTERS:,} characters"])
    # Few Applications choose anything.
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
