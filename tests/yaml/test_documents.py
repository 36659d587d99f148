"""YAML is read as Kubernetes reads it, within bounds, and every problem has its line."""

from typing import Any

import pytest

from render.limits import LimitExceeded, Limits
from render.yaml.documents import (
    InvalidDocument,
    Rules,
    decode_utf8,
    file_rules,
    find_lines,
    identity_rules,
    meta_rules,
    parse_documents,
    parse_first_document,
    type_name,
)

LIMITS = Limits()
META = meta_rules(LIMITS)
FILE = file_rules(LIMITS)
GLANCE = identity_rules(LIMITS, frozenset({"kind", "metadata", "name"}))


def parse(text: str, rules: Rules = FILE) -> Any:
    (document,) = parse_documents(text.encode(), rules)
    return document


class TestScalars:
    @pytest.mark.parametrize("text", ["", "~", "yes", "1", "0x1f", "1.5", ".inf", "2001-01-01", "<<", "v1"])
    @pytest.mark.parametrize("quote", ["'", '"'])
    def test_a_quoted_one_is_text(self, text: str, quote: str) -> None:
        assert parse(f"a: {quote}{text}{quote}") == {"a": text}

    @pytest.mark.parametrize(
        ("text", "value"),
        [("!!str 5", "5"), ("!!int 5", 5), ("!!float 5.5", 5.5), ("!!bool yes", True), ("!!null ~", None)],
    )
    def test_a_core_tag_of_the_users_is_followed(self, text: str, value: Any) -> None:
        assert parse(f"a: {text}") == {"a": value}

    @pytest.mark.parametrize("text", ["a: |\n  5\n", "a: >\n  5\n"])
    def test_a_block_is_text(self, text: str) -> None:
        assert parse(text) == {"a": "5\n"}


class TestMetaRules:
    @pytest.mark.parametrize(
        ("text", "problem", "line"),
        [
            ("a: b\nc: &x d\n", "anchors are not allowed here", 2),
            ("a: b\n\nc: &x {}\n", "anchors are not allowed here", 3),
            ("a: *x\n", "aliases are not allowed here", 1),
            ("a: !!str b\n", "the tag tag:yaml.org,2002:str is not allowed here", 1),
            ("a: !mine b\n", "the tag !mine is not allowed here", 1),
            ("a: !!map {}\n", "the tag tag:yaml.org,2002:map is not allowed here", 1),
            ("a:\n  <<: {b: c}\n", "merge keys are not allowed here", 2),
            ("a: 1\nb: 2\na: 3\n", "the key 'a' stands here a second time", 3),
            ("a: {b: 1, b: 2}\n", "the key 'b' stands here a second time", 1),
            ("{a: b}: c\n", "a key must be a plain text", 1),
            ("? [a]\n: c\n", "a key must be a plain text", 1),
            ("a: [\n", "did not find expected node content", 2),
            ("a: b: c\n", "mapping values are not allowed in this context", 1),
            ("a: \x01\n", "character #x0001 is not allowed in YAML", 1),
            ("ä: ö\nb: \x7f\n", "character #x007f is not allowed in YAML", 2),
            ("a: '\\ud800'\nb: \"\\ud800\"", "found invalid Unicode character escape code", 2),
        ],
    )
    def test_what_could_be_read_in_two_ways_is_refused(self, text: str, problem: str, line: int) -> None:
        with pytest.raises(InvalidDocument) as refused:
            parse(text, META)

        assert (refused.value.problem, refused.value.line) == (problem, line)
        assert str(refused.value).startswith(f"line {line}: ")

    def test_a_quoted_merge_key_is_a_key(self) -> None:
        assert parse("'<<': b", META) == {"<<": "b"}

    def test_depth_is_bounded(self) -> None:
        rules = meta_rules(Limits(meta_depth=3))

        assert parse("[[[]]]", rules) == [[[]]]
        with pytest.raises(InvalidDocument, match=r"deeper than 3 levels \(XPLOCK_LIMIT_META_DEPTH\)"):
            parse("[[[[]]]]", rules)

    def test_a_million_brackets_overflow_nothing(self) -> None:
        with pytest.raises(InvalidDocument, match="deeper"):
            parse_documents(b"[" * 1_000_000, META)

    def test_size_is_bounded(self) -> None:
        rules = meta_rules(Limits(meta_bytes=4))

        assert parse("a: b", rules) == {"a": "b"}
        with pytest.raises(LimitExceeded, match="too large") as refused:
            parse("a: bc", rules)

        assert "XPLOCK_LIMIT_META_BYTES" in refused.value.next[0]
        assert "found 5 bytes" in refused.value.why[0]


class TestFileRules:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("a: &x b\nc: *x\n", {"a": "b", "c": "b"}),
            ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
            ("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
            ("d: {c: 3, <<: {b: 1, c: 2}}\n", {"d": {"b": 1, "c": 3}}),
            ("d: {<<: [{b: 1}, {b: 2, c: 3}]}\n", {"d": {"b": 1, "c": 3}}),
            ("a: &x b\na2: &x c\nd: *x\n", {"a": "b", "a2": "c", "d": "c"}),
            ("a: &x key\n*x : 1\n", {"a": "key", "key": 1}),
            ("1: a\nyes: b\n", {"1": "a", "yes": "b"}),
            ("", None),
        ],
    )
    def test_anchors_and_merges_work(self, text: str, value: Any) -> None:
        assert (parse_documents(text.encode(), FILE) or [None]) == [value]

    @pytest.mark.parametrize(
        "text",
        [
            "a: &a [*a]",
            "a: *b",
            "<<: a",
            "<<: [a]",
            "a: &l [{b: 1}]\n<<: *l",
            "a: 1\na: 2",
            "a: !!binary aGk=",
            "a: !x b",
        ],
    )
    def test_what_makes_no_sense_is_refused(self, text: str) -> None:
        with pytest.raises(InvalidDocument):
            parse(text)

    def test_aliases_are_counted(self) -> None:
        limits = Limits(file_aliases=3)

        assert parse("a: &a 1\nb: [*a, *a, *a]", file_rules(limits))["b"] == [1, 1, 1]
        with pytest.raises(LimitExceeded, match="too many aliases"):
            parse("a: &a 1\nb: [*a, *a, *a, *a]", file_rules(limits))

    @pytest.mark.parametrize("fold", ["[*a{0}, *a{0}, *a{0}]", "{{x: *a{0}, y: *a{0}, z: *a{0}}}"])
    def test_growth_by_aliases_is_counted(self, fold: str) -> None:
        text = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} {fold.format(i - 1)}\n" for i in range(1, 40))

        with pytest.raises(LimitExceeded, match="too many values"):
            parse(text)

    def test_growth_by_merges_is_counted(self) -> None:
        text = "a0: &a0 {x: 1}\n" + "".join(
            f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 40)
        )

        with pytest.raises(LimitExceeded, match="too many values"):
            parse(text)

    def test_values_are_counted(self) -> None:
        with pytest.raises(LimitExceeded, match="too many values"):
            parse(f"[{'a,' * 20}]", file_rules(Limits(file_nodes=20)))

    def test_every_document_of_a_stream_is_read(self) -> None:
        assert parse_documents(b"a: &x 1\n---\nb: 2\n---\n", FILE) == [{"a": 1}, {"b": 2}, None]

    def test_an_anchor_ends_with_its_document(self) -> None:
        with pytest.raises(InvalidDocument, match=r"alias \*x has no value yet") as refused:
            parse_documents(b"a: &x 1\n---\nb: *x\n", FILE)

        assert refused.value.line == 3


class TestGlanceRules:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("kind: a\nspec: {kind: b}\n", {"kind": "a"}),
            ("metadata: {name: a, labels: {name: b}}\n", {"metadata": {"name": "a"}}),
            ("kind: a\nkind: b\n", {"kind": "b"}),
            ("kind: [a, b]\n", {"kind": []}),
            ("kind: a\n...\nkind: {\n", {"kind": "a"}),
            ("x: &x {kind: a, spec: b}\n<<: *x\n", {"kind": "a"}),
        ],
    )
    def test_only_what_was_asked_for_is_kept(self, text: str, value: Any) -> None:
        assert parse_first_document(text.encode(), GLANCE) == value

    def test_a_tag_leaves_no_text(self) -> None:
        found = parse_first_document(b"kind: !!binary aGk=\nname: !x y\n", GLANCE)

        assert not isinstance(found["kind"], str)
        assert not isinstance(found["name"], str)

    def test_values_and_anchors_are_counted(self) -> None:
        few = identity_rules(Limits(document_nodes=10, file_nodes=10), frozenset({"kind"}))

        with pytest.raises(LimitExceeded, match="too many values"):
            parse_first_document(b"x: [1, 2, 3, 4, 5, 6, 7, 8, 9]", few)
        with pytest.raises(LimitExceeded, match="too many anchors"):
            parse_first_document(
                b"[" + b"".join(b"&a%d x," % i for i in range(11)) + b"]",
                identity_rules(Limits(file_nodes=10), frozenset()),
            )

    def test_aliases_do_not_grow(self) -> None:
        text = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 200))

        assert parse_first_document(f"{text}kind: a\n".encode(), GLANCE) == {"kind": "a"}


class TestText:
    def test_a_byte_order_mark_is_dropped(self) -> None:
        assert decode_utf8(b"\xef\xbb\xbfa") == "a"

    @pytest.mark.parametrize(("data", "line"), [(b"\xff", 1), (b"a\nb\n\xc3", 3), (b"a\r\n\xe9\r\n", 2)])
    def test_what_is_not_utf_8_has_its_line(self, data: bytes, line: int) -> None:
        with pytest.raises(InvalidDocument, match="is not UTF-8") as refused:
            decode_utf8(data)

        assert refused.value.line == line

    @pytest.mark.parametrize(
        ("value", "name"),
        [
            ({}, "a mapping"),
            ([], "a list"),
            ("", "text"),
            (True, "true or false"),
            (1, "a number"),
            (1.0, "a number"),
            (None, "nothing"),
        ],
    )
    def test_types_have_names(self, value: Any, name: str) -> None:
        assert type_name(value) == name


class TestLines:
    TEXT = b"a:\n  b:\n  - x\n  - y: 1\n    z: [1,\n       2]\nc: 3\n---\n- q\n"

    @pytest.mark.parametrize(
        ("place", "line"),
        [
            ((0,), 1),
            ((0, "a"), 1),
            ((0, "a", "b"), 2),
            ((0, "a", "b", 0), 3),
            ((0, "a", "b", 1), 4),
            ((0, "a", "b", 1, "z"), 5),
            ((0, "a", "b", 1, "z", 1), 6),
            ((0, "c"), 7),
            ((1,), 9),
            ((1, 0), 9),
        ],
    )
    def test_a_value_is_found_where_its_key_or_item_stands(
        self, place: tuple[int | str, ...], line: int
    ) -> None:
        assert find_lines(self.TEXT, {place}) == {place: line}

    def test_a_place_that_is_not_there_has_no_line(self) -> None:
        assert find_lines(self.TEXT, {(0, "x"), (2,), (0, "a", "b", 2)}) == {}


class TestPlainText:
    """What needs no parser is held to the same rules."""

    TEXT = "a:\n- b:\n    c: d\n"

    def test_it_may_be_as_deep_as_anything_else(self) -> None:
        depth = {"file_depth": 4, "meta_depth": 4}

        assert parse(self.TEXT, file_rules(Limits(**depth))) == parse(self.TEXT, meta_rules(Limits(**depth)))
        for rules in (file_rules(Limits(file_depth=3)), meta_rules(Limits(meta_depth=3))):
            with pytest.raises(InvalidDocument, match="line 3: nested deeper than 3 levels"):
                parse(self.TEXT, rules)

    def test_it_may_hold_as_many_values_as_anything_else(self) -> None:
        assert parse(self.TEXT, file_rules(Limits(file_nodes=8))) == {"a": [{"b": {"c": "d"}}]}
        with pytest.raises(LimitExceeded, match="too many values"):
            parse(self.TEXT, file_rules(Limits(file_nodes=7)))

    def test_it_may_be_as_long_as_anything_else(self) -> None:
        with pytest.raises(LimitExceeded, match="too large"):
            parse(self.TEXT, file_rules(Limits(file_bytes=len(self.TEXT) - 1)))

    def test_at_a_glance_only_what_matters_is_kept(self) -> None:
        assert parse("kind: a\nspec: b\nmetadata:\n  name: c\n", GLANCE) == {
            "kind": "a",
            "metadata": {"name": "c"},
        }
