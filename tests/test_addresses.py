from __future__ import annotations

import pytest

from cosched.addresses import ListenAddress, address_group, parse_listen_address
from cosched.errors import UserError


def test_sockets_and_ports_of_this_machine() -> None:
    assert parse_listen_address("unix:/run/cosched.sock") == ListenAddress(path="/run/cosched.sock")
    assert parse_listen_address("127.0.0.1:0") == ListenAddress(host="127.0.0.1")
    assert parse_listen_address("127.9.9.9:80") == ListenAddress(host="127.9.9.9", port=80)
    assert parse_listen_address("localhost:8080") == ListenAddress(host="localhost", port=8080)
    assert parse_listen_address("[::1]:8080") == ListenAddress(host="::1", port=8080)


@pytest.mark.parametrize("text", ["0.0.0.0:80", "192.168.1.1:80", "[::]:80", "[2001:db8::1]:443"])
def test_addresses_that_other_machines_can_reach(text: str) -> None:
    assert parse_listen_address(text).public
    assert not parse_listen_address("[::1]:80").public
    assert not parse_listen_address("unix:/x").public


@pytest.mark.parametrize(
    "text",
    ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:99999", "unix:", "unix:relative", "unix:/a\0", "example.org:80"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"write unix:/absolute/path"):
        parse_listen_address(text)


def test_a_socket_path_must_fit_into_an_address() -> None:
    with pytest.raises(UserError, match="longer than 107 bytes"):
        parse_listen_address("unix:/" + "x" * 107)


@pytest.mark.parametrize(
    ("address", "group"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1:2:3:4", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("proxy", "proxy"),
        ("[::1]:9", "[::1]:9"),
    ],
)
def test_a_client_with_many_addresses_is_one(address: str, group: str) -> None:
    assert address_group(address) == group
