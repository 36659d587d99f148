"""xplock init: a scaffold in a new folder or an old one, of a repository or of none."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from rig.builders.packages import build
from rig.commands.pasting import paste
from rig.deploy.kustomize import kubectl, parsed, read_one

from render.app.packages.package import build_into_layout
from render.app.scaffold.choices import Choices
from render.app.scaffold.pieces import choose_pieces, format_file
from render.cli.run import run
from render.limits import Limits
from render.references import parse_reference
from render.registry.layout import Layout

URL = "https://git.example.org/acme/platform.git"
SAMPLE = parse_reference("xpkg.crossplane.io/crossplane-contrib/provider-nop:v0.4.0")
META = '{"apiVersion": "meta.pkg.crossplane.io/v1", "kind": "Provider", "metadata": {"name": "provider-nop"}}'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is in no repository."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(here: Path) -> Path:
    """The current folder, as a repository with a remote."""
    git("init", "-q")
    git("remote", "add", "origin", URL)
    return here


def files_of(folder: Path) -> list[str]:
    """Return every file of a folder, but for git's own."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in paths if path.parts[0] != ".git")


BELOW_PROJECT = [
    "argocd/application.yaml",
    "argocd/kustomization.yaml",
    "provider.yaml",
]
INSTALL = [
    "health/argocd-cm.yaml",
    "health/kustomization.yaml",
    "kustomization.yaml",
    "plugin.yaml",
    "repo-server.yaml",
]


def test_a_folder_outside_of_a_repository_gets_everything(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["init"])

    output = capsys.readouterr()
    source = read_one(here / "argocd/application.yaml")["spec"]["source"]
    assert code == 0
    assert files_of(here) == [".pre-commit-config.yaml", *BELOW_PROJECT]
    assert sorted(output.out.splitlines()) == sorted(f"Wrote    {name}" for name in files_of(here))
    assert source["path"] == "."
    # Nobody could know the URL.
    assert (source["repoURL"], URL in output.err, "--repo URL" in output.err) == (URL, True, True)


def test_a_new_folder_of_a_repository_shares_the_files_at_its_top(repository: Path) -> None:
    code = run(["init", "clusters/Production_1", "--ci", "gitlab"])

    application = read_one(repository / "clusters/Production_1/argocd/application.yaml")
    hooks = read_one(repository / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert code == 0
    assert files_of(repository) == [
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        *(f"clusters/Production_1/{name}" for name in BELOW_PROJECT),
    ]
    assert application["metadata"]["name"] == "production1"
    assert application["spec"]["source"]["repoURL"] == URL
    assert application["spec"]["source"]["path"] == "clusters/Production_1"
    assert [hook["args"] for hook in hooks] == [["clusters/Production_1"]] * 2
    assert read_one(repository / ".gitlab-ci.yml")["xplock-production1"]["variables"] == {
        "PROJECT": "clusters/Production_1"
    }


def test_from_below_the_top_paths_are_told_as_they_are_from_there(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "clusters/one").mkdir(parents=True)
    monkeypatch.chdir(repository / "clusters/one")

    run(["init", "--ci", "github"])

    told = capsys.readouterr().out
    assert "Wrote    provider.yaml\n" in told
    assert "Wrote    ../../.github/workflows/xplock.yaml (at the top of the repository)\n" in told
    assert (repository / ".github/workflows/xplock.yaml").is_file()


def test_what_is_said_counts_more_than_what_is_found(repository: Path) -> None:
    told = ["--name", "platform", "--repo", "git@git.example.org:a/b.git", "--path", "./else/where/"]
    run(["init", *told, "--image", "registry.example.org/tools:v9", "--ci", "github"])

    application = read_one(repository / "argocd/application.yaml")
    workflow = read_one(repository / ".github/workflows/xplock.yaml")["jobs"]["xplock-platform"]
    assert application["metadata"]["name"] == "platform"
    assert application["spec"]["source"]["repoURL"] == "git@git.example.org:a/b.git"
    assert application["spec"]["source"]["path"] == "else/where"
    assert (workflow["container"]["image"], workflow["env"]) == (
        "registry.example.org/tools:v9",
        {"PROJECT": "else/where"},
    )


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("https://robin:{canary}@git.example.org/acme/x.git", "https://git.example.org/acme/x.git"),
        ("https://{canary}@git.example.org:8443/acme/x.git", "https://git.example.org:8443/acme/x.git"),
        ("git@git.example.org:acme/x.git", "git@git.example.org:acme/x.git"),
        ("ssh://git@git.example.org/acme/x.git", "ssh://git@git.example.org/acme/x.git"),
        # Argo CD cannot use these, so the example is written, and a warning.
        ("ssh://git:{canary}@git.example.org/acme/x.git", URL),
        ("../other", URL),
        ("ext::sh -c {canary}", URL),
        ("https://robin:{canary}@[git.example.org/acme/x.git", URL),
    ],
)
def test_a_remote_is_used_without_its_secrets(
    here: Path, remote: str, expected: str, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    git("init", "-q")
    git("remote", "add", "origin", remote.format(canary=canary))

    code = run(["init", "--ci", "github"])

    output = capsys.readouterr()
    assert code == 0
    assert read_one(here / "argocd/application.yaml")["spec"]["source"]["repoURL"] == expected
    assert ("--repo URL" in output.err) is (expected == URL)
    assert canary not in output.out + output.err
    assert [name for name in files_of(here) if canary in (here / name).read_text()] == []


def test_nothing_is_overwritten(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / ".pre-commit-config.yaml").write_text("repos: []\n")
    (repository / "argocd").mkdir()
    (repository / "argocd/application.yaml").write_text("mine")

    code = run(["init"])

    told = capsys.readouterr().out
    assert code == 0
    assert (repository / ".pre-commit-config.yaml").read_text() == "repos: []\n"
    assert (repository / "argocd/application.yaml").read_text() == "mine"
    assert "Left     .pre-commit-config.yaml (is shared with others)\n" in told
    assert "Left     argocd/application.yaml (exists already)\n" in told
    assert "Wrote    argocd/kustomization.yaml\n" in told


@pytest.mark.parametrize("options", [[], ["--force"]])
@pytest.mark.parametrize(
    ("ci", "name", "heading"),
    [
        ("github", ".pre-commit-config.yaml", "add below its repos"),
        ("github", ".github/workflows/xplock.yaml", "add below its jobs"),
        ("gitlab", ".gitlab-ci.yml", "add to it"),
        ("gitlab", "renovate.json", "add below its packageRules"),
    ],
)
def test_a_second_folder_leaves_what_is_shared_and_tells_what_to_add(
    repository: Path, ci: str, name: str, heading: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(["init", "clusters/one", "--ci", ci, "--renovate"])
    first = (repository / name).read_text()
    capsys.readouterr()

    code = run(["init", "clusters/two", "--ci", ci, "--renovate", *options])

    output = capsys.readouterr()
    _, _, rest = output.err.partition(f"{name} stays as it is; for this folder, {heading}:\n")
    added = rest.partition("stays as it is")[0].rsplit("\n", 1)[0]
    assert code == 0
    assert f"Left     {name} (is shared with others)\n" in output.out
    assert (repository / name).read_text() == first
    # As if somebody had pasted it.
    pasted = f"[{first},{added}]" if name.endswith(".json") else f"{first}{added}\n"
    [both] = [json.loads(pasted)] if name.endswith(".json") else parsed(pasted.encode())
    places = re.findall(r"[ ']((?<=')clusters/\w+|(?<=xplock lock )clusters/\w+)'", str(both))
    assert places.count("clusters/one") == places.count("clusters/two") > 0


FOLDERS = ["prod/app", "stage/app", "eu/stage/app", "app", "eu-stage/app"]


@pytest.mark.parametrize("ci", ["github", "gitlab"])
def test_folders_of_one_name_go_together_in_one_argo_cd(
    repository: Path, ci: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told, jobs = [], []
    for folder in FOLDERS:
        assert run(["init", folder, "--cron-job", "--ci", ci]) == 0
        told.append(capsys.readouterr().err)
        jobs += re.findall(r"(?m)^ *(xplock-\w[\w-]*):$", told[-1])

    lines = [f"  - {folder}/argocd\n" for folder in FOLDERS]
    (repository / "kustomization.yaml").write_text(f"resources:\n{''.join(lines)}")
    objects = parsed(kubectl("kustomize", repository))

    names = [value["metadata"]["name"] for value in objects if value["kind"] == "Application"]
    assert set(names) >= {"app", "stage-app", "eu-stage-app"}
    assert len(set(names)) == 5
    assert len({value["metadata"]["name"] for value in objects if value["kind"] == "CronJob"}) == 5
    assert len(set(jobs)) == 4
    assert "stage-app; to choose another name: --name NAME" in told[1]
    assert "prod/app/argocd/application.yaml has the name of this folder already" in told[1]


def test_a_name_that_another_application_has_is_used_with_a_warning(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["init", "prod/app", "--name", "shop"])
    capsys.readouterr()

    code = run(["init", "stage/app", "--name", "shop"])

    told = capsys.readouterr().err
    assert (code, read_one(repository / "stage/app/argocd/application.yaml")["metadata"]["name"]) == (
        0,
        "shop",
    )
    assert "prod/app/argocd/application.yaml is called shop as well" in told


@pytest.mark.usefixtures("repository")
def test_the_same_folder_keeps_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("prod/app", "stage/app"):
        run(["init", folder])
        capsys.readouterr()
        run(["init", folder])

        capsys.readouterr()
        assert run(["init", folder, "-o", "json"]) == 0
        written = json.loads(capsys.readouterr().out)
        assert (written["written"], {one["why"] for one in written["left"]} - {"is shared with others"}) == (
            [],
            {"is the same", "the folder has manifests already"},
        )


@pytest.mark.usefixtures("repository")
def test_what_is_only_an_example_is_told_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    image = Choices().image

    run(["init", "clusters/one", "--ci", "github"])
    unnamed = capsys.readouterr().err
    run(["init", "clusters/two", "--cron-job", "--image", "registry.example.org/tools:v9"])
    named = capsys.readouterr().err

    sample = "is an example: replace it by what you want, then run: xplock lock clusters"
    assert unnamed.splitlines() == [
        f"{image} is an example: build the image, and name yours with --image REF",
        f"clusters/one/provider.yaml {sample}/one",
    ]
    assert named.startswith(f"clusters/two/provider.yaml {sample}/two\n")


@pytest.mark.usefixtures("repository")
def test_an_image_that_no_file_names_is_not_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    run(["init", "clusters/one"])

    assert "image" not in capsys.readouterr().err


@pytest.mark.usefixtures("repository")
def test_the_command_to_run_next_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    run(["init", "clusters/my shop"])

    assert capsys.readouterr().err.endswith("then run: xplock lock 'clusters/my shop'\n")


def test_the_sample_is_a_package_that_exists(here: Path) -> None:
    run(["init"])

    package = read_one(here / "provider.yaml")["spec"]["package"]
    # A provider that does nothing, which Crossplane's own tests install from there.
    assert package == str(SAMPLE)
    assert not package.partition("/")[0].endswith((".example", "example.org", "example.com"))


@pytest.mark.usefixtures("repository")
def test_the_same_folder_again_has_nothing_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    run(["init", "clusters/one", "--ci", "gitlab"])
    capsys.readouterr()

    run(["init", "clusters/one", "--ci", "gitlab"])

    output = capsys.readouterr()
    assert "Left     .gitlab-ci.yml (is the same)\n" in output.out
    assert output.err == ""


def test_force_replaces_all_but_what_the_folder_asks_for(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["init"])
    capsys.readouterr()
    written = (repository / "argocd/kustomization.yaml").read_bytes()
    for name in ("provider.yaml", "argocd/kustomization.yaml"):
        (repository / name).write_text("# mine\n")

    code = run(["init", "--force"])

    told = capsys.readouterr().out
    assert code == 0
    assert (repository / "argocd/kustomization.yaml").read_bytes() == written
    assert (repository / "provider.yaml").read_text() == "# mine\n"
    assert (
        "Wrote    argocd/kustomization.yaml\nLeft     provider.yaml (the folder has manifests already)\n"
        in told
    )
    assert "Left     argocd/application.yaml (is the same)\n" in told


def test_what_is_rendered_can_go_to_a_branch_of_its_own(repository: Path) -> None:
    code = run(["init", "clusters/one", "--hydrate"])

    hydrator = read_one(repository / "clusters/one/argocd/application.yaml")["spec"]["sourceHydrator"]
    assert (code, hydrator["drySource"]["plugin"]) == (0, {"name": "xplock"})
    assert hydrator["drySource"]["repoURL"] == URL
    assert hydrator["syncSource"] == {"targetBranch": "rendered/one", "path": "clusters/one"}


def test_the_install_for_an_argo_cd_is_apart_from_every_folder(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["init", "--argocd", "argocd/xplock", "--image", "registry.example.org/tools:v9"])

    output = capsys.readouterr()
    assert (code, files_of(repository)) == (0, [f"argocd/xplock/{name}" for name in INSTALL])
    [sidecar] = read_one(repository / "argocd/xplock/repo-server.yaml")["spec"]["template"]["spec"][
        "containers"
    ]
    assert sidecar["image"] == "registry.example.org/tools:v9"
    assert output.err.splitlines() == [
        "name argocd/xplock and argocd/xplock/health below `components` in the kustomization of your Argo CD"
    ]


OTHERS = {
    "xplock.yaml": "roots: []\n",
    "crossplane.lock.yaml": "",
    "provider.yaml": "kind: Provider\n",
    "provider.json": '{"apiVersion": "pkg.crossplane.io/v1", "kind": "Provider"}',
    "kustomization.yaml": "resources: []\n",
    "kustomization.yml": "resources: []\n",
    "Kustomization": "resources: []\n",
    "plugin.yaml": "theirs: {}\n",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("options", [[], ["--force"], ["--dry-run"]])
def test_a_folder_with_other_manifests_gets_no_install(
    here: Path, name: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine").mkdir()
    (here / "mine" / name).write_text(OTHERS[name])

    code = run(["init", "--argocd", "mine", *options])

    told = capsys.readouterr().err
    assert (code, files_of(here)) == (2, [f"mine/{name}"])
    assert f"error: mine gets no install for Argo CD\n  why:  it has {name}" in told
    [command] = [line.partition("next: ")[2] for line in told.splitlines() if "next: " in line]
    assert paste(command, here).code == 0
    assert files_of(here) == sorted([f"mine/{name}", *(f"mine/argocd/{path}" for path in INSTALL)])


def test_an_install_can_be_written_again_and_may_have_more_files(repository: Path) -> None:
    run(["init", "--argocd", "argocd"])
    (repository / "argocd/more.yaml").write_text("{}\n")

    code = run(["init", "--argocd", "argocd", "--force", "--commit-to", "main"])

    assert code == 0
    assert (repository / "argocd/commit.yaml").exists()


def test_an_install_without_a_repository_misses_no_url(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["init", "--argocd"])

    assert (code, files_of(here)) == (0, INSTALL)
    assert "--repo" not in capsys.readouterr().err


def test_the_plugin_may_commit_to_the_branch_that_is_named(repository: Path) -> None:
    code = run(["init", "--argocd", "xplock", "--commit-to", "release"])

    patch = read_one(repository / "xplock/commit.yaml")
    patches = read_one(repository / "xplock/kustomization.yaml")["patches"]
    [container] = patch["spec"]["template"]["spec"]["containers"]
    assert (code, container["env"][0]["value"]) == (0, f"{URL}#release")
    assert "commit.yaml" in [entry["path"] for entry in patches]


def test_a_folder_that_asks_for_something_gets_no_sample(repository: Path) -> None:
    (repository / "net.yaml").write_text("# empty\n")

    run(["init"])

    assert not (repository / "provider.yaml").exists()
    assert (repository / "argocd/application.yaml").exists()


def test_a_dry_run_writes_nothing_and_tells_all(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["init", "new", "--dry-run"])

    assert code == 0
    assert files_of(repository) == []
    assert not (repository / "new").exists()
    assert "Would write new/argocd/application.yaml\n" in capsys.readouterr().out


@pytest.mark.usefixtures("repository")
def test_quietly_nothing_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["-q", "init"])

    assert (code, capsys.readouterr().out) == (0, "")
    assert files_of(here)


def test_a_program_gets_the_same_as_json(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / ".pre-commit-config.yaml").write_text("repos: []\n")

    [hooks] = [piece for piece in choose_pieces(sample=True) if piece.shared]

    code = run(["init", "new", "-o", "json", "--dry-run"])

    assert code == 0
    assert json.loads(capsys.readouterr().out) == {
        "folder": "new",
        "dryRun": True,
        "written": ["new/provider.yaml", *(f"new/{name}" for name in BELOW_PROJECT[:-1])],
        "left": [
            {
                "path": ".pre-commit-config.yaml",
                "why": "is shared with others",
                "add": format_file(hooks, Choices(path="new")).part,
            }
        ],
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["--name", "Not A Name"],
        ["--path", "../other"],
        ["--path", "$(id)"],
        ["--repo", "https://git.example.org/a\nkind: x"],
        ["--repo", "https://[git.example.org/a.git"],
        ["--image", "no image"],
        ["--ci", "other"],
        ["--argocd", "--commit-to", "a,b"],
        ["--commit-to", "main"],
        ["--argocd", "--ci", "github"],
        ["--argocd", "--renovate"],
        ["--argocd", "--name", "x"],
        ["--demo", "--argocd"],
        ["--demo", "--force"],
        ["--demo", "--repo", URL],
        ["a\nb"],
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_cannot_be_used_is_exit_2_and_writes_nothing(here: Path, arguments: list[str]) -> None:
    assert run(["init", *arguments]) == 2
    assert files_of(here) == []


def test_a_password_in_the_url_is_refused_and_not_shown(
    here: Path, canary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["init", "--repo", f"https://robin:{canary}@git.example.org/a.git"])

    assert (code, files_of(here)) == (2, [])
    assert canary not in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").write_text("")
    (here / "loop").symlink_to("loop")
    (here / "linked").mkdir()
    (here / "linked/argocd").symlink_to(here)

    codes = [run(["init", name]) for name in ("file/below", "loop", "x" * 300, "linked")]

    errors = capsys.readouterr().err
    assert codes == [1, 1, 1, 2]
    assert "file/below/provider.yaml cannot be written" in errors
    assert "loop/provider.yaml cannot be written" in errors
    assert "linked/argocd is not a folder" in errors
    assert not (here / "application.yaml").exists()


def test_a_scaffold_locks_and_renders_the_sample_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = build(tmp_path / "package", {"crossplane.yaml": META})
    build_into_layout(built, Layout(tmp_path / "layout", Limits()), [SAMPLE])
    run(["init", "--ci", "github"])

    locked = run(["-q", "lock", "--layout", str(tmp_path / "layout")])
    capsys.readouterr()
    rendered = run(["render"])

    kinds = re.findall(r"^kind: (\w+)$", capsys.readouterr().out, re.MULTILINE)
    assert (locked, rendered, kinds) == (0, 0, ["ImageConfig", "Provider"])
    assert run(["check"]) == 0


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["init", "--help"])

    assert code == 0
    assert "Examples: xplock init" in capsys.readouterr().out
