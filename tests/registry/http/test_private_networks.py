"""Which addresses are inside of a network, however they are written or hidden in others."""

import socket
from collections.abc import Callable

import pytest
from urllib3.connection import HTTPConnection
from urllib3.exceptions import NameResolutionError

from render.registry.http.private_networks import connect_to_public, is_private_name


@pytest.mark.parametrize(
    "name",
    [
        "localhost",
        "localhost.",
        "a.localhost",
        "127.0.0.1",
        "127.1",
        "0x7f000001",
        "0177.0.0.1",
        "2130706433",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "fd00::1",
        "fe80::1",
        "ff02::1",
    ],
)
def test_an_address_inside_a_network_is_recognised_in_every_form(name: str) -> None:
    assert is_private_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "registry.example",
        "localhost.example",
        "8.8.8.8",
        "2606:4700::1111",
        "64:ff9b::808:808",
        "::ffff:8.8.8.8",
    ],
)
def test_names_and_public_addresses_are_not(name: str) -> None:
    assert not is_private_name(name)


def _asked() -> tuple[HTTPConnection, Callable[[], int]]:
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    port: int = server.getsockname()[1]

    def accepted() -> int:
        with server:
            try:
                server.accept()
            except BlockingIOError:
                return 0
            return 1

    return HTTPConnection("localhost", port, timeout=1), accepted


def test_a_name_with_private_addresses_alone_counts_as_missing_and_is_not_connected_to() -> None:
    connection, accepted = _asked()

    with pytest.raises(NameResolutionError):
        connect_to_public(connection, connection.host, connection.port or 0)

    assert accepted() == 0


@pytest.mark.parametrize("name", ["nowhere.invalid", "a..b", "x" * 70])
def test_a_name_that_cannot_be_resolved_is_missing(name: str) -> None:
    with pytest.raises(NameResolutionError):
        connect_to_public(HTTPConnection("localhost", 1), name, 1)
