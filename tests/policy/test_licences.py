"""SPDX expressions: what real packages say, and when allowed licences are enough for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from render.policy.licences import (
    InvalidLicence,
    is_allowed,
    licences_in,
    parse_expression,
    parse_licence,
    said_licence,
)


def allows(text: str, *allowed: str) -> bool:
    return is_allowed(parse_expression(text), [parse_licence(one) for one in allowed])


@pytest.mark.parametrize(
    ("text", "allowed", "expected"),
    [
        ("Apache-2.0", ["Apache-2.0"], True),
        ("apache-2.0", ["Apache-2.0"], True),
        ("Apache-2.0", ["MIT"], False),
        ("MPL-2.0 OR Apache-2.0", ["Apache-2.0"], True),
        ("MPL-2.0 or Apache-2.0", ["Apache-2.0"], True),
        ("MPL-2.0 AND Apache-2.0", ["Apache-2.0"], False),
        ("MPL-2.0 AND Apache-2.0", ["Apache-2.0", "MPL-2.0"], True),
        # AND binds more closely than OR.
        ("MIT OR BUSL-1.1 AND Apache-2.0", ["MIT"], True),
        ("(MIT OR BUSL-1.1) AND Apache-2.0", ["MIT"], False),
        ("(MIT OR BUSL-1.1) AND Apache-2.0", ["MIT", "Apache-2.0"], True),
        ("((Apache-2.0))", ["Apache-2.0"], True),
        # An exception is a part of its licence: the operator has read that pair, or has not.
        ("Apache-2.0 WITH LLVM-exception", ["Apache-2.0"], False),
        ("Apache-2.0 WITH LLVM-exception", ["Apache-2.0 WITH LLVM-exception"], True),
        ("Apache-2.0", ["Apache-2.0 WITH LLVM-exception"], False),
        # "Or later" includes the version that is named, but not the other way round.
        ("Apache-2.0+", ["Apache-2.0"], True),
        ("Apache-2.0", ["Apache-2.0+"], False),
        ("GPL-2.0-or-later", ["GPL-2.0-only"], True),
        ("GPL-2.0-or-later", ["GPL-2.0+"], True),
        ("GPL-2.0", ["GPL-2.0-only"], True),
        ("GPL-2.0-only", ["GPL-2.0-or-later"], False),
        (
            "GPL-2.0-or-later WITH Classpath-exception-2.0",
            ["GPL-2.0-only WITH Classpath-exception-2.0"],
            True,
        ),
        ("LicenseRef-Acme", ["LicenseRef-Acme"], True),
        ("DocumentRef-spdx:LicenseRef-Acme", ["LicenseRef-Acme"], False),
    ],
)
def test_allowed_licences_are_enough_or_not(text: str, allowed: list[str], expected: bool) -> None:
    assert allows(text, *allowed) is expected


@pytest.mark.parametrize(
    "text",
    [
        "Apache 2.0", "Apache License, Version 2.0", "MIT/Apache-2.0", "MIT OR", "AND MIT", "(MIT", "MIT)", "()", "",
        "MIT WITH", "WITH MIT", "MIT Or Apache-2.0", "MIT ++", "MIT WITH GPL-2.0+", "https://example.org/licence",
        "OR", "MIT+ +", "(" * 21 + "MIT" + ")" * 21, "MIT " * 200,
    ],
)  # fmt: skip
def test_nonsense_is_no_expression(text: str) -> None:
    with pytest.raises(InvalidLicence) as caught:
        parse_expression(text)

    assert caught.value.why
    assert caught.value.next


@pytest.mark.parametrize("text", ["MIT OR Apache-2.0", "MIT AND MIT", "(MIT OR BSD-2-Clause)"])
def test_an_entry_is_a_single_licence(text: str) -> None:
    with pytest.raises(InvalidLicence, match=r"SPDX"):
        parse_licence(text)


@pytest.mark.parametrize(
    "text", [None, "", "  ", "NOASSERTION", "none", "Unknown", "MIT\x1b[2J", "MIT\n", "x" * 513]
)
def test_what_says_nothing_or_cannot_be_shown_is_nothing(text: str | None) -> None:
    expected = "MIT" if text == "MIT\n" else None

    assert said_licence(text) == expected


NAMES = st.sampled_from(["MIT", "Apache-2.0", "MPL-2.0", "BUSL-1.1", "GPL-2.0-or-later", "Apache-2.0+"])
EXPRESSIONS = st.recursive(
    NAMES,
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda t: f"({' '.join(t)})"),
    max_leaves=8,
)


@given(EXPRESSIONS, st.sets(NAMES), NAMES)
def test_one_more_allowed_licence_never_refuses_what_was_allowed(
    text: str, allowed: set[str], more: str
) -> None:
    assert allows(text, *allowed) <= allows(text, *allowed, more)


@given(EXPRESSIONS)
def test_all_licences_of_an_expression_are_enough_and_none_is_not(text: str) -> None:
    expression = parse_expression(text)

    assert is_allowed(expression, licences_in(expression))
    assert not is_allowed(expression, [])


@given(st.text(alphabet="MIT()+ ANDORWITH-.2", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse_expression(text)
    except InvalidLicence:
        return
    assert parse_expression(f"({text})")
