"""Reading the files of one folder within its budget; a problem with one file does not stop the others."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from render.errors import RenderError, in_one_line
from render.inputs.budget import Budget, FolderTooLarge
from render.inputs.folders import read_inside
from render.inputs.problems import find_conflict
from render.inputs.roots import Document
from render.lean import Any
from render.limits import Limits
from render.system.boundary import Boundary
from render.yaml.documents import Rules, file_rules, iterate_documents

_NOTHING: Mapping[str, bytes | None] = {}


class FolderReader:
    """Reads the files of one folder, within its budget; a problem with a file does not stop the others."""

    def __init__(
        self,
        folder: Path,
        limits: Limits,
        problems: list[str],
        boundary: Boundary | None,
        edited: Mapping[str, bytes | None] = _NOTHING,
    ) -> None:
        self.folder = folder
        self._edited = edited
        self.limits = limits
        self.problems = problems
        self.boundary = boundary
        self.budget = Budget(folder, limits)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file, or None if there is a problem."""
        try:
            data = self._edited.get(name) or read_inside(self.folder / name, self.folder, self.limits)
        except RenderError as error:
            self.problems.append(f"{name}: {in_one_line(error)}")
            return None
        self.budget.take_text(data)
        conflict = find_conflict(data)
        if not conflict:
            return data
        self.problems.append(f"{name}: {conflict}")
        return None

    def parse(self, data: bytes, name: str) -> list[Document]:
        """Return the documents of a file."""
        try:
            values = self.budget.take_values(_parse(data, name, file_rules(self.limits)))
        except FolderTooLarge:
            raise
        except RenderError as error:
            self.problems.append(f"{name}: {in_one_line(error)}")
            return []
        if len(values) == 1:
            return [Document(values[0], name)]
        return [Document(value, f"{name}: document {i}") for i, value in enumerate(values, start=1)]


def _parse(data: bytes, name: str, rules: Rules) -> Iterable[Any]:
    if not name.endswith(".json"):
        return iterate_documents(data, rules)
    # Imported late: few folders have manifests in JSON.
    from render.yaml.json_text import parse_json

    return parse_json(data, rules)
