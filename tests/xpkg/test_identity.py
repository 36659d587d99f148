"""The quick search finds the same apiVersion, kind and name as the YAML parser."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st
from rig.properties import examples

from render.limits import Limits
from render.packages import PackagedObject
from render.xpkg import identity as identity_module
from render.xpkg.identity import identify
from render.yaml.documents import InvalidDocument
from render.yaml.scalars import parse_plain_scalar

LIMITS = Limits()
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER: Any = yaml.resolver.Resolver()


class _Different(Exception):
    """The reference cannot tell."""


def reference_identity(text: str) -> PackagedObject | None:
    """Tell a document's identity by PyYAML's composer: duplicates and merges as go-yaml takes them, in their order.

    Nothing of it is shared with the code under test but the table of plain scalars, which has tests of its own.
    """
    try:
        root = next(iter(yaml.compose_all(text, Loader=_LOADER)), None)
        top = _pairs(root)
        described = top.get("metadata")
        name = _pairs(described).get("name") if described is not None and not _is_null(described) else None
        texts = [_text(top.get("apiVersion")), _text(top.get("kind"))]
        texts.append("" if name is None or _is_null(name) else _text(name))
    except yaml.composer.ComposerError as error:
        # An anchor may be set twice, by the specification and to go-yaml; PyYAML's composer disagrees.
        assume("duplicate anchor" not in str(error))
        return None
    except (yaml.YAMLError, _Different):
        return None
    return PackagedObject(*texts)


def _pairs(node: Any) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        raise _Different
    found: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Different
        if key.tag == "tag:yaml.org,2002:merge":
            merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for mapping in reversed(merged):
                found |= _pairs(mapping)
        else:
            found[key.value] = value
    return found


def _is_null(node: Any) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.style and parse_plain_scalar(node.value) is None


def _text(node: Any) -> str:
    if not isinstance(node, yaml.ScalarNode) or re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", node.value):
        raise _Different
    implied = _RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False))
    if node.tag != implied and node.tag == "tag:yaml.org,2002:str":
        # A tag says so, or quotes do.
        return str(node.value)
    if not node.style and not isinstance(parse_plain_scalar(node.value), str):
        raise _Different
    return str(node.value)


def identity(text: str) -> PackagedObject | None:
    try:
        return identify(b"\n" + text.encode(), LIMITS)
    except InvalidDocument:
        return None


def is_found_quickly(text: str) -> bool:
    return identity_module._search_identity(b"\n" + text.encode()) is not None


NAMES = [
    "x",
    "a.b",
    '"q"',
    "'s'",
    "123",
    "no",
    "~",
    "1e3",
    "x # c",
    "x: y",
    "- x",
    "&n x",
    "!!str 1",
    "|-\n    b",
    "",
]
KEYS = [
    "apiVersion",
    "kind",
    "metadata",
    '"kind"',
    "'apiVersion'",
    "? kind\n",
    "!!str kind",
    "spec",
    "<<",
    'a"b',
    "k ",
]
OTHER_KEYS = ["spec", "status", 'spec:\n  a"b', "spec:\n  x- 'b", "kind"]
VALUES = [
    "v1",
    "K",
    '"v1"',
    "'K'",
    "&a K",
    "*a",
    "{name: f}",
    "[a, b]",
    "{}",
    "|\n  kind: Evil\n",
    '"\nkind: Evil\n  "',
    "'\nmetadata:\n  name: evil\n'",
    "{a: b,\nkind: Evil}",
    "[a,\nkind: Evil]",
    "a\n  b",
    "a\n\n  kind: Evil",
    '"',
    "'",
    "",
    "!!str 1",
    "&m\n  name: m",
    "*m",
    "K # it's",
    'K "quoted"',
    "x\u2028kind: Evil",
    "x\u0085kind: Evil",
]
CHILDREN = [
    '  annotations:\n    a"b: "\n  name: fake\n  x: y\n    " # "\n',
    "  annotations:\n    x- 'b: '\n  name: fake\n    '\n",
    "  name: {n}\n",
    "  name: {n}\n  name: second\n",
    "  labels:\n    name: fake\n",
    "  annotations:\n    a: |\n      name: fake\n",
    '  annotations:\n    a: "\n  name: fake\n  "\n',
    '  annotations:\n    a: "\nfoo:\n    "\n',
    '  a"b: "\n  name: fake\n  "\n',
    "  annotations: {name: fake}\n",
    "  'name': {n}\n",
    "  ? name\n  : {n}\n",
    "   name: {n}\n",
    "\tname: {n}\n",
    "  # name: fake\n",
    "# name: fake\n",
    "\n",
    "  - name: fake\n",
    "  <<: {name: merged}\n",
    "  <<: [{name: first}, {name: second}]\n",
    "  name:\n    {n}\n",
]


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = []
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=6)):
        if key == "metadata" and draw(st.booleans()):
            children = draw(st.lists(st.sampled_from(CHILDREN), min_size=1, max_size=4))
            parts.append(
                "metadata:\n" + "".join(c.replace("{n}", draw(st.sampled_from(NAMES))) for c in children)
            )
        else:
            parts.append(f"{key}: {draw(st.sampled_from(VALUES))}\n")
    return draw(st.sampled_from(["", "# c\n", "\n", "  \n"])) + "".join(parts)


@st.composite
def proper_documents(draw: st.DrawFn) -> str:
    """Nearly plain documents, most of them good for the quick search."""
    values = st.sampled_from(["K"] * 40 + VALUES)
    names = st.sampled_from(["x"] * 20 + NAMES)
    children = draw(st.lists(st.sampled_from(["  name: {n}\n"] * 8 + CHILDREN), min_size=1, max_size=3))
    parts = [
        f"apiVersion: {draw(values)}\n",
        f"kind: {draw(values)}\n",
        "metadata:\n" + "".join(child.replace("{n}", draw(names)) for child in children),
        *[f"{draw(st.sampled_from(OTHER_KEYS))}: {draw(values)}\n" for _ in range(draw(st.integers(0, 2)))],
    ]
    return "".join(draw(st.permutations(parts)))


HEAD = "apiVersion: v1\nkind: K\n"
PLAIN = [
    HEAD + "metadata:\n  name: x\n",
    HEAD + "metadata:\n  name: x",
    HEAD + "metadata:\n  annotations:\n    a: b\n  name: x\nspec:\n  a: [\n",
    HEAD + "metadata:\n  name: 'x'\n  labels: {}\nspec: \"\nfoo: bar\n  \"\n",
    "# comment\n\nkind: K # c\nspec:\n- a\n- b\nmetadata:\n    name: x\napiVersion: v1\n",
    HEAD + "metadata:\n  labels:\n    name: y\n  name: x\n",
    HEAD + "metadata:\n  annotations:\n    a: 'it is'\n  name: x\nspec: |\n  \"\n",
]
ATTACKS = {
    "a fake kind in a quoted text": 'apiVersion: v1\na: "\nkind: Evil\n"\nmetadata:\n  name: x\n"kind": K\n',
    "a fake name in an annotation": HEAD + 'metadata:\n  annotations:\n    a: "\n  name: evil\n    "\n  name: x\n',
    "a second name behind a fake end": HEAD + 'metadata:\n  name: evil\n  a:\n    b: "\nc:\n      "\n  name: x\n',
    "a quote that seems to close": HEAD + 'metadata:\n  a"b: "\n  name: evil\n  "\n  \'name\': x\n',
    "a quote that seems to close an item": HEAD + "metadata:\n  x- 'b: '\n  name: evil\n  '\n  'name': x\n",
    "a complex key": "apiVersion: v1\n? kind\n: K\nmetadata:\n  name: x\n",
    "a tagged key": "apiVersion: v1\n!!str kind: K\nmetadata:\n  name: x\n",
    "a quoted key": 'apiVersion: v1\n"kind": K\nmetadata:\n  name: x\n',
    "the last of two keys": "kind: Evil\n" + HEAD + "metadata:\n  name: x\n",
    "the last of two, one quoted": "kind: Evil\napiVersion: v1\n'kind': K\nmetadata:\n  name: x\n",
    "the last of two names": HEAD + "metadata:\n  name: evil\n  name: x\n",
    "the last metadata": HEAD + "metadata:\n  name: evil\nmetadata:\n  name: x\n",
    "a flow mapping": "{apiVersion: v1, kind: K, metadata: {name: x}}",
    "JSON": '{"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}}',
    "JSON with fakes": '{"a": "\\nkind: Evil\\n", "apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}}',
    "a flow mapping over lines": "a: {b: c,\nkind: Evil}\napiVersion: v1\nmetadata: {name: x}\n'kind': K\n",
    "an alias": "a: &a K\napiVersion: v1\nkind: *a\nmetadata:\n  name: x\n",
    "an alias as a key": "a: &a kind\napiVersion: v1\n*a : K\nmetadata:\n  name: x\n",
    "an alias for all metadata": HEAD + "spec: &m\n  name: x\nmetadata: *m\n",
    "a merge": "a: &a {kind: K}\n<<: *a\napiVersion: v1\nmetadata:\n  name: x\n",
    "a merge behind the key wins": "apiVersion: v1\nkind: Evil\n<<: {kind: K}\nmetadata:\n  name: x\n",
    "a merge before the key loses": "apiVersion: v1\n<<: {kind: Evil}\nkind: K\nmetadata:\n  name: x\n",
    "of two merges the second wins": "apiVersion: v1\n<<: {kind: Evil}\n<<: {kind: K}\nmetadata:\n  name: x\n",
    "of a merged list the first wins": "apiVersion: v1\n<<: [{kind: K}, {kind: Evil}]\nmetadata:\n  name: x\n",
    "a deep merge": "<<: [{<<: {<<: {metadata: {name: x}}}}]\n" + HEAD,
    "a merge in metadata": HEAD + "metadata:\n  name: evil\n  <<: {name: x}\n",
    "the other breaks of YAML 1.1": "apiVersion: v1\nkind: Evil\nmetadata:\n  name: x\na: b\u2028kind: K\n",
    "lone carriage returns": "apiVersion: v1\rkind: K\rmetadata:\r  name: x\r",
    "CRLF": "apiVersion: v1\r\nkind: K\r\nmetadata:\r\n  name: x\r\n",
    "the end of the document": HEAD + "metadata:\n  name: x\n...\nkind: Evil\n",
    "a directive": "%YAML 1.1\n---\n" + HEAD + "metadata:\n  name: x\n",
    "all of it indented": "  apiVersion: v1\n  kind: K\n  metadata:\n    name: x\n",
    "an explicit indentation": HEAD + "a: |1\n kind: Evil\nmetadata:\n  name: x\n",
    "a value on the next line": "apiVersion:\n  v1\nkind:\n  K\nmetadata:\n  name:\n    x\n",
    "metadata as a tag and a mapping": HEAD + "metadata: !!map\n  name: x\n",
    "a tab for a blank": "apiVersion:\tv1\nkind:\tK\nmetadata:\t\n  name:\tx\n",
}  # fmt: skip
REFUSED = {
    "no mapping": "- a\n",
    "nothing": "~\n",
    "no kind": "apiVersion: v1\nmetadata:\n  name: x\n",
    "a kind only in a quoted text": 'apiVersion: v1\na: "\nkind: Evil\n"\nmetadata:\n  name: x\n',
    "a kind behind a quote that seems to close": (
        'apiVersion: v1\nspec:\n  a"b: "\nkind: Evil\n  "\nmetadata:\n  name: x\n'
    ),
    "a kind that is a number": "apiVersion: v1\nkind: 5\nmetadata:\n  name: x\n",
    "a kind that is a truth value": "apiVersion: v1\nkind: yes\nmetadata:\n  name: x\n",
    "a kind that is nothing": "apiVersion: v1\nkind: ~\nmetadata:\n  name: x\n",
    "a version that is a list": "apiVersion: [v1]\nkind: K\nmetadata:\n  name: x\n",
    "a name that is a number": HEAD + "metadata:\n  name: 1.10\n",
    "a name that is a mapping": HEAD + "metadata:\n  name: {a: b}\n",
    "metadata that is text": HEAD + "metadata: x\n",
    "metadata that is a list": HEAD + "metadata: [{name: x}]\n",
    "a merge of text": HEAD + "<<: x\nmetadata:\n  name: x\n",
    "a merge of a list by alias": HEAD + "a: &a [{kind: E}]\n<<: *a\nmetadata:\n  name: x\n",
    "a list as a key": HEAD + "[a]: b\nmetadata:\n  name: x\n",
    "an alias of nothing": HEAD + "a: *b\n",
    "binary text": "apiVersion: v1\nkind: !!binary Sw==\nmetadata:\n  name: x\n",
    "a binary key": HEAD + "!!binary a2luZA==: Evil\nmetadata:\n  name: x\n",
    "two roots": "- a\n" + HEAD + "metadata:\n  name: x\n",
}


class TestIdentity:
    @pytest.mark.parametrize("text", PLAIN)
    def test_a_plain_document_needs_only_the_quick_search(self, text: str) -> None:
        assert is_found_quickly(text)
        assert identity(text) == PackagedObject("v1", "K", "x")

    @pytest.mark.parametrize("attack", ATTACKS)
    def test_an_odd_document_is_read_as_the_parser_reads_it(self, attack: str) -> None:
        assert identity(ATTACKS[attack]) == PackagedObject("v1", "K", "x")

    @pytest.mark.parametrize("name", REFUSED)
    def test_what_crossplane_cannot_decode_is_refused(self, name: str) -> None:
        with pytest.raises(InvalidDocument):
            identify(b"\n" + REFUSED[name].encode(), LIMITS)

    @pytest.mark.parametrize("metadata", ["", "metadata:\n", "metadata: {}\n", "metadata:\n  name: ~\n"])
    def test_a_name_may_be_missing(self, metadata: str) -> None:
        assert identity(HEAD + metadata) == PackagedObject("v1", "K", "")

    @pytest.mark.parametrize(
        ("opening", "closing"),
        [
            ('a"b: "', '" # "'),
            ("x- 'b: '", "' # '"),
            ('a"b: "', '"'),
            ('a: "', '" # "'),
            ("a: {b: c,", "}"),
            ("- [a,", "]"),
        ],
    )
    def test_a_name_in_a_text_of_several_lines_is_no_name(self, opening: str, closing: str) -> None:
        lines = ["  name: evil," if closing in "}]" else "  name: evil", "  x: y", f"    {closing}", ""]
        text = f"{HEAD}metadata:\n  annotations:\n    {opening}\n" + "\n".join(lines)

        found = identity(text)

        assert found == reference_identity(text) == PackagedObject("v1", "K", "")

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("apiVersion: v1\nkind: K\n  more\nmetadata:\n  name: x\n", PackagedObject("v1", "K more", "x")),
            ("apiVersion: v1\nkind: K\nmetadata:\n  name: x\n\n   y\n", PackagedObject("v1", "K", "x\ny")),
        ],
    )
    def test_a_value_may_go_on(self, text: str, found: PackagedObject) -> None:
        assert identity(text) in (found, None)
        assert not is_found_quickly(text)

    @examples(1000)
    @given(documents() | proper_documents())
    @example(ATTACKS["a second name behind a fake end"])
    @example(ATTACKS["a quote that seems to close"])
    def test_the_quick_search_and_the_parser_never_differ(self, text: str) -> None:
        expected = reference_identity(text)

        found = identity(text)

        # The quick search does not read to the end, so it accepts what is no YAML further down.
        if expected is not None or not is_found_quickly(text):
            assert found == expected

    @examples(300)
    @given(
        st.dictionaries(
            st.sampled_from(["apiVersion", "kind", "spec", "status"]),
            st.sampled_from(
                ["v1", "K", "it's", 'say "x"', "a\nkind: Evil\n", "- x", "{", "[", "# no", "yes", "1"]
            )
            | st.dictionaries(st.sampled_from(["kind", "name"]), st.text(max_size=5)),
        ),
        st.dictionaries(
            st.sampled_from(["name", "labels", "namespace"]),
            st.sampled_from(["x", "a\n  name: evil\n", "'", '"', "x.y", "-", "no"]),
        ),
        st.booleans(),
        st.sampled_from([None, '"', "'", "|"]),
        st.sampled_from([10, 1000]),
    )
    def test_what_pyyaml_writes_is_read_back(
        self, top: dict[str, Any], described: dict[str, str], flow: bool, style: str | None, width: int
    ) -> None:
        document = {**top, "metadata": described}
        text = yaml.safe_dump(
            document, sort_keys=False, default_flow_style=flow, default_style=style, width=width
        )

        found = identity(text)

        assert found == reference_identity(text)


def test_up_to_a_hundred_keys_are_searched_and_more_are_parsed() -> None:
    few = HEAD + "metadata:\n  name: x\n" + "".join(f"k{i}:\n" for i in range(50))
    many = few + "".join(f"m{i}:\n" for i in range(100))

    assert is_found_quickly(few)
    assert not is_found_quickly(many)
    assert identity(many) == PackagedObject("v1", "K", "x")
