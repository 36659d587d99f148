"""check and policies: what is locked is judged again, offline, and entries that nothing needs are named."""

from pathlib import Path

import pytest
from rig.builders.projects import HOME, World, at, text_of
from rig.commands.run import Outcome, run_command

from render.system.files import LOCK_FILE

LICENCES = "licences: {allow: [Apache-2.0, MIT], unknown: refuse}"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """An app and a store with licences."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.publish("store v1.0.0", kind="Provider", annotations={"meta.crossplane.io/license": "Apache-2.0"})
    world.publish("app v1.0.0", {"store": "*"}, annotations={"meta.crossplane.io/license": "MIT"})
    return world


def locked(world: World, policy: str, *roots: str) -> Path:
    project = world.project("shop", *(roots or ("app",)), more=policy)
    done = run_command("lock", "shop")
    assert done.code == 0, done.stderr
    return project


def check(*options: str, operator: str = "") -> Outcome:
    Path("operator.yaml").write_text(operator)
    return run_command("check", *options, *(["--policy", "operator.yaml"] if operator else []), "shop")


def test_a_lock_that_policies_allow_is_well(world: World) -> None:
    locked(world, f"policy: {{{LICENCES}, sources: {{allow: [xpkg.example.org/acme/]}}}}\n")

    done = check(operator="policy: {sources: {allow: [xpkg.example.org]}}\n")

    assert (done.code, done.stdout) == (0, "1 folder, nothing found\n")
    assert "policy." not in done.stderr


def test_a_lock_that_was_edited_is_refused(world: World) -> None:
    project = locked(world, f"policy: {{{LICENCES}}}\n")
    (project / LOCK_FILE).write_bytes(text_of(project).replace(b"licence: Apache-2.0", b"licence: BUSL-1.1"))

    done = check("-o", "json")

    assert done.code == 4
    for fact in ('"rule": "policy-refused"', f"{HOME}/store v1.0.0 has the licence BUSL-1.1"):
        assert fact in done.stdout
    assert run_command("lock", "shop").code == 0
    assert check().code == 0


def test_the_operators_policy_is_applied_to_what_was_locked_without_it(world: World) -> None:
    locked(world, "")

    done = check(
        operator=f"policy: {{sources: {{deny: [{{prefix: {at('store')}, reason: it was sold}}]}}}}\n"
    )

    assert done.code == 4
    assert (
        f"shop: policy-refused: the lock of shop has packages that are not allowed\n  why:  {HOME}/store"
        in done.stdout
    )
    assert "it was sold (the operator's policy: policy.sources)" in done.stdout


def test_each_package_is_a_finding_at_its_own_line(world: World) -> None:
    project = locked(world, "")
    lines = text_of(project).decode().splitlines()

    done = check("-o", "github", operator="policy: {sources: {allow: [xpkg.example.org/labs]}}\n")

    for name in ("app", "store"):
        line = lines.index(f"  - source: {at(name)}") + 1 if f"  - source: {at(name)}" in lines else None
        assert line is None or f"line={line}," in done.stdout
    assert done.stdout.count("::error ") == 2


def test_age_is_not_repeated(world: World) -> None:
    locked(world, "")

    assert check(operator="policy: {age: {minimum: 7d}}\n").code == 0


def test_what_is_leaving_is_judged_by_the_operator_alone(world: World) -> None:
    world.publish("old v1.0.0")
    locked(world, "", "app", "old")
    deny = f"policy: {{sources: {{deny: [{{prefix: {at('old')}, reason: no longer}}]}}}}\n"
    locked(world, deny)

    assert check().code == 0
    assert check(operator=deny).code == 4


def test_entries_that_nothing_needs_are_named(world: World) -> None:
    policy = (
        "policy:\n"
        "  sources: {allow: [xpkg.example.org, other.example/x]}\n"
        f"  licences: {{allow: [Apache-2.0, MIT, 0BSD], clarify: [{{source: {at('gone')}, licence: MIT}}]}}\n"
        "  age: {minimum: 7d, unknown: allow, exempt: [other.example]}\n"
        "  exceptions:\n"
        f"    - {{source: {at('store')}, version: v1.0.0, rule: licences, reason: not needed}}\n"
        f"    - {{source: {at('store')}, version: v0.9.0, rule: age, reason: gone}}\n"
        f"    - {{source: {at('store')}, rule: age, reason: urgent}}\n"
        f"    - {{source: {at('app')}, rule: sources, reason: allowed anyway}}\n"
    )
    locked(world, policy)

    done = check()

    assert done.code == 0
    told = [line for line in done.stderr.splitlines() if "policy." in line]
    assert [line.partition("shop: ")[2] for line in told] == [
        "policy.sources.allow has other.example/x, and no locked package comes from there",
        "policy.licences.allow has 0BSD, and no locked package has this licence",
        f"policy.licences.clarify has {at('gone')}, which is not locked",
        "policy.age.exempt has other.example, and no locked package comes from there",
        f"policy.exceptions[0] is not needed: {at('store')} v1.0.0 needs no exception to licences, or is not locked",
        f"policy.exceptions[1] is not needed: {at('store')} v0.9.0 needs no exception to age, or is not locked",
        f"policy.exceptions[3] is not needed: {at('app')} needs no exception to sources, or is not locked",
    ]


def test_a_policy_of_the_operator_that_cannot_be_read_is_an_error(world: World) -> None:
    locked(world, "")

    done = check(operator="policy: 7\n")

    done.assert_refused(2, "the operator's policy")
