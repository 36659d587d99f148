"""The files of a scaffold: those of deploy/, with other values, which are only ever values."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rig.deploy.kustomize import DEPLOY, TOP, build_component, parsed

from render.app.scaffold.choices import Choices
from render.app.scaffold.files import write_scaffold
from render.app.scaffold.pieces import (
    CI_SERVERS,
    PROMOTIONS,
    Extras,
    Piece,
    choose_fleet,
    choose_install,
    choose_pieces,
    format_file,
    format_piece,
    place_files,
)
from render.commands import as_path, shell
from render.names import is_dns_label
from render.system.files import InvalidFile

PIECES = [
    *choose_pieces(Extras(ci="github", renovate=True), sample=True),
    *choose_pieces(Extras(ci="gitlab", hydrate=True, cron_job=True), sample=True),
    *(
        piece
        for way in PROMOTIONS
        for piece in choose_pieces(Extras(promote=way), sample=False, name="production")
        if piece.template not in ("application", "resources", "pre-commit")
    ),
    *choose_install(Choices(commit_to="main")),
    *choose_fleet(Choices(name="clusters", shards=4)),
]
TEMPLATES = sorted({piece.template for piece in PIECES})
DEPLOYED = {
    "application": "examples/application.yaml",
    "argocd-cm": "health/argocd-cm.yaml",
    "commit": "examples/commit.yaml",
    "cronjob": "examples/cronjob.yaml",
    "gate": "ci/gate.yaml",
    "github": "ci/github.yaml",
    "gitlab": "ci/gitlab.yaml",
    "health": "health/kustomization.yaml",
    "hydrator": "examples/hydrator.yaml",
    "kargo": "examples/kargo.yaml",
    "kustomization": "kustomization.yaml",
    "plugin": "plugin.yaml",
    "promote": "ci/promote.yaml",
    "renovate": "ci/renovate.json",
    "repo-server": "repo-server.yaml",
    "strategy": "examples/strategy.yaml",
}
# Those for many projects, and the values that they are deployed with.
FLEET = Choices(name="clusters", path="clusters", shards=4)
OF_FLEET = {
    "applicationset": "examples/applicationset.yaml",
    "cronjob": "examples/fleet-cronjob.yaml",
    "fleet": "ci/fleet.yaml",
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
        return {(new if key == old else key): replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [replaced(item, old, new) for item in value]
    return new if value == old else value


@pytest.mark.parametrize("template", DEPLOYED)
def test_with_the_default_values_a_file_is_the_deployed_one(template: str) -> None:
    assert format_piece(template, Choices()) == (DEPLOY / DEPLOYED[template]).read_text()


@pytest.mark.parametrize("template", OF_FLEET)
def test_with_the_values_of_a_fleet_a_file_is_the_deployed_one(template: str) -> None:
    assert format_piece(template, FLEET, fleet=True) == (DEPLOY / OF_FLEET[template]).read_text()


def test_what_is_only_in_a_scaffold_is_known() -> None:
    assert sorted(set(TEMPLATES) - DEPLOYED.keys() - OF_FLEET.keys()) == [
        "pre-commit",
        "provider",
        "resources",
    ]
    assert (
        sorted(path.name.split(".")[0] for path in (TOP / "render/views/templates/init").iterdir())
        == TEMPLATES
    )


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_value_never_becomes_anything_but_a_value(template: str, text: str) -> None:
    expected: Any = parsed(format_piece(template, Choices("a-name", "a-url", "a-path", "an-image")).encode())

    made = parsed(format_piece(template, Choices(text, text, text, text)).encode())

    for old in ("a-name", "a-url", "a-path", "an-image"):
        expected = replaced(expected, old, text)
    expected = replaced(expected, "xplock-a-name", f"xplock-{text}"[:52].rstrip("-"))
    expected = replaced(expected, "a-url#main", f"{text}#main")
    expected = replaced(expected, "rendered/a-name", f"rendered/{text}")
    expected = replaced(expected, "credential.a-url.helper", f"credential.{text}.helper")
    rest = r"/.*(\.ya?ml|\.json|\bKustomization)$"
    expected = replaced(expected, f"^a\\-path{rest}", f"^{re.escape(text)}{rest}")
    if template == "strategy":
        reference = made[0]["spec"]["gitRepositoryRef"]
        assert is_dns_label(reference["name"])
        expected[0]["spec"]["gitRepositoryRef"] = reference
    label = "{{ index .path.segments %d }}"
    expected = replaced(expected, label % 1, label % (1 + text.count("/")))
    expected = replaced(expected, "xplock/promote-a-name", f"xplock/promote-{text}")
    for end in ("promote", "fleet"):
        job = f"xplock-{text}"[:52].rstrip("-")
        expected = replaced(expected, f"xplock-a-name-{end}", f"{job}-{end}")
    for old, new in (
        ("a-path/*", "/*"),
        ("a-path/argocd", "/argocd"),
        ("a-path/*.{yaml,yml}", "/*.{yaml,yml}"),
        ("a-path/crossplane.lock.yaml", "/crossplane.lock.yaml"),
    ):
        expected = replaced(expected, old, f"{text}{new}")
    expected = replaced(expected, "xplock lock a-path", shell("xplock", "lock", as_path(text)))
    assert made == expected


def test_kubernetes_finds_no_variable_in_where_locks_are_committed_to() -> None:
    [patch] = parsed(format_piece("commit", Choices(commit_to="$(HOME)")).encode())

    [container] = patch["spec"]["template"]["spec"]["containers"]
    assert container["env"][0]["value"] == f"{Choices().repository}#$$(HOME)"


def test_what_is_hydrated_never_goes_to_the_top_of_a_branch() -> None:
    [application] = parsed(format_piece("hydrator", Choices(name="shop", path=".")).encode())

    hydrator = application["spec"]["sourceHydrator"]
    assert hydrator["drySource"]["path"] == "."
    assert hydrator["syncSource"] == {"targetBranch": "rendered/shop", "path": "shop"}


def test_kubernetes_finds_no_variable_in_the_url_that_is_cloned() -> None:
    [job] = parsed(format_piece("cronjob", Choices(repository="https://git.example.org/$(HOME)")).encode())

    [clone] = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["initContainers"]
    values = [variable["value"] for variable in clone["env"]]
    assert "https://git.example.org/$$(HOME)" in clone["command"]
    assert "credential.https://git.example.org/$$(HOME).helper" in values


def test_the_name_of_a_cron_job_is_never_too_long() -> None:
    [job] = parsed(format_piece("cronjob", Choices(name="a" * 44 + "-" + "b" * 18)).encode())

    assert job["metadata"]["name"] == "xplock-" + "a" * 44


@pytest.mark.parametrize(
    ("file", "by_its_folder", "by_the_top"),
    [
        ("clusters/a.b/net.yaml", True, True),
        ("clusters/a.b/Kustomization", True, True),
        ("clusters/a.b/base/net.yml", True, True),
        ("clusters/axb/net.yaml", False, True),
        ("other/clusters/a.b/net.yaml", False, True),
        ("clusters/a.b/README.md", False, False),
    ],
)
def test_the_hook_is_run_for_manifests_of_the_folder_alone(
    file: str, by_its_folder: bool, by_the_top: bool
) -> None:
    patterns = []
    for path in ("clusters/a.b", "."):
        [config] = parsed(format_piece("pre-commit", Choices(path=path)).encode())
        patterns.append(config["repos"][0]["hooks"][0]["files"])

    assert [bool(re.search(pattern, file)) for pattern in patterns] == [by_its_folder, by_the_top]


def test_whatever_is_at_the_top_of_a_repository_is_shared() -> None:
    shared = {piece.path for piece in PIECES if piece.shared}

    assert shared == {
        ".pre-commit-config.yaml",
        ".github/workflows/xplock.yaml",
        ".github/workflows/xplock-fleet-clusters.yaml",
        ".github/workflows/xplock-gate-production.yaml",
        ".github/workflows/xplock-promote-production.yaml",
        ".gitlab-ci.yml",
        "renovate.json",
    }


@pytest.mark.parametrize("piece", [piece for piece in PIECES if piece.shared], ids=lambda piece: piece.path)
def test_a_part_can_be_added_to_what_is_there(piece: Piece) -> None:
    file = format_file(piece, Choices())
    [written] = parsed(file.data)

    if piece.path.endswith(".json"):
        [added] = [{file.below: [json.loads(file.part)]}]
    else:
        [added] = parsed((f"{file.below}:\n{file.part}" if file.below else file.part).encode())

    assert added == ({file.below: written[file.below]} if file.below else written)


@pytest.mark.parametrize("ci", [None, *CI_SERVERS])
@pytest.mark.parametrize("sample", [True, False])
def test_the_sample_and_a_ci_server_are_chosen(ci: str | None, sample: bool) -> None:
    templates = [piece.template for piece in choose_pieces(Extras(ci=ci), sample=sample)]

    assert ("provider" in templates) is sample
    assert [name for name in templates if name in CI_SERVERS] == ([ci] if ci else [])
    assert templates == sorted(set(templates), key=templates.index)


def test_files_go_below_the_project_or_to_the_top(tmp_path: Path) -> None:
    extras = Extras(ci="github", cron_job=True, renovate=True)
    files = place_files(choose_pieces(extras, sample=True), Choices(), tmp_path / "a/b", tmp_path)

    assert sorted(str(path.relative_to(tmp_path)) for path in files) == [
        ".github/workflows/xplock.yaml",
        ".pre-commit-config.yaml",
        "a/b/argocd/application.yaml",
        "a/b/argocd/cronjob.yaml",
        "a/b/argocd/kustomization.yaml",
        "a/b/provider.yaml",
        "renovate.json",
    ]


@pytest.mark.parametrize("step", ["argocd", "argocd/application.yaml"])
@pytest.mark.parametrize("dangling", [True, False])
def test_nothing_is_written_where_a_link_leads(tmp_path: Path, step: str, dangling: bool) -> None:
    elsewhere = tmp_path / "elsewhere"
    if not dangling:
        elsewhere.mkdir()
    (tmp_path / "project" / step).parent.mkdir(parents=True)
    (tmp_path / "project" / step).symlink_to(elsewhere)

    with pytest.raises(InvalidFile, match="is not written"):
        place_files(choose_pieces(sample=True), Choices(), tmp_path / "project", tmp_path / "project")


def test_a_file_in_the_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "argocd").write_text("")

    with pytest.raises(InvalidFile, match="is not a folder"):
        place_files(choose_pieces(sample=True), Choices(), tmp_path, tmp_path)


def test_kustomize_takes_what_is_written_as_a_component(tmp_path: Path) -> None:
    choices = Choices(image='registry.example.org/"odd')
    files = place_files(choose_install(choices), choices, tmp_path / "install", tmp_path)
    write_scaffold(files, force=False, dry_run=False)
    (tmp_path / "build").mkdir()

    built = build_component(tmp_path / "build", component=tmp_path / "install")

    containers = built["Deployment/argocd-repo-server"]["spec"]["template"]["spec"]["containers"]
    assert [item["image"] for item in containers if item["name"] == "xplock"] == [choices.image]
    assert "Provider" in json.dumps(built["ConfigMap/argocd-cm"]["data"])


def test_the_component_lets_the_plugin_commit_where_that_was_chosen(tmp_path: Path) -> None:
    choices = Choices(commit_to="release")
    files = place_files(choose_install(choices), choices, tmp_path / "install", tmp_path)
    write_scaffold(files, force=False, dry_run=False)
    (tmp_path / "build").mkdir()

    built = build_component(tmp_path / "build", component=tmp_path / "install")

    containers = built["Deployment/argocd-repo-server"]["spec"]["template"]["spec"]["containers"]
    [sidecar] = [item for item in containers if item["name"] == "xplock"]
    assert {"name": "XPLOCK_COMMIT_TO", "value": f"{choices.repository}#release"} in sidecar["env"]
    assert {"name": "HOME", "value": "/tmp"} in sidecar["env"]
