"""YAML → plain values, without its traps: bounded, typed as Kubernetes types it, each error with its line."""

from collections.abc import Collection, Iterable, Iterator

from render.errors import UnusableContent
from render.lean import Any, TypeAlias, dataclass
from render.limits import LimitExceeded, Limits
from render.yaml.plain import parse_plain

_TYPES = {
    dict: "a mapping",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
}
# The place of a value: keys and indexes from the top; in a stream, the index of the document comes first.
Place: TypeAlias = tuple[int | str, ...]
_MOST_PLAIN_NODES = 4_000_000
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Rules:
    """What a document may contain."""

    limits: Limits
    size: str  # names of limits, so that an error can name them
    depth: str
    aliases: bool
    # None: the whole tree is kept, and everything unusual is an error. A set of keys: only their values are kept,
    # and only below mappings of these keys; tags and repeated keys, which other readers accept, are accepted.
    only: frozenset[str] | None = None
    merges: bool = True
    # None: the size bounds the values.
    nodes: str | None = None


def meta_rules(limits: Limits) -> Rules:
    """Return the rules for text out of a package: nothing that two parsers could read differently."""
    return Rules(limits, size="meta_bytes", depth="meta_depth", aliases=False)


def file_rules(limits: Limits) -> Rules:
    """Return the rules for the user's own files, which may have anchors and aliases."""
    return Rules(limits, size="file_bytes", depth="file_depth", aliases=True, nodes="file_nodes")


def kustomization_rules(limits: Limits) -> Rules:
    """Return the rules for a kustomization: kustomize gives the keys of a merge another precedence than we do."""
    return Rules(
        limits, size="file_bytes", depth="file_depth", aliases=True, merges=False, nodes="file_nodes"
    )


def lock_rules(limits: Limits) -> Rules:
    """Return the rules for a lock, which may be large: nothing that two parsers could read differently."""
    return Rules(limits, size="lock_bytes", depth="file_depth", aliases=False, nodes="lock_nodes")


def identity_rules(limits: Limits, only: frozenset[str]) -> Rules:
    """Return the rules for a document of a package, where only the values of a few keys matter."""
    return Rules(
        limits, size="document_bytes", depth="document_depth", aliases=True, only=only, nodes="document_nodes"
    )


def definition_rules(limits: Limits) -> Rules:
    """Return the rules for a whole definition of a package."""
    return Rules(limits, size="document_bytes", depth="document_depth", aliases=True, nodes="document_nodes")


class InvalidDocument(UnusableContent):
    """YAML or JSON that is invalid, or not allowed by the rules."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(f"line {line}: {problem}", next="correct it there")
        self.problem = problem
        self.line = line


def parse_documents(data: bytes, rules: Rules) -> list[Any]:
    """Parse every document of a YAML stream into dict, list, str, int, float, bool and None."""
    return list(iterate_documents(data, rules))


def iterate_documents(data: bytes, rules: Rules) -> Iterable[Any]:
    """Return the documents of a YAML stream, of a large one each as soon as its end is read."""
    text = _checked_text(data, rules)
    documents = _parse_plain(text, rules)
    return _parse_fully(text, rules) if documents is None else documents


def parse_first_document(data: bytes, rules: Rules) -> Any:
    """Parse a YAML stream up to the end of its first document, as Kubernetes does."""
    return next(_parse_fully(_checked_text(data, rules), rules), None)


def decode_utf8(data: bytes) -> str:
    """Decode UTF-8; the error has the line."""
    try:
        return data.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidDocument(f"byte 0x{data[error.start]:02x} is not UTF-8", line) from None


def find_lines(data: bytes, places: Collection[Place]) -> dict[Place, int]:
    """Return the lines of some values of a stream, by their places."""
    # Only error paths get here, so the slow parser is fine.
    from render.yaml import libyaml

    return libyaml.find_lines(decode_utf8(data), places)


def cut_document(data: bytes, index: int) -> bytes:
    """Return a stream without one of its documents; every other byte stays."""
    # Only edits get here, so the slow parser is fine.
    from render.yaml import libyaml

    text = decode_utf8(data)
    lines = text.splitlines(keepends=True)
    # What stands before the first marker belongs to the first document.
    starts = [0, *libyaml.document_lines(text)[1:], len(lines)]
    return "".join(lines[: starts[index]] + lines[starts[index + 1] :]).encode()


def type_name(value: Any) -> str:
    """Return the type of a parsed value in words."""
    return _TYPES.get(type(value), "nothing")


def _checked_text(data: bytes, rules: Rules) -> str:
    limits = rules.limits
    if len(data) > getattr(limits, rules.size):
        raise LimitExceeded("a YAML document is too large", rules.size, limits, found=f"{len(data):,} bytes")
    return decode_utf8(data)


def _parse_plain(text: str, rules: Rules) -> list[Any] | None:
    if rules.only is not None:
        return None
    limits = rules.limits
    # Where the size of the text bounds the values, this bound is for the memory that the lines take.
    most = getattr(limits, rules.nodes) if rules.nodes else _MOST_PLAIN_NODES
    return parse_plain(text, depth=getattr(limits, rules.depth), nodes=most)


def _parse_fully(text: str, rules: Rules) -> Iterator[Any]:
    # Importing a YAML parser takes longer than reading most files without one.
    from render.yaml.libyaml import parse_stream

    return parse_stream(text, rules)
