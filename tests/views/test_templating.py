"""Templates are ours, and say so when a value is missing."""

import pytest
from jinja2 import DictLoader, TemplateNotFound, UndefinedError

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


@pytest.mark.parametrize("ending", ["html", "svg", "xml"])
def test_values_in_a_page_are_escaped(ending: str) -> None:
    page = DictLoader({f"page.{ending}.j2": '<p title="{{ text }}">{{ text }}</p>'})

    text = fill_template(f"page.{ending}.j2", page, text="\"><script>alert('x')</script>")

    assert text == (
        '<p title="&#34;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;">'
        "&#34;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;</p>"
    )


@pytest.mark.parametrize("name", ["note.txt.j2", "note.md.j2", "note.yaml.j2", "html.txt.j2"])
def test_values_in_plain_text_stay_as_they_are(name: str) -> None:
    assert fill_template(name, DictLoader({name: "{{ text }}"}), text="a < b & c") == "a < b & c"
