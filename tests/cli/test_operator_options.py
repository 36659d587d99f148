"""The operator's settings as options: each does what its variable does, counts more, and is told by its own name."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from rig.builders.packages import CONFIGURATION, build_file
from rig.commands.run import files_below, run_command
from rig.git.repositories import SHOP, TWO, shared_shop
from rig.registry.client import logins
from rig.registry.docker import RunningRegistry
from rig.registry.http_server import Certificate, silence
from rig.registry.in_memory import MiniRegistry
from rig.registry.package_images import add_package

from render.cli.main import xplock
from render.cli.operator_options import Setting
from render.system.files import LOCK_FILE

NOT_LISTED = {"XPLOCK_PLAIN_HTTP": "registry.example"}


@pytest.fixture
def mini() -> Iterator[MiniRegistry]:
    """A registry without TLS, with a package in it."""
    with MiniRegistry() as running:
        add_package(running)
        yield running


def project(folder: Path, host: str) -> Path:
    """Write a project that asks for the package of a registry."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "xplock.yaml").write_text(f"roots:\n  - package: {host}/some/name\n")
    return folder


def locked(folder: Path, host: str) -> Path:
    """Write a project, and lock it."""
    assert run_command("lock", str(project(folder, host)), environ={"XPLOCK_PLAIN_HTTP": host}).code == 0
    return folder


# Each option does something


ASKING = ["lock", "lock --check", "render --resolve", "verify", "outdated"]


@pytest.mark.parametrize("command", ASKING)
def test_every_command_that_asks_takes_a_host_without_tls(
    command: str, mini: MiniRegistry, tmp_path: Path
) -> None:
    folder = str(locked(tmp_path / "shop", mini.host))
    if command == "lock":
        (tmp_path / "shop" / LOCK_FILE).unlink()
    # What is locked is looked up again.
    upgrade = ["-U"] if command.startswith("lock") else []
    if command == "render --resolve":
        with Path(folder, "xplock.yaml").open("a") as file:
            file.write("families: free\n")
    words = [*command.split(), *upgrade, folder]

    without = run_command(*words)
    before = len(mini.requests)
    done = run_command(*words, "--plain-http", mini.host)

    assert without.code == 1
    assert (done.code, len(mini.requests) > before) == (0, True), done.stderr


def test_packages_are_pushed_and_shown_where_tls_is_not_spoken(
    open_registry: RunningRegistry, tmp_path: Path
) -> None:
    file = str(build_file(tmp_path / "a.xpkg", {"crossplane.yaml": CONFIGURATION}))
    reference = f"{open_registry.host}/options/plain:v1.0.0"
    plain = ("--plain-http", open_registry.host)

    refused = [run_command("package", "push", file, reference), run_command("package", "inspect", reference)]
    pushed = run_command("package", "push", file, reference, *plain)
    shown = run_command("package", "inspect", reference, *plain)

    assert [outcome.code for outcome in refused] == [1, 1]
    assert (pushed.code, shown.code) == (0, 0)
    assert pushed.stdout.startswith(f"{reference}@sha256:")


def test_a_list_may_be_repeated(mini: MiniRegistry, tmp_path: Path) -> None:
    folder = str(project(tmp_path / "shop", mini.host))

    done = run_command("lock", folder, "--plain-http", "registry.example", f"--plain-http={mini.host}")

    assert done.code == 0, done.stderr


def test_authorities_are_trusted(certificate: Certificate, tmp_path: Path) -> None:
    with MiniRegistry(certificate=certificate) as mini:
        add_package(mini)
        folder = str(project(tmp_path / "shop", mini.host))
        without = run_command("lock", folder)
        unasked = mini.requests
        done = run_command("lock", folder, "--ca-bundle", str(certificate.file))

    assert (without.code, unasked, done.code) == (1, (), 0)


def test_a_token_server_is_trusted_with_credentials(token_registry: RunningRegistry, tmp_path: Path) -> None:
    assert token_registry.tokens
    host, realm = token_registry.host, token_registry.tokens.server.host
    file = str(build_file(tmp_path / "a.xpkg", {"crossplane.yaml": CONFIGURATION}))
    push = ("package", "push", file, f"{host}/options/token:v1.0.0", "--plain-http", f"{host},{realm}")
    robin = logins({host: token_registry.password})

    without = run_command(*push, environ=robin)
    done = run_command(*push, "--trusted-realm", f"{host}={realm}", environ=robin)

    assert (without.code, done.code) == (1, 0), done.stderr


def test_no_other_host_is_asked_than_those_that_are_allowed(mini: MiniRegistry, tmp_path: Path) -> None:
    folder = str(project(tmp_path / "shop", mini.host))
    plain = ("--plain-http", mini.host)

    refused = run_command("lock", folder, *plain, "--allowed-registry", "registry.example")
    asked = mini.requests
    both = ("--allowed-registry", "registry.example", "--allowed-registry", mini.host)
    done = run_command("lock", folder, *plain, *both)

    assert (refused.code, asked, done.code) == (1, (), 0)


def test_a_run_ends_at_its_deadline(mini: MiniRegistry, tmp_path: Path) -> None:
    mini.override("/v2/some/name/tags/list", silence())
    folder = str(project(tmp_path / "shop", mini.host))

    done = run_command("lock", folder, "--plain-http", mini.host, "--deadline", "0.5")

    done.assert_refused(1, "out of time after 0.5 seconds", mini.host)


def test_a_commit_has_a_deadline_too(tmp_path: Path) -> None:
    _, clone = shared_shop(tmp_path)
    (clone / SHOP).write_bytes(TWO)

    done = run_command("commit", str(clone / "shop"), "--deadline", "0.000001")

    done.assert_refused(1, "out of time after 1e-06 seconds", "git")


def test_the_cache_is_where_it_is_told_or_nowhere(mini: MiniRegistry, tmp_path: Path) -> None:
    folder = project(tmp_path / "shop", mini.host)
    plain = ("--plain-http", mini.host)
    usual, other = tmp_path / "usual", tmp_path / "other"
    environ = {"XPLOCK_CACHE_DIR": str(usual)}

    for cache in (["--no-cache"], ["--cache-dir", ""], ["--cache-dir", str(other)]):
        (folder / LOCK_FILE).unlink(missing_ok=True)
        assert (files_below(usual), files_below(other)) == ([], [])
        assert run_command("lock", str(folder), *plain, *cache, environ=environ).code == 0

    assert files_below(usual) == []
    assert files_below(other) != []


# Which one counts


def test_an_option_counts_instead_of_its_variable(mini: MiniRegistry, tmp_path: Path) -> None:
    folder = str(project(tmp_path / "shop", mini.host))
    listed = {"XPLOCK_PLAIN_HTTP": mini.host}

    replaced = run_command("lock", folder, "--plain-http", "registry.example", environ=listed)
    unasked = mini.requests
    done = run_command("lock", folder, "--plain-http", mini.host, environ=NOT_LISTED)

    assert (replaced.code, unasked, done.code) == (1, (), 0)


@pytest.mark.parametrize(
    ("variable", "text", "option"),
    [
        ("XPLOCK_CA_BUNDLE", "/nowhere/ca.pem", "--ca-bundle={certificate}"),
        ("XPLOCK_TRUSTED_REALMS", "no pair", "--trusted-realm=registry.example=auth.example"),
        ("XPLOCK_ALLOWED_REGISTRIES", "registry.example", "--allowed-registry={host}"),
        ("XPLOCK_DEADLINE", "never", "--deadline=60"),
        ("XPLOCK_CACHE_DIR", os.devnull, "--no-cache"),
    ],
)
def test_a_variable_does_not_matter_to_whom_has_its_option(
    variable: str, text: str, option: str, certificate: Certificate, tmp_path: Path
) -> None:
    with MiniRegistry(certificate=certificate) as mini:
        add_package(mini)
        folder = str(project(tmp_path / "shop", mini.host))
        trusted = {"SSL_CERT_FILE": str(certificate.file)} if variable != "XPLOCK_CA_BUNDLE" else {}
        given = option.format(certificate=certificate.file, host=mini.host)
        environ = {**trusted, variable: text}
        without = run_command("lock", "--dry-run", folder, environ=environ)
        done = run_command("-q", "lock", "--dry-run", folder, given, environ=environ)

    assert without.code != 0 or "warning" in without.stderr
    assert (done.code, done.stderr) == (0, "")


def test_an_option_is_for_one_call(
    mini: MiniRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XPLOCK_DEADLINE", "60")
    before = dict(os.environ)

    done = run_command(
        "lock", str(project(tmp_path, mini.host)), "--plain-http", mini.host, "--deadline", "30", "--no-cache"
    )
    refused = run_command("lock", "--deadline", "30", "--plain-http", "a/b")

    assert (done.code, refused.code) == (0, 2)
    assert dict(os.environ) == before


# What is wrong with one


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (["--plain-http", "http://a.example"], "--plain-http: 'http://a.example' is not a host"),
        (["--plain-http", "a.example,b/c"], "--plain-http: 'b/c' is not a host"),
        (["--allowed-registry", "*.example"], "--allowed-registry: '*.example' is not a host"),
        (["--trusted-realm", "a.example"], "--trusted-realm: 'a.example' is not a pair"),
        (["--trusted-realm", "a.example=/b"], "--trusted-realm: '/b' is not a host"),
        (["--deadline", "soon"], "--deadline=soon is not a time"),
        (["--deadline", "-1"], "--deadline=-1 is not a time"),
        (["--deadline", ""], "--deadline= is not a time"),
        (["--ca-bundle", "missing.pem"], "invalid value for '--ca-bundle'"),
        (["--ca-bundle", "."], "invalid value for '--ca-bundle'"),
        (["--cache-dir", "xplock.yaml"], "invalid value for '--cache-dir'"),
        (["--cache-dir", "x", "--no-cache"], "--cache-dir and --no-cache contradict each other"),
    ],
)
def test_a_text_that_cannot_be_meant_is_told_with_the_option(
    given: list[str], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project(tmp_path, "registry.example"))

    done = run_command("lock", *given)

    assert (done.code, done.stdout) == (2, "")
    assert f"error: {what}\n" in done.stderr
    assert "XPLOCK_" not in done.stderr


def test_rendering_what_is_locked_asks_nobody_and_takes_none(mini: MiniRegistry, tmp_path: Path) -> None:
    folder = str(locked(tmp_path / "shop", mini.host))

    done = run_command("render", folder, "--deadline", "30")

    assert done.code == 2
    assert "the operator's settings need --resolve" in done.stderr


# Who has which


def options_of(*path: str) -> dict[str, str]:
    """Return the settings of a command with their variables."""
    group: click.Command = xplock
    for name in path:
        assert isinstance(group, click.Group)
        found = group.get_command(click.Context(group), name)
        assert found
        group = found
    return {option.opts[0]: option.variable for option in group.params if isinstance(option, Setting)}


REGISTRIES = {
    "--plain-http": "XPLOCK_PLAIN_HTTP",
    "--ca-bundle": "XPLOCK_CA_BUNDLE",
    "--trusted-realm": "XPLOCK_TRUSTED_REALMS",
    "--allowed-registry": "XPLOCK_ALLOWED_REGISTRIES",
    "--deadline": "XPLOCK_DEADLINE",
}
GIT_TOKEN = {"--git-token-file": "XPLOCK_GIT_TOKEN_FILE"}
TRUSTED_ROOT = {"--trusted-root": "XPLOCK_TRUSTED_ROOT"}
POLICY = {"--policy": "XPLOCK_POLICY"}
CACHE = {"--cache-dir": "XPLOCK_CACHE_DIR", "--no-cache": "XPLOCK_CACHE_DIR"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("lock", CACHE | REGISTRIES | GIT_TOKEN | POLICY | TRUSTED_ROOT),
        ("render", CACHE | REGISTRIES | POLICY | TRUSTED_ROOT),
        ("outdated", CACHE | REGISTRIES),
        # A registry is asked what it has now.
        ("verify", REGISTRIES | TRUSTED_ROOT),
        ("package push", CACHE | REGISTRIES),
        ("package inspect", CACHE | REGISTRIES),
        ("commit", GIT_TOKEN | {"--ca-bundle": "XPLOCK_CA_BUNDLE", "--deadline": "XPLOCK_DEADLINE"}),
        ("check", POLICY),
        ("plugin generate", {}),
    ],
)
def test_a_command_has_the_settings_that_it_uses(command: str, expected: dict[str, str]) -> None:
    assert options_of(*command.split()) == expected


def test_the_help_lists_them_apart_with_their_variables() -> None:
    usual, _, settings = run_command("lock", "--help").stdout.partition("\nOperator's settings:\n")

    assert "--help " in usual
    for flag, variable in (CACHE | REGISTRIES | GIT_TOKEN).items():
        assert f"\n  {flag} " not in usual
        assert f"  {flag} " in settings
        assert f"[{variable}]" in settings
