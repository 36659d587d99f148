"""Credentials are found in the files of docker and podman, and shown in no text."""

import base64
import json
import os
import secrets
import select
import socket
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rig.time_limits import growing

from render.errors import InvalidInput, RenderError
from render.limits import LimitExceeded, Limits
from render.registry.credential_helpers import HelperFailed
from render.registry.credentials import Credentials, CredentialStore, InvalidCredentialFile

SECONDS = 30.0

WriteHelper = Callable[[str, str], None]


@pytest.fixture
def canary() -> str:
    """A secret of this test alone."""
    return f"canary-{secrets.token_hex(16)}"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The folder of the helpers, first in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


@pytest.fixture
def write_helper(programs: Path) -> WriteHelper:
    """Write a shell script as a credential helper."""

    def write(suffix: str, script: str) -> None:
        program = programs / f"docker-credential-{suffix}"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)

    return write


@pytest.fixture
def environ(tmp_path: Path, programs: Path) -> dict[str, str]:
    """An environment with a docker configuration folder and the helpers."""
    (tmp_path / "docker").mkdir()
    return {"DOCKER_CONFIG": str(tmp_path / "docker"), "PATH": f"{programs}:{os.defpath}"}


def write_config(environ: Mapping[str, str], document: object) -> Path:
    return write_file(Path(environ["DOCKER_CONFIG"], "config.json"), document)


def write_file(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    path.chmod(0o600)
    return path


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def entry(user: str) -> dict[str, str]:
    return {"auth": encoded(f"{user}:secret")}


def store(environ: Mapping[str, str], **limits: int) -> CredentialStore:
    return CredentialStore(environ, Limits(**limits), no_warning)


def no_warning(text: str) -> None:
    raise AssertionError(f"unexpected warning: {text}")


def find(
    environ: Mapping[str, str], registry: str = "ghcr.io", repository: str = "org/app"
) -> Credentials | None:
    return store(environ).find(registry, repository)


def user_for(environ: Mapping[str, str], registry: str, repository: str) -> str | None:
    found = find(environ, registry, repository)
    return found.username if found else None


def answering(user: str, secret: str) -> str:
    return f"echo '{json.dumps({'ServerURL': 'x', 'Username': user, 'Secret': secret})}'"


def everything_said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + str(error) + repr(error)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"auth": encoded("user:pass")}, Credentials("user", "pass")),
        ({"auth": encoded("user:pa:ss:")}, Credentials("user", "pa:ss:")),
        ({"auth": encoded("user:")}, Credentials("user", "")),
        ({"auth": encoded("user:päss")}, Credentials("user", "päss")),
        ({"auth": encoded("user:pass").rstrip("=")}, Credentials("user", "pass")),
        ({"auth": encoded("user:pass\0\0")}, Credentials("user", "pass")),
        ({"username": "user", "password": "pass"}, Credentials("user", "pass")),
        ({"auth": encoded("one:pass"), "username": "two"}, Credentials("one", "pass")),
        ({"identitytoken": "token"}, Credentials(identity_token="token")),
        ({"auth": encoded("0000:"), "identitytoken": "t"}, Credentials("0000", "", "t")),
        ({"registrytoken": "token"}, Credentials(registry_token="token")),
        ({"auth": None, "username": None}, None),
        ({"email": "user@example.org"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_an_entry_gives_its_credentials(
    environ: dict[str, str], fields: object, expected: Credentials | None
) -> None:
    write_config(environ, {"auths": {"ghcr.io": fields}})

    assert find(environ) == expected


@pytest.mark.parametrize(
    ("keys", "repository", "expected"),
    [
        (["ghcr.io", "ghcr.io/org", "ghcr.io/org/app"], "org/app", "ghcr.io/org/app"),
        (["ghcr.io", "ghcr.io/org", "ghcr.io/org/app"], "org/app/deep", "ghcr.io/org/app"),
        (["ghcr.io", "ghcr.io/org", "ghcr.io/org/app"], "org/other", "ghcr.io/org"),
        (["ghcr.io", "ghcr.io/org", "ghcr.io/org/app"], "organisation/app", "ghcr.io"),
        (["ghcr.io/org"], "other/app", None),
        (["ghcr.io:5000", "example.org", "ghcr.io.example.org"], "org/app", None),
        (["https://ghcr.io"], "org/app", "https://ghcr.io"),
        (["http://ghcr.io/v2/"], "org/app", "http://ghcr.io/v2/"),
        (["https://ghcr.io/v1/"], "org/app", "https://ghcr.io/v1/"),
        (["https://ghcr.io/org/"], "org/app", "https://ghcr.io/org/"),
        (["GHCR.io:443"], "org/app", "GHCR.io:443"),
        (["https://ghcr.io", "ghcr.io"], "org/app", "ghcr.io"),
        (["https://ghcr.io/", "https://ghcr.io"], "org/app", "https://ghcr.io/"),
    ],
)
def test_the_longest_key_that_names_the_repository_wins(
    environ: dict[str, str], keys: list[str], repository: str, expected: str | None
) -> None:
    write_config(environ, {"auths": {key: {"username": key} for key in keys}})

    assert user_for(environ, "ghcr.io", repository) == expected


def test_a_port_is_part_of_the_host(environ: dict[str, str]) -> None:
    write_config(environ, {"auths": {"[::1]:5000": entry("port"), "[::1]": entry("none")}})

    assert user_for(environ, "[::1]:5000", "a") == "port"
    assert user_for(environ, "[::1]", "a") == "none"


@pytest.mark.parametrize("registry", ["docker.io", "index.docker.io", "registry-1.docker.io"])
@pytest.mark.parametrize(
    "key",
    [
        "https://index.docker.io/v1/",
        "index.docker.io/v1/",
        "index.docker.io",
        "docker.io",
        "registry-1.docker.io",
        "docker.io/org",
    ],
)
def test_docker_hub_is_found_under_every_spelling(environ: dict[str, str], registry: str, key: str) -> None:
    write_config(environ, {"auths": {"ghcr.io": entry("other"), key: entry("hub")}})

    assert user_for(environ, registry, "org/app") == "hub"


def test_on_docker_hub_the_usual_key_wins(environ: dict[str, str]) -> None:
    write_config(
        environ, {"auths": {"docker.io": entry("short"), "https://index.docker.io/v1/": entry("usual")}}
    )

    assert user_for(environ, "docker.io", "org/app") == "usual"


def test_the_basic_header_is_user_and_password() -> None:
    assert Credentials("user", "pä:ss").basic == "Basic " + encoded("user:pä:ss")
    assert Credentials(identity_token="token").basic == ""


def test_credentials_keep_their_secrets_when_shown(canary: str) -> None:
    credentials = Credentials(canary, canary, canary, canary)

    assert canary not in f"{credentials} {credentials!r} {[credentials]}"


def test_the_first_file_that_exists_is_the_only_one_read(tmp_path: Path) -> None:
    environ = {
        name: str(tmp_path / name)
        for name in ("DOCKER_CONFIG", "HOME", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME")
    }
    below = {
        "DOCKER_CONFIG": "config.json",
        "REGISTRY_AUTH_FILE": "",
        "XDG_RUNTIME_DIR": "containers/auth.json",
        "XDG_CONFIG_HOME": "containers/auth.json",
    }
    files = [
        write_file(Path(environ[name], rest), {"auths": {"ghcr.io": entry(name)}})
        for name, rest in below.items()
    ]
    write_file(tmp_path / "HOME/.docker/config.json", {"auths": {"ghcr.io": entry("HOME")}})

    found = []
    for file in files:
        found.append(user_for(environ, "ghcr.io", "org/app"))
        file.unlink()

    assert found == list(below)
    assert find(environ) is None


def test_the_home_folder_counts_unless_docker_config_is_set(tmp_path: Path) -> None:
    write_file(tmp_path / ".docker/config.json", {"auths": {"ghcr.io": entry("home")}})

    assert user_for({"HOME": str(tmp_path)}, "ghcr.io", "a") == "home"
    assert user_for({"HOME": str(tmp_path), "DOCKER_CONFIG": ""}, "ghcr.io", "a") == "home"
    assert user_for({"HOME": str(tmp_path), "DOCKER_CONFIG": str(tmp_path)}, "ghcr.io", "a") is None


def test_podmans_file_in_the_home_folder_is_the_last_resort(tmp_path: Path) -> None:
    write_file(tmp_path / ".config/containers/auth.json", {"auths": {"ghcr.io": entry("podman")}})

    assert user_for({"HOME": str(tmp_path)}, "ghcr.io", "a") == "podman"


def test_without_any_setting_there_are_no_credentials() -> None:
    assert find({}) is None


def test_an_empty_setting_does_not_mean_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".docker/config.json", "config.json", "containers/auth.json"):
        write_file(tmp_path / name, {"auths": {"ghcr.io": entry("repository")}})
    monkeypatch.chdir(tmp_path)

    assert find(dict.fromkeys(["HOME", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR"], "")) is None


def test_the_environment_can_hold_a_configuration_that_goes_before_the_file(environ: dict[str, str]) -> None:
    write_config(environ, {"auths": {"ghcr.io": entry("file"), "quay.io": entry("file")}})
    environ["DOCKER_AUTH_CONFIG"] = json.dumps({"auths": {"ghcr.io": entry("environment")}})

    assert user_for(environ, "ghcr.io", "a") == "environment"
    assert user_for(environ, "quay.io", "a") == "file"


def test_a_file_is_read_once(environ: dict[str, str]) -> None:
    path = write_config(environ, {"auths": {"ghcr.io": entry("before")}})
    credentials = store(environ)
    before = credentials.find("ghcr.io", "a")
    path.unlink()

    assert credentials.find("ghcr.io", "b") == before == Credentials("before", "secret")


@pytest.mark.parametrize("text", ["", " \n", "{}", "null", '{"auths": null, "credHelpers": null}'])
def test_an_empty_file_is_accepted(environ: dict[str, str], text: str) -> None:
    write_config(environ, text)

    assert find(environ) is None


def test_the_searched_places_include_variables_files_and_helpers(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    environ |= {"REGISTRY_AUTH_FILE": str(tmp_path / "auth.json")}
    write_file(
        tmp_path / "auth.json",
        {"credsStore": "b", "credHelpers": {"x.io": "a"}, "auths": {"x.io": entry("u")}},
    )

    assert store(environ).looked_at() == (
        f"{tmp_path}/docker/config.json (from DOCKER_CONFIG, absent)",
        f"{tmp_path}/auth.json (from REGISTRY_AUTH_FILE)",
        f"docker-credential-a (credHelpers in {tmp_path}/auth.json)",
        f"docker-credential-b (credsStore in {tmp_path}/auth.json)",
    )


def test_the_searched_places_include_variables_that_are_not_set() -> None:
    assert store({}).looked_at() == (
        "HOME (not set)",
        "REGISTRY_AUTH_FILE (not set)",
        "XDG_RUNTIME_DIR (not set)",
        "HOME (not set)",
    )


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "the document"),
        ({"auths": []}, "auths"),
        ({"auths": {"ghcr.io": "CANARY"}}, "auths[ghcr.io]"),
        ({"auths": {"ghcr.io": ["CANARY"]}}, "auths[ghcr.io]"),
        ({"auths": {"ghcr.io": {"auth": 7}}}, "auths[ghcr.io].auth"),
        ({"auths": {"ghcr.io": {"auth": "CANARY"}}}, "auths[ghcr.io].auth"),
        ({"auths": {"ghcr.io": {"auth": encoded("CANARY")}}}, "auths[ghcr.io].auth"),
        ({"auths": {"ghcr.io": {"auth": encoded(":CANARY")}}}, "auths[ghcr.io].auth"),
        ({"auths": {"ghcr.io": {"auth": "/////"}}}, "auths[ghcr.io].auth"),
        ({"auths": {"user:CANARY@ghcr.io": {"auth": "-"}}}, "auths[ghcr.io].auth"),
        ({"auths": {"ghcr.io": {"username": {"CANARY": 1}}}}, "auths[ghcr.io].username"),
        ({"auths": {"ghcr.io": {"password": ["CANARY"]}}}, "auths[ghcr.io].password"),
        ({"auths": {"ghcr.io": {"password": "CANARY\ud800"}}}, "auths[ghcr.io].password"),
        ({"auths": {"ghcr.io": {"identitytoken": True}}}, "auths[ghcr.io].identitytoken"),
        ({"auths": {"ghcr.io": {"registrytoken": 1.5}}}, "auths[ghcr.io].registrytoken"),
        ({"auths": {"ghcr.io": {"registrytoken": "CANARY\r\nX: y"}}}, "auths[ghcr.io].registrytoken"),
        ({"credHelpers": "CANARY"}, "credHelpers"),
        ({"credHelpers": {"ghcr.io": 1}}, "credHelpers[ghcr.io]"),
        ({"credHelpers": {"ghcr.io": "../CANARY"}}, "credHelpers[ghcr.io]"),
        ({"credsStore": ["CANARY"]}, "credsStore"),
        ({"credsStore": "x CANARY"}, "credsStore"),
        ({"credsStore": "x\n"}, "credsStore"),
    ],
)
def test_a_malformed_entry_is_named_by_its_place_and_not_shown(
    environ: dict[str, str], canary: str, document: object, place: str
) -> None:
    hidden = encoded("CANARY")
    text = json.dumps(document).replace(hidden, encoded(canary)).replace("CANARY", canary)
    path = write_config(environ, text)

    with pytest.raises(InvalidCredentialFile) as raised:
        find(environ)

    assert str(path) in str(raised.value)
    assert any(line.startswith(f"{place}: ") for line in raised.value.why)
    assert canary not in everything_said(raised.value)


def test_everything_wrong_with_a_file_is_said_at_once(environ: dict[str, str]) -> None:
    write_config(environ, {"auths": {"a.io": 1, "b.io": {"auth": "-"}}, "credsStore": 2})

    with pytest.raises(InvalidCredentialFile) as raised:
        find(environ)

    assert len(raised.value.why) == 3


@pytest.mark.parametrize(
    "text", ['{"auths": CANARY', '"CANARY', "CANARY", "[" * 100_000, "1" * 10_000, "\ud800"]
)
def test_a_file_that_is_not_json_is_named_and_not_shown(
    environ: dict[str, str], canary: str, text: str
) -> None:
    path = write_config(environ, {})
    path.write_bytes(text.replace("CANARY", canary).encode(errors="surrogatepass"))

    with pytest.raises(InvalidInput) as raised:
        find(environ)

    assert str(path) in str(raised.value)
    assert canary not in everything_said(raised.value)


def test_a_broken_configuration_in_the_environment_is_named_and_not_shown(canary: str) -> None:
    with pytest.raises(InvalidCredentialFile, match="DOCKER_AUTH_CONFIG") as raised:
        find({"DOCKER_AUTH_CONFIG": canary})

    assert canary not in everything_said(raised.value)


def test_the_searched_places_include_an_unreadable_file(environ: dict[str, str]) -> None:
    path = write_config(environ, "{")

    assert store(environ).looked_at() == (f"{path} (from DOCKER_CONFIG)",)


def test_a_file_as_large_as_the_limit_is_read_and_a_larger_one_refused(environ: dict[str, str]) -> None:
    path = write_config(environ, {"auths": {"ghcr.io": entry("user")}})
    size = path.stat().st_size

    assert store(environ, manifest_bytes=size).find("ghcr.io", "a") is not None
    with pytest.raises(LimitExceeded, match="XPLOCK_LIMIT_MANIFEST_BYTES") as raised:
        store(environ, manifest_bytes=size - 1).find("ghcr.io", "a")

    assert str(path) in str(raised.value)


def test_of_a_file_without_end_only_the_beginning_is_read(environ: dict[str, str]) -> None:
    os.truncate(write_config(environ, {}), 1 << 36)

    with pytest.raises(LimitExceeded):
        find(environ)


def test_a_pipe_in_the_place_of_the_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")

    with pytest.raises(InvalidCredentialFile, match="not a regular file"):
        find({"DOCKER_CONFIG": str(tmp_path)})


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    # Nobody, not even root, can open a socket.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "config.json"))

        with pytest.raises(InvalidCredentialFile, match="cannot be read"):
            find({"DOCKER_CONFIG": str(tmp_path)})


def test_a_folder_in_the_place_of_the_file_counts_as_absent(tmp_path: Path) -> None:
    (tmp_path / "config.json").mkdir()

    assert find({"DOCKER_CONFIG": str(tmp_path)}) is None


def test_a_file_with_credentials_that_everybody_can_read_is_used_with_one_warning(
    environ: dict[str, str], canary: str
) -> None:
    path = write_config(environ, {"auths": {"ghcr.io": {"username": canary, "password": canary}}})
    path.chmod(0o644)
    warnings: list[str] = []
    credentials = CredentialStore(environ, Limits(), warnings.append)

    found = [credentials.find("ghcr.io", repository) for repository in ("a", "b")]

    assert found == [Credentials(canary, canary)] * 2
    assert len(warnings) == 1
    assert str(path) in warnings[0]
    assert canary not in warnings[0]


def test_a_file_without_credentials_may_be_read_by_everybody(environ: dict[str, str]) -> None:
    write_config(environ, {"auths": {"ghcr.io": {}}}).chmod(0o644)

    assert find(environ) is None


def test_a_helper_is_asked_for_the_host_it_is_configured_for(
    environ: dict[str, str], write_helper: WriteHelper
) -> None:
    write_helper("mine", answering("helper", "secret"))
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}, "auths": {"quay.io": entry("file")}})

    assert find(environ, "ghcr.io") == Credentials("helper", "secret")
    assert find(environ, "quay.io") == Credentials("file", "secret")
    assert find(environ, "example.org") is None


@pytest.mark.parametrize("auths", [{}, {"ghcr.io": {}}, {"https://ghcr.io": {}}])
def test_the_store_is_asked_with_an_empty_entry_and_without_one(
    environ: dict[str, str], write_helper: WriteHelper, auths: object
) -> None:
    write_helper("all", answering("store", "secret"))
    write_config(environ, {"credsStore": "all", "auths": auths})

    assert find(environ) == Credentials("store", "secret")


def test_a_helper_for_the_host_goes_before_the_store(
    environ: dict[str, str], write_helper: WriteHelper
) -> None:
    write_helper("mine", answering("mine", "secret"))
    write_helper("all", answering("all", "secret"))
    write_config(environ, {"credsStore": "all", "credHelpers": {"ghcr.io": "mine", "quay.io": ""}})

    assert user_for(environ, "ghcr.io", "a") == "mine"
    assert user_for(environ, "gcr.io", "a") == "all"
    assert user_for(environ, "quay.io", "a") is None


def test_the_store_goes_before_the_entry_and_the_entry_is_used_when_the_store_has_none(
    environ: dict[str, str], write_helper: WriteHelper
) -> None:
    write_helper(
        "some",
        f"if [ $(cat) = ghcr.io ]; then {answering('store', 's')}; exit; fi; "
        "echo credentials not found in native keychain; exit 1",
    )
    write_config(
        environ, {"credsStore": "some", "auths": {"ghcr.io": entry("file"), "quay.io": entry("file")}}
    )

    assert user_for(environ, "ghcr.io", "a") == "store"
    assert user_for(environ, "quay.io", "a") == "file"


def test_a_token_from_a_helper_is_an_identity_token(
    environ: dict[str, str], write_helper: WriteHelper
) -> None:
    write_helper("mine", answering("<token>", "refresh"))
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    assert find(environ) == Credentials(identity_token="refresh")


@pytest.mark.parametrize(
    ("registry", "auths", "asked"),
    [
        ("ghcr.io", {}, ["get ghcr.io"]),
        ("localhost:5000", {}, ["get localhost:5000"]),
        ("ghcr.io", {"ghcr.io/org": {}}, ["get ghcr.io/org", "get ghcr.io"]),
        ("ghcr.io", {"https://ghcr.io/v2/": {}}, ["get ghcr.io", "get https://ghcr.io/v2/"]),
        ("docker.io", {}, ["get https://index.docker.io/v1/"]),
        ("docker.io", {"docker.io": {}}, ["get https://index.docker.io/v1/", "get docker.io"]),
        ("ghcr.io", {"https://ghcr.io" + "/" * 2_000: {}}, ["get ghcr.io"]),
    ],
)
def test_a_helper_gets_the_server_on_stdin(
    tmp_path: Path,
    environ: dict[str, str],
    write_helper: WriteHelper,
    registry: str,
    auths: object,
    asked: list[str],
) -> None:
    environ["RECORD"] = str(tmp_path / "record")
    write_helper(
        "mine", 'echo "$@" "$(cat)" >> "$RECORD"; echo credentials not found in native keychain; exit 1'
    )
    write_config(environ, {"credsStore": "mine", "auths": auths})

    assert find(environ, registry) is None
    assert (tmp_path / "record").read_text().splitlines() == asked


def test_a_secret_may_be_anything(environ: dict[str, str], write_helper: WriteHelper) -> None:
    write_helper("mine", answering("user", "credentials not found"))
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    assert find(environ) == Credentials("user", "credentials not found")


@pytest.mark.parametrize("script", [answering("u", "s"), "exit 1", "echo credentials not found; exit 1"])
def test_a_helper_is_asked_once_per_server_by_any_number_of_threads(
    tmp_path: Path, environ: dict[str, str], write_helper: WriteHelper, script: str
) -> None:
    environ["RECORD"] = str(tmp_path / "record")
    write_helper("mine", f'echo x >> "$RECORD"; {script}')
    write_config(environ, {"credsStore": "mine"})
    credentials = store(environ)
    outcomes: list[Any] = []

    def look() -> None:
        try:
            outcomes.append(credentials.find("ghcr.io", "org/app"))
        except HelperFailed as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outcomes == [outcomes[0]] * 8
    assert (tmp_path / "record").read_text() == "x\n"


@pytest.mark.parametrize(
    "script",
    [
        "echo $CANARY; echo $CANARY >&2; exit 1",
        "echo $CANARY; exit 0",
        "echo $CANARY >&2",
        "echo '\"'$CANARY'\"'",
        'echo \'{"Username": ["\'$CANARY\'"], "Secret": "x"}\'',
        'echo \'{"Username": "x", "Secret": {"\'$CANARY\'": 1}}\'',
        'echo \'{"Username": "x", "Secret": "\'$CANARY\'\\ud800"}\'',
        "printf '%s\\377' $CANARY",
        "echo $CANARY; kill -9 $$",
        "while :; do echo $CANARY$CANARY$CANARY; done",
        "exec yes $CANARY",
    ],
)
def test_the_error_names_a_failed_helper_without_its_output(
    environ: dict[str, str],
    write_helper: WriteHelper,
    canary: str,
    script: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    environ["CANARY"] = canary
    write_helper("mine", script)
    path = write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    with pytest.raises(HelperFailed) as raised:
        find(environ)

    assert raised.value.what == "docker-credential-mine gave no credentials for ghcr.io"
    assert str(path) in str(raised.value)
    assert canary not in everything_said(raised.value)
    assert capfd.readouterr() == ("", "")


def test_a_helper_may_write_as_much_as_the_bound_and_no_more(
    environ: dict[str, str], write_helper: WriteHelper
) -> None:
    write_helper(
        "mine",
        """printf '{"Username": "u", "Secret": "s"}'; head -c $((65536 - 32 + MORE)) /dev/zero | tr '\\0' ' '""",
    )
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    assert find({**environ, "MORE": "0"}) == Credentials("u", "s")
    with pytest.raises(HelperFailed, match="longer than 64 KiB"):
        find({**environ, "MORE": "1"})


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600 & wait",
        "sleep 600 & exit 0",
        "exec >&-; sleep 600",
        "while :; do echo; sleep 0.1; done",
    ],
)
def test_a_helper_that_hangs_is_ended_with_its_children(
    tmp_path: Path, environ: dict[str, str], write_helper: WriteHelper, script: str
) -> None:
    # A process that still lives holds the writing end of this pipe.
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    started = tmp_path / "started"
    environ |= {"ALIVE": str(tmp_path / "alive"), "STARTED": str(started)}
    write_helper("mine", f'exec 9>"$ALIVE"; : >"$STARTED"; {script}')
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    for seconds in growing(1, until=started.exists):
        with pytest.raises(HelperFailed, match="XPLOCK_LIMIT_HELPER_SECONDS"):
            store(environ, helper_seconds=int(seconds)).find("ghcr.io", "org/app")

    assert select.select([alive], [], [], SECONDS)[0], "a process is still alive"
    assert os.read(alive, 100) == b""
    os.close(alive)


def test_a_helper_need_not_read_its_input(environ: dict[str, str], write_helper: WriteHelper) -> None:
    write_helper("mine", f"exec <&-; {answering('u', 's')}")
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    assert find(environ) == Credentials("u", "s")


def test_a_helper_that_answers_nothing_has_nothing(
    environ: dict[str, str], write_helper: WriteHelper
) -> None:
    write_helper("mine", answering("", ""))
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    assert find(environ) is None


def test_a_helper_gets_the_environment_and_only_that(
    environ: dict[str, str], write_helper: WriteHelper, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_helper("mine", """echo '{"Username": "'$GIVEN'", "Secret": "'$OTHER'"}'""")
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})
    monkeypatch.setenv("OTHER", "ours")

    assert find({**environ, "GIVEN": "given"}) == Credentials("given", "")


def test_a_helper_that_is_not_there_is_an_error_that_names_it(environ: dict[str, str]) -> None:
    path = write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    with pytest.raises(HelperFailed, match="no folder in PATH has it") as raised:
        find(environ)

    assert "docker-credential-mine" in raised.value.what
    assert str(path) in raised.value.why[0]


def test_a_helper_that_cannot_be_started_is_an_error(environ: dict[str, str], programs: Path) -> None:
    program = programs / "docker-credential-mine"
    program.write_text("#!/does/not/exist\n")
    program.chmod(0o700)
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})

    with pytest.raises(HelperFailed, match="cannot be started"):
        find(environ)


@pytest.mark.parametrize("path", ["", ".", ":", "bin", "./bin::"])
def test_helpers_are_not_looked_for_in_the_current_folder(
    environ: dict[str, str],
    programs: Path,
    write_helper: WriteHelper,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
) -> None:
    write_helper("mine", answering("repository", "secret"))
    write_config(environ, {"credHelpers": {"ghcr.io": "mine"}})
    monkeypatch.chdir(programs if path != "bin" else programs.parent)

    with pytest.raises(RenderError, match="no folder in PATH has it"):
        find({**environ, "PATH": path})
