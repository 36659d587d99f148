"""A mapping out of a document, read field by field; every problem knows its place and all are reported at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from render.constraints import Constraint, parse_constraint
from render.errors import RenderError
from render.lean import Any
from render.references import PartialSource, Source, parse_dependency_source
from render.yaml.documents import type_name


class Fields:
    """One mapping, its place, and the list that collects what is wrong with it."""

    def __init__(self, value: Any, place: str, problems: list[str]) -> None:
        self._value = value if isinstance(value, dict) else {}
        self._place = place
        self._problems = problems
        if value is not None and not isinstance(value, dict):
            self.complain("", f"expected a mapping, found {type_name(value)}")

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def get(self, key: str) -> Any:
        return self._value.get(key)

    def complain(self, key: str, problem: str) -> None:
        place = f"{self._place}.{key}".strip(".") or "the document"
        self._problems.append(f"{place}: {problem}")

    def mapping(self, key: str) -> "Fields":
        return Fields(self.get(key), f"{self._place}.{key}".strip("."), self._problems)

    def text(self, key: str) -> str:
        value = self.get(key)
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        quotes = "" if isinstance(value, dict | list) else "; write it in quotes"
        self.complain(key, f"expected text, found {type_name(value)}{quotes}")
        return ""

    def texts(self, key: str) -> dict[str, str]:
        reader = self.mapping(key)
        return {name: reader.text(name) for name in reader._value}

    def mappings(self, key: str) -> "list[Fields]":
        place = f"{self._place}.{key}".strip(".")
        items = enumerate(self._list(key))
        return [Fields({} if item is None else item, f"{place}[{i}]", self._problems) for i, item in items]

    def list_of_texts(self, key: str) -> list[str]:
        items = self._list(key)
        for i, item in enumerate(items):
            if not isinstance(item, str):
                self.complain(f"{key}[{i}]", f"expected text, found {type_name(item)}")
        return [item for item in items if isinstance(item, str)]

    def constraint(self, key: str) -> Constraint | None:
        with self._complaints(key):
            return parse_constraint(self.text(key))
        return None

    def source(self, key: str) -> Source | PartialSource | None:
        with self._complaints(key):
            return parse_dependency_source(self.text(key))
        return None

    def source_text(self, text: str, key: str) -> Source | PartialSource | None:
        with self._complaints(key):
            return parse_dependency_source(text)
        return None

    def _list(self, key: str) -> list[Any]:
        value = self.get(key)
        if value is None or isinstance(value, list):
            return value or []
        self.complain(key, f"expected a list, found {type_name(value)}")
        return []

    @contextmanager
    def _complaints(self, key: str) -> Iterator[None]:
        before = len(self._problems)
        try:
            yield
        except RenderError as error:
            # A value of the wrong type was complained about already.
            if len(self._problems) == before:
                self.complain(key, "; ".join([error.what, *error.why]))
