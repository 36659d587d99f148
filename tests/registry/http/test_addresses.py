"""URLs that servers send: parsed in one way only, and checked by their target."""

import pytest

from render.references import Source
from render.registry.http.addresses import RequestRefused, api_address, host_of, is_private, split_url


@pytest.mark.parametrize(
    ("source", "address"),
    [
        (Source("xpkg.example.org", "a/b"), ("xpkg.example.org", "a/b")),
        (Source("registry.example:5000", "a"), ("registry.example:5000", "a")),
        (Source("docker.io", "org/name"), ("registry-1.docker.io", "org/name")),
        (Source("index.docker.io", "name"), ("registry-1.docker.io", "library/name")),
    ],
)
def test_a_source_is_served_under_its_api_address(source: Source, address: tuple[str, str]) -> None:
    assert api_address(source) == address


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Registry.Example/v2/", "registry.example"),
        ("https://registry.example:443/v2/", "registry.example"),
        ("https://registry.example:5000", "registry.example:5000"),
        ("http://registry.example", "registry.example"),
        ("http://registry.example:80", "registry.example:80"),
        ("http://registry.example:443", "registry.example:443"),
        ("https://[::1]:5000/a", "[::1]:5000"),
        ("https://[::1]/a", "[::1]"),
        ("https://under_score.example/a", "under_score.example"),
    ],
)
def test_an_address_names_its_host_as_a_source_does(url: str, host: str) -> None:
    assert host_of(split_url(url)) == host


@pytest.mark.parametrize(
    "url",
    [
        "ftp://registry.example/",
        "file:///etc/passwd",
        "registry.example/v2",
        "//registry.example/v2",
        "https://",
        "https:///v2",
        "https://robin:secret@registry.example/",
        "https://robin@registry.example/",
        "https://@registry.example/",
        "https://registry.example:port/",
        "https://registry.example:99999/",
        "https://registry.example:/",
        "https://registry.example:0443/",
        # Read as one host by one parser, and as 127.0.0.1 by the one that connects.
        "https://127.0.0.1\\registry.example/",
        "https://registry.example\\@127.0.0.1/",
        "https://127。0。0。1/",
        "https://１２７.0.0.1/",
        "https://127.0.0.1%2f.registry.example/",
        "https://[fe80::1%25lo]/",
        "https://[::1",
        "https://x[::1]/",
        "https://[not-an-address]/",
        "https://registry..example/",
        f"https://{'a' * 64}.example/",
        f"https://{'a.' * 130}example/",
        "https://registry example/",
    ],
)
def test_an_address_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(RequestRefused) as refusal:
        split_url(url)

    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.8.9.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "some.localhost",
        "127.0.0.1.",
        # What resolvers read as an address without it looking like one.
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "0",
    ],
)
def test_an_address_inside_a_network_is_private_in_every_spelling(host: str) -> None:
    assert is_private(split_url(f"https://{host}/"))


@pytest.mark.parametrize(
    "host",
    ["registry.example", "1.1.1.1", "[2606:4700::1111]", "16843009", "localhost.example", "10.example"],
)
def test_an_address_outside_is_not_private(host: str) -> None:
    assert not is_private(split_url(f"https://{host}/"))
