"""Addresses to listen on are unix sockets or ports: `parse_listen_address` reads one.

`address_group` says which addresses of clients count as one.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from cosched.errors import UserError

__all__ = ["ListenAddress", "address_group", "is_loopback_host", "parse_listen_address"]

_TCP = re.compile(r"\[?(?P<host>[^\[\]]+)\]?:(?P<port>\d{1,5})", re.ASCII)
_LONGEST_SOCKET = 107  # bytes that fit into sockaddr_un.sun_path beside its terminating zero


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """An address of the daemon: `path` of a unix socket, or `host` and `port`."""

    path: str = ""
    host: str = ""
    port: int = 0

    @property
    def public(self) -> bool:
        """Return whether other machines can reach it."""
        return not self.path and not is_loopback_host(self.host)


def parse_listen_address(text: str) -> ListenAddress:
    """Read `unix:/absolute/path`, `127.0.0.1:PORT` or the address of another interface of this machine.

    Raises:
        UserError: it is none of these.
    """
    if text.startswith("unix:"):
        return ListenAddress(path=_socket_path(text.removeprefix("unix:")))
    match = _TCP.fullmatch(text)
    if match is None or int(match["port"]) > 65535 or not _is_local_name_or_ip(match["host"]):
        raise UserError(f"{text!r} is not an address: write unix:/absolute/path or 127.0.0.1:PORT")
    return ListenAddress(host=match["host"], port=int(match["port"]))


def _is_local_name_or_ip(host: str) -> bool:
    """Return whether it is an address, or the one name that always is this machine's."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _socket_path(path: str) -> str:
    if not Path(path).is_absolute() or "\0" in path:
        raise UserError(f"'unix:{path}' names no absolute path: write unix:/absolute/path")
    if len(path.encode()) > _LONGEST_SOCKET:
        raise UserError(f"the socket path {path} is longer than {_LONGEST_SOCKET} bytes: choose a shorter one")
    return path


def is_loopback_host(host: str) -> bool:
    """Return whether a name or an IP address is this machine's loopback.

    No other machine sees it.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def address_group(address: str) -> str:
    """Return an IPv4 address, or the /64 network of an IPv6 address; any other text as it is.

    One client has all addresses of such a network.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(ipaddress.ip_network((str(found), 64), strict=False) if mapped is None else mapped)
