"""xplock init for several folders: promotions from one to another, and an ApplicationSet for all below one."""

import json
import subprocess
from pathlib import Path

import pytest
from rig.commands.run import run_command
from rig.deploy.kustomize import kubectl, parsed, read_one

URL = "https://git.example.org/acme/platform.git"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a remote, in which staging is."""
    monkeypatch.chdir(tmp_path)
    for command in (["init", "-q"], ["remote", "add", "origin", URL]):
        subprocess.run(["git", *command], check=True)
    project("clusters/staging")
    return tmp_path


def project(name: str, text: str = "roots: []\n") -> None:
    Path(name).mkdir(parents=True, exist_ok=True)
    Path(name, "xplock.yaml").write_text(text)


def init(*arguments: str) -> list[str]:
    done = run_command("init", *arguments, "-o", "json")
    assert done.code == 0, done.stderr
    return list(json.loads(done.stdout)["written"])


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("actions", [".github/workflows/xplock-promote-production.yaml"]),
        ("kargo", ["clusters/production/promotion/kargo.yaml"]),
        (
            "gitops-promoter",
            [
                "clusters/production/promotion/strategy.yaml",
                ".github/workflows/xplock-gate-production.yaml",
            ],
        ),
    ],
)
def test_a_promotion_is_beside_the_files_of_the_project(kind: str, files: list[str]) -> None:
    written = init("clusters/production", "--promote", kind, "--promote-from", "clusters/staging")

    assert written[-len(files) :] == files
    assert "clusters/production/argocd/application.yaml" in written
    texts = "".join(Path(name).read_text() for name in files)
    assert "production" in texts and ("clusters/staging" in texts or "rendered/staging" in texts)


def test_the_origin_is_named_from_where_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    project("clusters/production")
    monkeypatch.chdir("clusters/production")

    init("--promote", "actions", "--promote-from", "../staging")

    [job, _] = read_one(Path("../../.github/workflows/xplock-promote-production.yaml"))["jobs"].values()
    assert (job["env"]["ORIGIN"], job["env"]["PROJECT"]) == ("clusters/staging", "clusters/production")


def test_branches_are_promoted_only_if_something_renders_them() -> None:
    init("clusters/production", "--promote", "gitops-promoter", "--promote-from", "clusters/staging")

    application = read_one(Path("clusters/production/argocd/application.yaml"))
    strategy = read_one(Path("clusters/production/promotion/strategy.yaml"))
    target = application["spec"]["sourceHydrator"]["syncSource"]["targetBranch"]
    assert strategy["spec"]["environments"][-1]["branch"] == target


@pytest.mark.parametrize("origin", [[], ["--promote-from", "none"], ["--promote-from", ".."]])
def test_a_promotion_from_nowhere_is_refused(origin: list[str]) -> None:
    done = run_command("init", "clusters/production", "--promote", "actions", *origin)

    done.assert_refused(2, "--promote-from")
    assert not Path("clusters/production").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--promote-from", "clusters/staging"],
        ["--shards", "2"],
        ["--applicationset", "--argocd"],
        ["--applicationset", "--ci", "github"],
        ["--applicationset", "--promote", "kargo"],
    ],
)
def test_options_of_another_scaffold_are_wrong_usage(arguments: list[str]) -> None:
    assert run_command("init", "clusters/x", *arguments).code == 2
    assert not Path("clusters/x").exists()


def test_an_application_set_knows_how_deep_projects_are_and_their_order() -> None:
    Path("clusters/staging/xplock.yaml").unlink()
    for name in ("staging/one", "production/two", "dev/three"):
        project(f"clusters/{name}")
    project("clusters", "environments: [dev, staging, production]\n")

    written = init("clusters", "--applicationset")

    spec = read_one(Path("clusters/argocd/applicationset.yaml"))["spec"]
    steps = [step["matchExpressions"][0]["values"] for step in spec["strategy"]["rollingSync"]["steps"]]
    assert written == ["clusters/argocd/applicationset.yaml", "clusters/argocd/kustomization.yaml"]
    assert steps == [["dev"], ["staging"], ["production"]]
    assert spec["generators"][0]["git"]["directories"][0] == {"path": "clusters/*/*"}
    assert spec["template"]["metadata"]["labels"] == {"environment": "{{ index .path.segments 1 }}"}


def test_projects_at_several_depths_are_refused() -> None:
    project("clusters/production/two")

    run_command("init", "clusters", "--applicationset").assert_refused(2, "no pattern is for both")


def test_parts_get_a_job_that_kustomize_lists_beside_the_application_set() -> None:
    init("clusters", "--applicationset", "--shards", "3")

    objects = {value["kind"]: value for value in parsed(kubectl("kustomize", "clusters/argocd"))}
    workflow = read_one(Path(".github/workflows/xplock-fleet-clusters.yaml"))
    assert objects.keys() == {"ApplicationSet", "CronJob"}
    assert objects["CronJob"]["spec"]["jobTemplate"]["spec"]["completions"] == 3
    assert workflow["jobs"]["lock"]["strategy"]["matrix"]["part"] == [1, 2, 3]
    assert workflow["jobs"]["lock"]["env"]["PARTS"] == "3"
