"""Keys of rules: in the Secrets of a folder, or in files that the user names instead."""

import base64
import binascii

from render.lean import TYPE_CHECKING, Any, dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, order=True)
class SecretKey:
    """A key of a Secret, in Crossplane's namespace."""

    secret: str
    key: str

    def __str__(self) -> str:
        return f"{self.secret}/{self.key}"


@dataclass(frozen=True, slots=True)
class Keyring:
    """The texts of public keys by where rules look for them."""

    texts: "Mapping[SecretKey, frozenset[str]]" = field(default_factory=dict)

    def find(self, name: SecretKey) -> str | None:
        """Return the text of a key; None if there is none, or if there are several."""
        found = self.texts.get(name, frozenset())
        return next(iter(found)) if len(found) == 1 else None

    def has_several(self, name: SecretKey) -> bool:
        """Return whether Secrets of several namespaces disagree."""
        return len(self.texts.get(name, ())) > 1

    def replaced_by(self, given: "Mapping[SecretKey, str]") -> "Keyring":
        """Return a keyring in which some keys come from the user."""
        return Keyring({**self.texts, **{name: frozenset({text}) for name, text in given.items()}})


def read_keyring(objects: "Iterable[Mapping[str, Any]]") -> Keyring:
    """Return the keys in all Secrets among some objects."""
    found: dict[SecretKey, set[str]] = {}
    for value in objects:
        if (value.get("apiVersion"), value.get("kind")) == ("v1", "Secret"):
            name = str(_mapping(value.get("metadata")).get("name"))
            for key, text in _texts(value).items():
                found.setdefault(SecretKey(name, key), set()).add(text)
    return Keyring({name: frozenset(texts) for name, texts in found.items()})


def _texts(value: "Mapping[str, Any]") -> "dict[str, str]":
    decoded = {key: _decode(text) for key, text in _mapping(value.get("data")).items()}
    # A cluster puts this on top.
    plain = {key: text for key, text in _mapping(value.get("stringData")).items() if isinstance(text, str)}
    return {**{key: text for key, text in decoded.items() if text}, **plain}


def _decode(text: Any) -> str:
    try:
        return base64.b64decode(str(text), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _mapping(value: Any) -> "Mapping[str, Any]":
    return value if isinstance(value, dict) else {}
