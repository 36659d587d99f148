"""The plugin behind real servers of Argo CD: repository in, objects out, with Argo CD's own tarball and environment."""

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import grpc
import pytest
from rig.argocd.cmp_server import sidecar_environment
from rig.argocd.repo_server import NAMESPACE, TRACKING, Application
from rig.argocd.stack import ArgoCd, Origin, argocd, new_origin
from rig.builders.projects import text_of
from rig.git.repositories import git, paths_in, save, text_at

from render.cli.run import run
from render.limits import Limits
from render.system.files import LOCK_FILE
from render.yaml.documents import file_rules, parse_documents

Start: TypeAlias = Callable[..., ArgoCd]

# Texts that a reader of YAML 1.1 takes for something else, and a line that looks like the end of a document.
ODD = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "n"\ndata:\n  a: "on"\n  b: "0777"\n  c: |\n    ---\n    größer ✓\n'
SHOP = f"shop/{LOCK_FILE}"


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    """A server's repository with the project `shop`, which is not locked."""
    return new_origin(tmp_path)


@pytest.fixture
def shop(origin: Origin) -> Application:
    """The Application of `shop`."""
    return Application(origin.url)


@pytest.fixture
def start(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start both servers; a sidecar that may commit to the branch main."""
    with ExitStack() as stack:

        def start_them(*options: str, policy: str = "commit", **environ: str) -> ArgoCd:
            first = f"env -0 > {tmp_path}/environ; ls -A .. > {tmp_path}/tree"
            usual = sidecar_environment(tmp_path / "sidecar", first=first)
            listed = {"XPLOCK_COMMIT_TO": f"file://{tmp_path}/*.git#main"}
            # A socket's path has to be short.
            folder = tmp_path_factory.mktemp("cd")
            servers = argocd(folder, {**usual, **listed, **environ}, policy=policy, options=options)
            return stack.enter_context(servers)

        yield start_them


@pytest.fixture
def rendered(origin: Origin, capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[[], list[Any]]:
    """Tell what render makes of the project in the clone."""

    def render() -> list[Any]:
        capsysbinary.readouterr()
        assert run(["render", str(origin.clone / "shop")]) == 0
        return parse_documents(capsysbinary.readouterr().out, file_rules(Limits()))

    return render


def untracked(objects: list[Any]) -> list[Any]:
    """Return objects without what Argo CD adds to each of them, which has to be there."""
    plain = copy.deepcopy(objects)
    for value in plain:
        metadata = value["metadata"]
        group = value["apiVersion"].rpartition("/")[0]
        place = f"{group}/{value['kind']}:{NAMESPACE}/{metadata['name']}"
        assert metadata["annotations"].pop(TRACKING) == f"shop:{place}"
        if not metadata["annotations"]:
            del metadata["annotations"]
    return plain


def seen_environment(folder: Path) -> dict[str, str]:
    """Return the environment that the plugin was last called with."""
    entries = (folder / "environ").read_text().split("\0")[:-1]
    return {name: value for name, _, value in (entry.partition("=") for entry in entries)}


def committed(commit: str) -> str:
    """Return what is told of a lock that was just committed."""
    return f"error: lock committed as {commit}; the next refresh renders it"


def test_what_argo_cd_gets_are_the_objects_that_render_writes(
    origin: Origin, shop: Application, start: Start, rendered: Callable[[], list[Any]]
) -> None:
    (origin.lock() / "odd.yaml").write_text(ODD)
    origin.push()

    assert untracked(start().generate(shop)) == rendered()


def test_the_environment_is_the_one_that_the_plugin_counts_on(
    origin: Origin, shop: Application, start: Start, tmp_path: Path
) -> None:
    origin.lock()
    commit = origin.push()

    start().generate(replace(shop, parameters={"waves": "graph"}, env={"XPLOCK_WAVES": "flat"}))

    seen = seen_environment(tmp_path)
    assert (tmp_path / "tree").read_text().split() == [".git", "README", "registry", "shop"]
    assert {
        name: seen[name] for name in seen if name.startswith(("ARGOCD_APP_", "ARGOCD_ENV_", "PARAM_"))
    } == {
        "ARGOCD_APP_NAME": "shop",
        "ARGOCD_APP_NAMESPACE": NAMESPACE,
        "ARGOCD_APP_PROJECT_NAME": "default",
        "ARGOCD_APP_REVISION": commit,
        "ARGOCD_APP_REVISION_SHORT": commit[:7],
        "ARGOCD_APP_REVISION_SHORT_8": commit[:8],
        "ARGOCD_APP_SOURCE_REPO_URL": origin.url,
        "ARGOCD_APP_SOURCE_PATH": "shop",
        "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
        "ARGOCD_APP_PARAMETERS": '[{"name":"waves","string":"graph"}]',
        "ARGOCD_ENV_XPLOCK_WAVES": "flat",
        "PARAM_WAVES": "graph",
    }


def test_a_tarball_without_the_repository_itself_renders_the_same(
    origin: Origin, shop: Application, start: Start, rendered: Callable[[], list[Any]], tmp_path: Path
) -> None:
    origin.lock()
    origin.push()

    objects = start("--plugin-tar-exclude", ".git").generate(shop)

    assert (tmp_path / "tree").read_text().split() == ["README", "registry", "shop"]
    assert untracked(objects) == rendered()


def test_without_the_repository_itself_a_lock_is_committed_all_the_same(
    origin: Origin, shop: Application, start: Start
) -> None:
    before = origin.tip

    told = start("--plugin-tar-exclude", ".git").failure(shop)

    assert git(origin.server, "rev-parse", "main^") == before
    assert told.endswith(committed(origin.tip))


def test_manifests_for_no_cluster_are_the_same(
    origin: Origin, shop: Application, start: Start, tmp_path: Path
) -> None:
    origin.lock()
    origin.push()
    servers = start()

    usual, hydrated = (
        servers.generate(one) for one in (shop, replace(shop, kube_version="", api_versions=()))
    )

    seen = seen_environment(tmp_path)
    assert (seen["KUBE_VERSION"], seen["KUBE_API_VERSIONS"]) == ("", "")
    assert hydrated == usual


def test_parameters_are_announced_with_the_values_that_hold(
    origin: Origin, shop: Application, start: Start
) -> None:
    origin.ask("app:v1.0.0", more="waves: graph\n")
    origin.push()

    assert start().repo.parameters(shop) == {"waves": "graph", "overlay": ""}


def test_parameters_win_over_the_applications_env_and_that_over_the_sidecars(
    origin: Origin, shop: Application, start: Start
) -> None:
    origin.lock()
    origin.push()
    servers = start(XPLOCK_WAVES="graph")

    graph = servers.generate(shop)
    flat = servers.generate(replace(shop, env={"XPLOCK_WAVES": "flat"}))
    chosen = servers.generate(replace(shop, env={"XPLOCK_WAVES": "flat"}, parameters={"waves": "graph"}))

    assert flat != graph
    assert chosen == graph


def test_files_that_a_user_sends_are_rendered_and_never_committed(
    origin: Origin, shop: Application, start: Start, rendered: Callable[[], list[Any]], tmp_path: Path
) -> None:
    servers = start()
    before = origin.tip

    with pytest.raises(grpc.RpcError) as caught:
        servers.repo.generate_from(shop, origin.clone)
    origin.lock()
    objects = servers.repo.generate_from(shop, origin.clone)

    assert "no lock is committed for revision 'streamed', which is not a commit" in str(
        caught.value.details()
    )
    assert seen_environment(tmp_path)["ARGOCD_APP_REVISION"] == "streamed"
    assert untracked(objects) == rendered()
    assert origin.tip == before


def test_a_push_with_other_roots_gets_one_commit_with_the_lock_alone_and_is_rendered_next(
    origin: Origin, shop: Application, start: Start, rendered: Callable[[], list[Any]]
) -> None:
    servers = start()
    origin.lock()
    origin.push()
    servers.generate(shop)
    origin.ask("app:v2.0.0")
    pushed = origin.push()

    told = servers.failure(shop)
    objects = servers.generate(shop)

    assert git(origin.server, "rev-list", f"{pushed}..main").splitlines() == [origin.tip]
    assert paths_in(origin.server, "main") == [SHOP]
    assert told.endswith(f"failed exit status 1: {committed(origin.tip)}")
    assert text_at(origin.server, "main", SHOP) == text_of(origin.lock())
    assert untracked(objects) == rendered()


def test_failures_that_argo_cd_remembers_do_not_hide_the_lock_that_was_committed(
    origin: Origin, shop: Application, start: Start
) -> None:
    servers = start()
    asked = origin.tip

    told = [servers.failure(shop, asked, cached=True) for _ in range(5)]

    assert "(cached)" in told[-1]
    assert all(text.endswith(committed(origin.tip)) for text in told)
    assert servers.generate(shop, cached=True)


def test_ten_calls_at_once_make_one_commit_and_all_say_so(
    origin: Origin, shop: Application, start: Start
) -> None:
    servers = start()
    before = origin.tip

    with ThreadPoolExecutor(10) as pool:
        told = list(pool.map(lambda _: servers.failure(shop, before), range(10)))

    assert git(origin.server, "rev-list", "--count", f"{before}..main") == "1"
    assert len(set(told)) == 1
    assert told[0].endswith(committed(origin.tip))


def test_twenty_applications_of_one_repository_get_twenty_commits_in_one_round(
    origin: Origin, start: Start
) -> None:
    # What takes half a minute by itself may take long beside other tests.
    servers = start(XPLOCK_DEADLINE="280", ARGOCD_EXEC_TIMEOUT="300s")
    names = [f"team{number:02}" for number in range(20)]
    for name in names:
        origin.ask("app:v1.0.0", path=f"clusters/{name}")
    before = origin.push()
    wanted = [Application(origin.url, path=f"clusters/{name}", name=name) for name in names]

    with ThreadPoolExecutor(20) as pool:
        told = list(pool.map(lambda one: servers.failure(one, before, seconds=300), wanted))

    commits = git(origin.server, "rev-list", f"{before}..main").splitlines()
    touched = sorted(path for commit in commits for path in paths_in(origin.server, commit))
    assert touched == [f"clusters/{name}/{LOCK_FILE}" for name in names]
    assert sorted(told_commit(text) for text in told) == sorted(commits)
    assert all(map(servers.generate, wanted))


def told_commit(text: str) -> str:
    """Return the commit that a failure names."""
    return text.partition("lock committed as ")[2].partition(";")[0]


def test_an_old_revision_gets_no_commit_and_says_why(origin: Origin, shop: Application, start: Start) -> None:
    old = origin.tip
    origin.ask("tool:v1.0.0")
    before = origin.push()

    told = start().failure(shop, old)

    assert "why:  nothing has been locked there yet" in told
    assert "what is asked for is another thing at the tip of branch main" in told
    assert origin.tip == before


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("side", "no lock is committed to {url}#side: XPLOCK_COMMIT_TO does not list it"),
        ("v1.0.0", "no lock is committed for target revision 'v1.0.0', which is not a branch"),
        ("stable", "no lock is committed for target revision 'stable', which is not a branch"),
        ("1.*", "no lock is committed for target revision '1.*', which is not a branch"),
        ("{tip}", "no lock is committed for target revision '{tip}', which is not a branch"),
    ],
)
def test_a_preview_of_another_branch_or_tag_gets_no_commit_and_says_why(
    origin: Origin, shop: Application, start: Start, target: str, why: str
) -> None:
    git(origin.server, "branch", "side", "main")
    git(origin.server, "tag", "v1.0.0", "main")
    git(origin.server, "tag", "stable", "main")
    before = git(origin.server, "for-each-ref")
    target, why = (text.format(url=origin.url, tip=origin.tip) for text in (target, why))

    told = start().failure(replace(shop, target=target))

    assert why in told
    assert git(origin.server, "for-each-ref") == before


@pytest.mark.parametrize("target", ["HEAD", ""])
def test_without_a_branch_the_default_branch_is_committed_to(
    origin: Origin, shop: Application, start: Start, target: str
) -> None:
    told = start().failure(replace(shop, target=target))

    assert told.endswith(committed(origin.tip))


def test_a_change_that_nobody_pushed_is_not_committed(
    origin: Origin, shop: Application, start: Start
) -> None:
    """A commit on a side branch that an Application is synced to once: no lock for main comes from it."""
    origin.ask("tool:v1.0.0")
    git(origin.clone, "push", "--quiet", "origin", f"{save(origin.clone)}:refs/heads/side")
    before = origin.tip

    told = start().failure(shop, git(origin.server, "rev-parse", "side"))

    assert "is not among the last 100 commits of branch main" in told
    assert origin.tip == before
