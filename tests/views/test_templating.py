"""Templates are ours, and say so when a value is missing."""

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from render.views.templating import fill_template


def test_a_value_that_is_missing_is_a_bug_and_no_empty_text() -> None:
    with pytest.raises(UndefinedError, match="subject"):
        fill_template("commit-message.txt.j2", reports=[], trailers=[])


def test_values_are_text_and_never_templates() -> None:
    text = fill_template("commit-message.txt.j2", subject="{{ trailers }} <b>", reports=[], trailers=["A: b"])

    assert text == "{{ trailers }} <b>\n\nA: b\n"


@pytest.mark.parametrize("name", ["../limits.py", "/etc/passwd", "missing"])
def test_only_our_own_templates_are_found(name: str) -> None:
    with pytest.raises(TemplateNotFound):
        fill_template(name)
