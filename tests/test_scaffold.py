"""The files of a scaffold: those of deploy/, with other values, which are only ever values."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rig.deploying import DEPLOY, TOP, build_component, parsed

from render.errors import InvalidInput
from render.files import InvalidFile
from render.scaffold import (
    CI_SERVERS,
    Choices,
    check_choices,
    choose_pieces,
    format_piece,
    place_files,
    write_scaffold,
)

PIECES = [*choose_pieces("github", sample=True), *choose_pieces("gitlab", sample=True)]
TEMPLATES = sorted({piece.template for piece in PIECES})
DEPLOYED = {
    "application": "examples/application.yaml",
    "argocd-cm": "argocd-cm.yaml",
    "cronjob": "examples/cronjob.yaml",
    "github": "ci/github.yaml",
    "gitlab": "ci/gitlab.yaml",
    "kustomization": "kustomization.yaml",
    "plugin": "plugin.yaml",
    "repo-server": "repo-server.yaml",
}
HOSTILE = [
    'quote" and more',
    "apostrophe' and more",
    "line\nkind: ClusterRoleBinding",
    "x\n---\nkind: ClusterRoleBinding",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "# nothing but a comment",
    "key: value",
    "- item",
    "*alias",
    "&anchor x",
    "!!python/object",
    "on",
    "0777",
    "",
    "\u2028\u202e\x1b[31m",
    "back\\slash",
]


def replaced(value: Any, old: str, new: str) -> Any:
    """Return a value in which every text that is exactly this one is another."""
    if isinstance(value, dict):
        return {key: replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, old, new) for item in value]
    return new if value == old else value


@pytest.mark.parametrize("template", DEPLOYED)
def test_with_the_default_values_a_file_is_the_deployed_one(template: str) -> None:
    assert format_piece(template, Choices()) == (DEPLOY / DEPLOYED[template]).read_text()


def test_what_is_only_in_a_scaffold_is_known() -> None:
    assert sorted(set(TEMPLATES) - DEPLOYED.keys()) == ["pre-commit", "provider"]
    assert sorted(path.name for path in (TOP / "render/templates/init").iterdir()) == [
        f"{template}.yaml.j2" for template in TEMPLATES
    ]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_value_never_becomes_anything_but_a_value(template: str, text: str) -> None:
    [plain] = parsed(format_piece(template, Choices("a-name", "a-url", "a-path", "an-image")).encode())

    [made] = parsed(format_piece(template, Choices(text, text, text, text)).encode())

    expected = plain
    for old in ("a-name", "a-url", "a-path", "an-image"):
        expected = replaced(expected, old, text)
    expected = replaced(expected, "xplock-a-name", f"xplock-{text}"[:52].rstrip("-"))
    expected = replaced(expected, "^a\\-path/", f"^{re.escape(text)}/")
    assert made == expected


def test_kubernetes_finds_no_variable_in_the_url_that_is_cloned() -> None:
    [job] = parsed(format_piece("cronjob", Choices(repository="https://git.example.org/$(HOME)")).encode())

    [clone] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["initContainers"]
    assert "https://git.example.org/$$(HOME)" in clone["command"]


def test_the_name_of_a_cron_job_is_never_too_long() -> None:
    [job] = parsed(format_piece("cronjob", Choices(name="a" * 44 + "-" + "b" * 18)).encode())

    assert job["metadata"]["name"] == "xplock-" + "a" * 44


def test_the_hook_is_run_for_files_of_the_folder_alone() -> None:
    patterns = []
    for path in ("clusters/a.b", "."):
        [config] = parsed(format_piece("pre-commit", Choices(path=path)).encode())
        [hook] = config["repos"][0]["hooks"]
        patterns.append(hook["files"])

    files = ("clusters/a.b/net.yaml", "clusters/axb/net.yaml", "other/clusters/a.b/net.yaml")
    assert [[bool(re.search(pattern, file)) for file in files] for pattern in patterns] == [
        [True, False, False],
        [True, True, True],
    ]


@pytest.mark.parametrize("ci", [None, *CI_SERVERS])
@pytest.mark.parametrize("sample", [True, False])
def test_the_sample_and_a_ci_server_are_chosen(ci: str | None, sample: bool) -> None:
    templates = [piece.template for piece in choose_pieces(ci, sample=sample)]

    assert ("provider" in templates) is sample
    assert [name for name in templates if name in CI_SERVERS] == ([ci] if ci else [])
    assert templates == sorted(set(templates), key=templates.index)


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
        *[Choices(image=image) for image in ("", "x y", "registry.example.org/xplock:v1\n")],
    ],
)
def test_what_would_mean_something_else_somewhere_is_refused(choices: Choices) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_choices(choices)

    assert "secret" not in str(caught.value)


def test_files_go_below_the_project_or_to_the_top(tmp_path: Path) -> None:
    files = place_files(choose_pieces("github", sample=True), Choices(), tmp_path / "a/b", tmp_path)

    assert sorted(str(path.relative_to(tmp_path)) for path in files) == [
        ".github/workflows/xplock.yaml",
        ".pre-commit-config.yaml",
        "a/b/argocd/application.yaml",
        "a/b/argocd/argocd-cm.yaml",
        "a/b/argocd/cronjob.yaml",
        "a/b/argocd/kustomization.yaml",
        "a/b/argocd/plugin.yaml",
        "a/b/argocd/repo-server.yaml",
        "a/b/provider.yaml",
    ]


def test_what_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    mine, same, new = (tmp_path / name for name in ("mine", "same", "deep/er/new"))
    mine.write_text("mine")
    same.write_text("ours")
    files = dict.fromkeys((mine, same, new), b"ours")

    planned = write_scaffold(files, force=True, dry_run=True)
    untouched = [path.read_text() if path.exists() else None for path in files]
    first = write_scaffold(files, force=False, dry_run=False)
    kept = [path.read_text() for path in files]
    second = write_scaffold(files, force=True, dry_run=False)

    assert untouched == ["mine", "ours", None]
    assert (planned.written, planned.left) == ((mine, new), {same: "is the same"})
    assert (first.written, first.left) == ((new,), dict.fromkeys((mine, same), "exists already"))
    assert kept == ["mine", "ours", "ours"]
    assert (second.written, second.left) == ((mine,), dict.fromkeys((same, new), "is the same"))
    assert [path.read_text() for path in files] == ["ours"] * 3


@pytest.mark.parametrize("step", ["argocd", "argocd/plugin.yaml"])
@pytest.mark.parametrize("dangling", [True, False])
def test_nothing_is_written_where_a_link_leads(tmp_path: Path, step: str, dangling: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    if not dangling:
        elsewhere.mkdir()
    (tmp_path / "project" / step).parent.mkdir(parents=True)
    (tmp_path / "project" / step).symlink_to(elsewhere)

    with pytest.raises(InvalidFile, match="is not written"):
        place_files(choose_pieces(None, sample=True), Choices(), tmp_path / "project", tmp_path / "project")


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "argocd").write_text("")

    with pytest.raises(InvalidFile, match="is not a folder"):
        place_files(choose_pieces(None, sample=True), Choices(), tmp_path, tmp_path)


def test_kustomize_takes_what_is_written_as_a_component(tmp_path: Path) -> None:
    choices = Choices(image='registry.example.org/"odd')
    files = place_files(choose_pieces(None, sample=True), choices, tmp_path / "project", tmp_path)
    write_scaffold(files, force=False, dry_run=False)
    (tmp_path / "build").mkdir()

    built = build_component(tmp_path / "build", component=tmp_path / "project/argocd")

    containers = built["Deployment/argocd-repo-server"]["spec"]["template"]["spec"]["containers"]
    assert [item["image"] for item in containers if item["name"] == "xplock"] == [choices.image]
    assert "Provider" in json.dumps(built["ConfigMap/argocd-cm"]["data"])
