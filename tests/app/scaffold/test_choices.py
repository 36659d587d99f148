"""The values of a scaffold: those that work in every file, and those that are refused."""

import pytest

from render.app.scaffold.choices import Choices, check_choices
from render.errors import InvalidInput


@pytest.mark.parametrize(
    "choices",
    [
        Choices(),
        Choices(name="a", path="."),
        Choices(path="größe/my folder/a@b+c=d,e~f"),
        Choices(path="clusters/production/"),
        Choices(repository="git@git.example.org:acme/platform.git"),
        Choices(repository="ssh://git@git.example.org/acme/platform.git"),
        Choices(image="registry.example.org:5000/tools/xplock:v1"),
        Choices(commit_to="release/v1.2"),
    ],
)
def test_what_works_in_every_file_is_accepted(choices: Choices) -> None:
    check_choices(choices)


@pytest.mark.parametrize(
    "choices",
    [
        *[Choices(name=name) for name in ("", "A", "-a", "a-", "a.b", "a" * 64, "a\n", "$(id)")],
        *[
            Choices(path=path)
            for path in ("..", "a/../../b", "/etc", "-x", "a/-x", "$HOME", "`id`", "a;b", "a\nb")
        ],
        *[
            Choices(path=path)
            for path in ("a'b", 'a"b', "${{ github.token }}", "a  b", "a\\b", "a|b", "a*", "\u202eb")
        ],
        *[
            Choices(repository=url)
            for url in ("", "platform", "http://git.example.org/a", "ext::sh -c id", "-x:y")
        ],
        *[
            Choices(repository=url)
            for url in ("https://git.example.org/a\nb", "https://u:secret@git.example.org/a")
        ],
        *[
            Choices(commit_to=branch)
            for branch in ("", "-x", "a..b", "main,other", "*", "a#b", "HEAD", "a b")
        ],
        Choices(repository="https://git.example.org/a,b", commit_to="main"),
        *[Choices(image=image) for image in ("", "x y", "registry.example.org/xplock:v1\n")],
    ],
)
def test_what_would_mean_something_else_somewhere_is_refused(choices: Choices) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_choices(choices)

    assert "secret" not in str(caught.value)
