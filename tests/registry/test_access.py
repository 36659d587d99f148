"""The operator's settings for registries: hosts in one spelling, and no setting wider than written."""

from pathlib import Path

import pytest

from render.errors import InvalidInput
from render.registry.access import RegistrySettings


def test_without_variables_nothing_is_insecure_and_everything_may_be_asked() -> None:
    settings = RegistrySettings.from_environment({})

    assert settings.plain_http == frozenset()
    assert settings.allowed is None
    assert settings.ca_bundle is None


@pytest.mark.parametrize("name", ["XPLOCK_PLAIN_HTTP", "XPLOCK_ALLOWED_REGISTRIES"])
@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("registry.example", {"registry.example"}),
        ("a.example:5000,b.example", {"a.example:5000", "b.example"}),
        (" a.example , ,b.example,", {"a.example", "b.example"}),
        ("Registry.Example:443", {"registry.example"}),
        ("registry", {"registry"}),
        ("registry:5000", {"registry:5000"}),
        ("localhost:5000", {"localhost:5000"}),
        ("127.0.0.1:5000", {"127.0.0.1:5000"}),
        ("[::1]:5000", {"[::1]:5000"}),
        ("[0:0:0:0:0:0:0:1]:5000", {"[::1]:5000"}),
    ],
)
def test_hosts_are_read_into_the_spelling_of_sources(name: str, text: str, hosts: set[str]) -> None:
    settings = RegistrySettings.from_environment({name: text})

    found = settings.plain_http if name == "XPLOCK_PLAIN_HTTP" else settings.allowed
    assert found == frozenset(hosts)


@pytest.mark.parametrize("name", ["XPLOCK_PLAIN_HTTP", "XPLOCK_ALLOWED_REGISTRIES"])
@pytest.mark.parametrize(
    "text",
    [
        "http://registry.example",
        "registry.example/team",
        "registry.example/",
        "robin@registry.example",
        "*.example",
        "registry.example:port",
        "registry.example:0",
        "registry.example:99999",
        "a b",
        "[::1",
    ],
)
def test_the_error_for_an_invalid_host_names_the_variable(name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        RegistrySettings.from_environment({name: f"good.example,{text}"})

    assert name in str(refusal.value)
    assert text in str(refusal.value)


@pytest.mark.parametrize(("text", "allowed"), [("", None), ("  ", None), (",", frozenset())])
def test_a_list_of_allowed_hosts_without_any_allows_none(text: str, allowed: object) -> None:
    assert RegistrySettings.from_environment({"XPLOCK_ALLOWED_REGISTRIES": text}).allowed == allowed


def test_large_registries_have_their_known_token_servers() -> None:
    realms = RegistrySettings.from_environment({}).trusted_realms

    assert realms == {
        "registry-1.docker.io": {"auth.docker.io"},
        "registry.gitlab.com": {"gitlab.com"},
        "nvcr.io": {"authn.nvidia.com"},
    }


def test_trusted_realms_add_to_the_known_ones() -> None:
    text = "a.example=auth.example:8443, a.example = b.example ,nvcr.io=mirror.example"

    realms = RegistrySettings.from_environment({"XPLOCK_TRUSTED_REALMS": text}).trusted_realms

    assert realms["a.example"] == {"auth.example:8443", "b.example"}
    assert realms["nvcr.io"] == {"authn.nvidia.com", "mirror.example"}
    assert realms["registry.gitlab.com"] == {"gitlab.com"}


def test_settings_of_one_run_do_not_reach_the_next() -> None:
    RegistrySettings.from_environment({"XPLOCK_TRUSTED_REALMS": "nvcr.io=evil.example"})

    assert RegistrySettings.from_environment({}).trusted_realms["nvcr.io"] == {"authn.nvidia.com"}


@pytest.mark.parametrize(
    "text", ["auth.example", "a.example=", "=auth.example", "a.example=https://auth.example"]
)
def test_a_realm_without_its_registry_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="XPLOCK_TRUSTED_REALMS"):
        RegistrySettings.from_environment({"XPLOCK_TRUSTED_REALMS": text})


@pytest.mark.parametrize(("text", "path"), [("", None), ("/etc/ca.pem", Path("/etc/ca.pem"))])
def test_extra_authorities_come_from_a_file(text: str, path: Path | None) -> None:
    assert RegistrySettings.from_environment({"XPLOCK_CA_BUNDLE": text}).ca_bundle == path


def test_the_environment_is_not_shown(canary: str) -> None:
    settings = RegistrySettings.from_environment({"HTTPS_PROXY": f"http://robin:{canary}@proxy.example"})

    assert canary not in repr(settings)
