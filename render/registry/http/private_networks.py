"""Addresses inside of networks: told from public ones, and never connected to for a host that must be public."""

import ipaddress
import socket
from typing import TypeAlias

from urllib3.connection import HTTPConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.connection import create_connection

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# RFC 6052: a gateway turns the last 32 bits into an address of IPv4.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_private_name(name: str) -> bool:
    """Return whether the host of a URL is an address inside a network; names are not resolved."""
    plain = name.rstrip(".")
    address = parse_address(plain)
    if address is None:
        return plain == "localhost" or plain.endswith(".localhost")
    return is_private_address(address)


def is_private_address(address: Address) -> bool:
    """Return whether an address is inside a network: private, loopback, link-local or for many receivers."""
    return any(not one.is_global or one.is_multicast for one in (address, *_embedded(address)))


def parse_address(name: str) -> Address | None:
    """Parse an address in every form that resolvers accept."""
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        pass
    try:
        # Resolvers also accept 127.1, 0x7f000001 and 2130706433 as addresses.
        return ipaddress.ip_address(socket.inet_aton(name))
    except OSError:
        return None


def connect_to_public(connection: HTTPConnection, name: str, port: int) -> socket.socket:
    """Connect to a public address of a name. Its other addresses count as missing, so that they cannot be probed."""
    # The addresses that were checked are the ones that are used: a second lookup could have another answer.
    addresses = _public_addresses(connection, name, port)
    for address in addresses[:-1]:
        try:
            return _connect(connection, address, port)
        except NewConnectionError:
            continue
    return _connect(connection, addresses[-1], port)


def _public_addresses(connection: HTTPConnection, name: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NameResolutionError(name, connection, socket.gaierror(str(error))) from error
    listed = dict.fromkeys(str(entry[4][0]) for entry in found)
    public = [text for text in listed if (one := parse_address(text)) and not is_private_address(one)]
    if not public:
        raise NameResolutionError(name, connection, socket.gaierror("no public address"))
    return public


def _connect(connection: HTTPConnection, address: str, port: int) -> socket.socket:
    try:
        return create_connection(
            (address, port),
            connection.timeout,
            source_address=connection.source_address,
            socket_options=connection.socket_options,
        )
    except TimeoutError as error:
        raise ConnectTimeoutError(connection, f"{address} does not answer") from error
    except OSError as error:
        raise NewConnectionError(connection, f"{address} refuses") from error


def _embedded(address: Address) -> list[Address]:
    """Return the addresses of IPv4 that an address of IPv6 leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [one for one in found if one is not None]
