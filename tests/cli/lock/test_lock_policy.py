"""xplock lock with policies: versions that are not allowed are passed over, and errors name them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at, locked, moves, text_of
from rig.commands.run import Outcome, run_command
from rig.registry.layout_server import serve_layout

from render.app.operator_settings import OperatorSettings
from render.app.reporter import SilentReporter
from render.app.resolving.resolver import Resolver
from render.lifecycle.update import LockOptions
from render.limits import Limits
from render.lock.model import LockedPackage
from render.lock.text.file import read_lock
from render.references import parse_source
from render.system.files import LOCK_FILE

LICENCE = "meta.crossplane.io/license"
LONG_AGO = "2020-01-01T00:00:00Z"
OPEN = "policy: {licences: {allow: [Apache-2.0, MPL-2.0], unknown: refuse}}\n"
OLD = "policy: {age: {minimum: 7d}}\n"


def licensed(licence: str) -> dict[str, str]:
    return {LICENCE: licence}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A provider whose newest version has another licence, and an app that needs it."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    for version, licence in [("v1.0.0", "Apache-2.0"), ("v1.1.0", "MPL-2.0 OR MIT"), ("v2.0.0", "BUSL-1.1")]:
        world.publish(f"store {version}", kind="Provider", annotations=licensed(licence), created=LONG_AGO)
    world.publish("app v1.0.0", {"store": ">=v1"}, annotations=licensed("Apache-2.0"), created=LONG_AGO)
    return world


def lock(folder: Path, *options: str, operator: Path | None = None) -> Outcome:
    environ = {"XPLOCK_POLICY": str(operator)} if operator else {}
    return run_command("lock", *options, str(folder.relative_to(Path.cwd())), environ=environ)


def package(folder: Path, name: str) -> LockedPackage:
    found = read_lock(folder, Limits())
    assert found
    return found.packages[parse_source(at(name))]


def operator_file(folder: Path, text: str) -> Path:
    path = folder / "operator.yaml"
    path.write_text(text)
    return path


# Licences


def test_a_version_with_another_licence_is_passed_over(world: World) -> None:
    project = world.project("shop", "app", more=OPEN)

    done = lock(project)

    assert done.code == 0, done.stderr
    assert locked(project) == {"app": "v1.0.0", "store": "v1.1.0"}
    assert package(project, "store").licence == "MPL-2.0 OR MIT"
    assert f"{HOME}/store stays below v2.0.0: {HOME}/store v2.0.0 has the licence BUSL-1.1" in done.stderr


def test_without_a_policy_the_lock_says_nothing_about_licences_and_times(world: World) -> None:
    project = world.project("shop", "app")

    assert lock(project).code == 0

    assert locked(project)["store"] == "v2.0.0"
    assert b"licence" not in text_of(project)
    assert b"releasedAt" not in text_of(project)


def test_when_nothing_is_left_the_whole_error_names_what_why_and_next(world: World) -> None:
    project = world.project("shop", "app", "store:v2.0.0", more=OPEN)

    done = lock(project)

    done.assert_refused(
        4,
        f"{HOME}/store v2.0.0 has the licence BUSL-1.1, which is not allowed (xplock.yaml: policy.licences)",
    )
    assert done.stderr.splitlines()[0] == (
        f"error: no version of {HOME}/store suits its dependants and is allowed"
    )
    advice = done.stderr.partition("  next: ")[2].splitlines()
    assert advice[0] == f"ask for {HOME}/store v1.1.0 instead, which suits everyone (xplock.yaml: roots[1])"
    assert [line.strip() for line in advice[1:]] == [
        "or allow BUSL-1.1 in policy.licences of xplock.yaml",
        "or add an exception to policy.exceptions of xplock.yaml: "
        f"{{source: {HOME}/store, version: v2.0.0, rule: licences, reason: …}}",
    ]


def test_an_upgrade_to_a_refused_version_names_the_one_that_is_allowed(world: World) -> None:
    project = world.project("shop", "store", more=OPEN)
    assert lock(project).code == 0

    done = lock(project, "-P", "store=v2.0.0")

    done.assert_refused(4, "has the licence BUSL-1.1")
    assert locked(project)["store"] == "v1.1.0"


def test_upgrading_everything_stops_below_what_is_refused(world: World) -> None:
    project = world.project("shop", "store:v1.0.0", more=OPEN)
    assert lock(project).code == 0
    world.project("shop", "store", more=OPEN)

    assert lock(project, "-U").code == 0

    assert locked(project) == {"store": "v1.1.0"}


def test_what_is_locked_is_thrown_out_by_a_new_rule_about_licences(world: World) -> None:
    project = world.project("shop", "app")
    assert lock(project).code == 0
    assert locked(project)["store"] == "v2.0.0"
    world.project("shop", "app", more=OPEN)

    done = lock(project)

    assert locked(project)["store"] == "v1.1.0"
    assert (
        f"{HOME}/store changes from v2.0.0 to v1.1.0: {HOME}/store v2.0.0 has the licence BUSL-1.1"
        in done.stderr
    )
    assert "Updated" in done.stdout
    assert lock(project, "--check").code == 0


def test_an_exception_with_a_reason_lets_one_version_in(world: World) -> None:
    exceptions = (
        f"  exceptions: [{{source: {at('store')}, version: v2.0.0, rule: licences, reason: paid for}}]\n"
    )
    project = world.project(
        "shop", "store", more=f"policy:\n  licences: {{allow: [Apache-2.0]}}\n{exceptions}"
    )

    assert lock(project).code == 0

    assert locked(project) == {"store": "v2.0.0"}
    assert package(project, "store").licence == "BUSL-1.1"


def test_a_package_that_names_no_licence_is_a_warning_by_default(world: World) -> None:
    world.publish("silent v1.0.0")
    project = world.project("shop", "silent", more="policy: {licences: {allow: [MIT]}}\n")

    done = lock(project)

    assert done.code == 0
    assert f"warning: {HOME}/silent v1.0.0 does not say which licence it has" in done.stderr
    # It was asked, and said nothing.
    assert package(project, "silent").licence == "NOASSERTION"
    assert lock(project, "--check").code == 0


def test_a_clarified_licence_counts(world: World) -> None:
    world.publish("silent v1.0.0", annotations=licensed("Apache License 2"))
    clarify = f"clarify: [{{source: {at('silent')}, licence: MIT}}]"
    project = world.project(
        "shop", "silent", more=f"policy: {{licences: {{allow: [MIT], unknown: refuse, {clarify}}}}}\n"
    )

    done = lock(project)

    assert done.code == 0, done.stderr
    # In the package's own words: what a policy says of it is in the policy.
    assert package(project, "silent").licence == "Apache License 2"


def test_another_licence_shows_in_the_report_and_in_diff(world: World) -> None:
    project = world.project("shop", "store:v1.1.0", more="policy: {licences: {unknown: warn}}\n")
    assert lock(project).code == 0
    before = project / "before.lock"
    before.write_bytes(text_of(project))
    world.project("shop", "store:v2.0.0", more="policy: {licences: {unknown: warn}}\n")

    done = lock(project)

    assert "licence: MPL-2.0 OR MIT -> BUSL-1.1" in done.stdout
    compared = run_command("diff", str(before), str(project / LOCK_FILE))
    assert "licence: MPL-2.0 OR MIT -> BUSL-1.1" in compared.stdout


# Sources


def test_nothing_is_asked_of_a_source_that_is_denied(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_layout(world.layout, "xpkg.example.org") as server:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
        world.host = server.host
        deny = f"policy: {{sources: {{deny: [{{prefix: {at('store')}, reason: it calls home}}]}}}}\n"
        project = world.project("shop", "app", more=deny)

        done = lock(project)

    done.assert_refused(
        4,
        f"{HOME}/store is required, and its source is not allowed",
        f"{HOME}/store is denied: it calls home (xplock.yaml: policy.sources)",
        f"{HOME}/app v1.0.0 accepts {HOME}/store >=v1",
    )
    assert server.requests
    assert not [request.path for request in server.requests if "/store/" in request.path]


@pytest.mark.parametrize("root", ["store", "store:v2.0.0"])
def test_nothing_is_asked_of_a_root_that_is_denied(
    root: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve_layout(world.layout, "xpkg.example.org") as server:
        monkeypatch.setenv("XPLOCK_PLAIN_HTTP", server.host)
        world.host = server.host
        project = world.project("shop", root, more="policy: {sources: {allow: [xpkg.example.org/acm]}}\n")

        done = lock(project)

    done.assert_refused(4, f"{HOME}/store is below none of the allowed sources")
    assert not server.requests


def test_the_search_goes_around_a_denied_source(world: World) -> None:
    world.publish("shady v1.0.0")
    world.publish("tool v1.0.0")
    world.publish("tool v1.1.0", {"shady": "*"})
    project = world.project(
        "shop", "tool", more=f"policy: {{sources: {{deny: [{{prefix: {at('shady')}, reason: unknown}}]}}}}\n"
    )

    assert lock(project).code == 0

    assert locked(project) == {"tool": "v1.0.0"}


def test_a_move_leads_away_from_a_source_that_is_denied(world: World) -> None:
    world.publish("new-store v1.0.0", kind="Provider")
    project = world.project("shop", "app")
    assert lock(project).code == 0
    deny = f"policy: {{sources: {{deny: [{{prefix: {at('store')}, reason: it was sold}}]}}}}\n"
    world.project("shop", "app", more=deny + moves("store", "new-store"))

    done = lock(project)

    assert done.code == 0, done.stderr
    assert {"app", "new-store"} <= locked(project).keys()
    assert lock(project, "--check").code == 0


def test_a_package_that_leaves_may_be_of_a_denied_source(world: World) -> None:
    world.publish("shady v1.0.0")
    project = world.project("shop", "shady", "app")
    assert lock(project).code == 0
    deny = f"policy: {{sources: {{deny: [{{prefix: {at('shady')}, reason: unknown}}]}}}}\n"
    world.project("shop", "app", more=deny)

    done = lock(project)

    assert done.code == 0, done.stderr
    assert "Leaving" in done.stdout


# Age


def resolve(folder: Path, now: datetime, *, everything: bool = False, new: bool = False) -> dict[str, str]:
    operator = OperatorSettings.from_environment({"XPLOCK_CACHE_DIR": ""})
    options = LockOptions(upgrade_everything=everything)
    resolver = Resolver(operator, SilentReporter(), options=options, new=new, clock=lambda: now)
    found = resolver.resolve(folder)
    (folder / LOCK_FILE).write_bytes(found.text)
    return {source.name: one.version for source, one in found.after.packages.items()}


DAY = timedelta(days=1)
RELEASED = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def aged(world: World) -> World:
    """A tool with a release each week."""
    for i in range(3):
        created = f"{RELEASED + 7 * i * DAY:%Y-%m-%dT%H:%M:%SZ}"
        world.publish(f"tool v1.{i}.0", created=created)
    return world


def test_the_newest_version_that_is_old_enough_is_locked(aged: World) -> None:
    project = aged.project("shop", "tool", more=OLD)

    assert resolve(project, RELEASED + 16 * DAY) == {"tool": "v1.1.0"}
    assert package(project, "tool").released_at == "2026-05-08T00:00:00Z claimed"


def test_what_is_locked_is_not_refused_for_its_age(aged: World) -> None:
    project = aged.project("shop", "tool")
    assert resolve(project, RELEASED) == {"tool": "v1.2.0"}
    aged.project("shop", "tool", more=OLD)

    assert resolve(project, RELEASED + 16 * DAY) == {"tool": "v1.2.0"}
    assert resolve(project, RELEASED + 16 * DAY, everything=True) == {"tool": "v1.2.0"}
    assert resolve(project, RELEASED + 16 * DAY, new=True) == {"tool": "v1.1.0"}


def test_a_lock_is_the_same_at_any_time(aged: World) -> None:
    project = aged.project("shop", "tool", more=OLD)
    resolve(project, RELEASED + 16 * DAY)
    before = text_of(project)

    resolve(project, RELEASED + 500 * DAY)

    assert text_of(project) == before


def test_an_error_about_age_names_the_time_from_which_it_is_old_enough(world: World) -> None:
    world.publish("tool v1.0.0", created=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    project = world.project("shop", "tool", more="policy: {age: {minimum: 2w, unknown: warn}}\n")

    done = lock(project)

    done.assert_refused(4, f"{HOME}/tool v1.0.0 was released at ", "and is old enough from ")
    assert "version: v1.0.0, rule: age, reason: …" in done.stderr


@pytest.mark.parametrize(
    "created", ["", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]
)
def test_an_impossible_time_is_unknown_and_the_error_has_the_way_out(created: str, world: World) -> None:
    world.publish("tool v1.0.0", created=created)
    project = world.project("shop", "tool", more=OLD)

    done = lock(project)

    done.assert_refused(4, f"{HOME}/tool v1.0.0 ", "exempt: [xpkg.example.org/acme/]", "unknown: warn")


@pytest.mark.parametrize("way", ["exempt: [xpkg.example.org/acme/]", "unknown: warn", "unknown: allow"])
def test_every_way_out_of_an_unknown_age_works(way: str, world: World) -> None:
    world.publish("tool v1.0.0")
    project = world.project("shop", "tool", more=f"policy: {{age: {{minimum: 7d, {way}}}}}\n")

    assert lock(project).code == 0
    assert locked(project) == {"tool": "v1.0.0"}


# Offline, and again


def test_a_lock_with_a_policy_is_confirmed_from_the_cache(world: World, tmp_path: Path) -> None:
    environ = {"XPLOCK_CACHE_DIR": str(tmp_path / "cache")}
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        project = world.project("shop", "app", more=OPEN)
        environ["XPLOCK_PLAIN_HTTP"] = server.host
        assert run_command("lock", str(project), environ=environ).code == 0
        before = len(server.requests)

        assert run_command("lock", "--check", "--offline", str(project), environ=environ).code == 0

        assert len(server.requests) == before


# The operator's


DENY_STORE = "policy: {sources: {deny: [{prefix: xpkg.example.org/acme/store, reason: not here}]}}\n"


def test_both_policies_have_to_allow(world: World, tmp_path: Path) -> None:
    operator = operator_file(tmp_path, "policy: {licences: {allow: [Apache-2.0]}}\n")
    project = world.project(
        "shop", "app", more="policy: {licences: {allow: [MPL-2.0, Apache-2.0, BUSL-1.1]}}\n"
    )

    assert lock(project, operator=operator).code == 0
    assert locked(project)["store"] == "v1.0.0"


def test_an_option_names_the_operators_policy(world: World, tmp_path: Path) -> None:
    operator_file(tmp_path, DENY_STORE)
    project = world.project("shop", "app")

    done = lock(project, "--policy", "operator.yaml")

    done.assert_refused(4, "(the operator's policy: policy.sources)")


def test_a_fresh_lock_is_judged_by_the_operator_all_the_same(world: World, tmp_path: Path) -> None:
    project = world.project("shop", "app")
    assert lock(project).code == 0
    operator = operator_file(tmp_path, DENY_STORE)

    for options in ([], ["--check"], ["--offline"]):
        lock(project, *options, operator=operator).assert_refused(4, "not here")
    for resolve in ([], ["--resolve"]):
        done = run_command("render", *resolve, str(project), environ={"XPLOCK_POLICY": str(operator)})
        done.assert_refused(4, "not here")


def test_a_lock_that_was_made_without_the_operators_licences_is_refused(world: World, tmp_path: Path) -> None:
    operator = operator_file(tmp_path, "policy: {licences: {allow: [Apache-2.0, MPL-2.0]}}\n")
    project = world.project("shop", "app")
    assert lock(project).code == 0

    done = run_command("render", "shop", environ={"XPLOCK_POLICY": str(operator)})

    done.assert_refused(
        4,
        f"the lock does not say which licence {HOME}/app v1.0.0 has: it was made without this rule "
        "(the operator's policy: policy.licences)",
        "lock again, where these policies are set: xplock lock shop",
    )
    assert lock(project, operator=operator).code == 0
    assert run_command("render", "shop", environ={"XPLOCK_POLICY": str(operator)}).code == 0


def test_a_licence_that_an_operator_clarifies_or_excepts_needs_no_word_in_the_lock(
    world: World, tmp_path: Path
) -> None:
    clarify = f"clarify: [{{source: {at('store')}, licence: MIT}}]"
    exceptions = f"exceptions: [{{source: {at('app')}, rule: licences, reason: our own}}]"
    operator = operator_file(tmp_path, f"policy: {{licences: {{allow: [MIT], {clarify}}}, {exceptions}}}\n")
    project = world.project("shop", "app")
    assert lock(project).code == 0

    assert run_command("render", "shop", environ={"XPLOCK_POLICY": str(operator)}).code == 0


def test_no_exception_of_a_project_weakens_the_operator(world: World, tmp_path: Path) -> None:
    operator = operator_file(tmp_path, DENY_STORE)
    exceptions = f"policy: {{exceptions: [{{source: {at('store')}, rule: sources, reason: we want it}}]}}\n"
    project = world.project("shop", "app", more=exceptions)

    lock(project, operator=operator).assert_refused(4, "not here")


def test_no_rewrite_of_a_project_gets_around_the_operator(world: World, tmp_path: Path) -> None:
    operator = operator_file(
        tmp_path,
        "policy: {sources: {allow: [xpkg.example.org], deny: [{prefix: evil.example, reason: closed}]}}\n",
    )
    rewrites = f"rewrites: [{{from: {at('store')}, to: evil.example/store}}]\n"
    project = world.project("shop", "app", more=rewrites)

    done = lock(project, operator=operator)

    done.assert_refused(4, f"{HOME}/store is pulled from evil.example/store: evil.example/store is denied")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it cannot be read, or is empty"),
        ("{}\n", "it has no policy"),
        ("policy: {sauces: {}}\n", "policy.sauces: unknown key; did you mean sources?"),
        ("policy: {}\nroots: []\n", "roots: unknown key"),
        ("policy: [\n", "operator.yaml"),
        ("policy: {}\n---\npolicy: {}\n", "expected one document, found 2"),
        (
            "policy: {exceptions: [{source: a.example/b, rule: age}]}\n",
            "policy.exceptions[0].reason: it is missing",
        ),
    ],
)
def test_a_policy_of_the_operator_that_cannot_be_read_allows_nothing(
    text: str, told: str, world: World, tmp_path: Path
) -> None:
    operator = operator_file(tmp_path, text)
    project = world.project("shop", "app")

    lock(project, operator=operator).assert_refused(2, told)
    assert not (project / LOCK_FILE).exists()


@pytest.mark.parametrize("name", ["missing.yaml", "operator.yaml"])
def test_a_missing_file_and_one_relative_to_a_project_are_no_policy(
    name: str, world: World, tmp_path: Path
) -> None:
    operator_file(tmp_path, DENY_STORE)
    project = world.project("shop", "app")
    text = name if name == "operator.yaml" else str(tmp_path / name)

    run_command("lock", str(project), environ={"XPLOCK_POLICY": text}).assert_refused(2, "XPLOCK_POLICY")


def test_no_mirror_of_a_project_gets_around_the_operator(world: World, tmp_path: Path) -> None:
    operator = operator_file(tmp_path, "policy: {sources: {allow: [xpkg.example.org]}}\n")
    project = world.project("shop", "app", more="mirror: {to: evil.example/copies}\n")

    done = lock(project, operator=operator)

    done.assert_refused(4, "is pulled from evil.example/copies/xpkg.example.org/acme/app")
    allowing = operator_file(
        tmp_path, "policy: {sources: {allow: [xpkg.example.org, evil.example/copies]}}\n"
    )
    assert lock(project, operator=allowing).code == 0


def test_a_lock_that_cannot_be_confirmed_is_judged_by_what_it_says(world: World, tmp_path: Path) -> None:
    operator = operator_file(tmp_path, "policy: {licences: {allow: [Apache-2.0]}}\n")
    with serve_layout(world.layout, "xpkg.example.org") as server:
        world.host = server.host
        project = world.project("shop", "app", more="policy: {licences: {unknown: allow}}\n")
        environ = {"XPLOCK_PLAIN_HTTP": server.host}
        assert run_command("lock", str(project), environ=environ).code == 0

    assert run_command("lock", str(project), environ=environ).code == 0
    done = run_command("lock", str(project), environ={**environ, "XPLOCK_POLICY": str(operator)})

    done.assert_refused(4, "has the licence BUSL-1.1", "the operator's policy")
