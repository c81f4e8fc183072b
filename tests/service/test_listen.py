from __future__ import annotations

import pytest

from cosched.errors import UserError
from cosched.service.listen import Listen, parse_listen


def test_sockets_and_ports_of_this_machine() -> None:
    assert parse_listen("unix:/run/cosched.sock") == Listen(path="/run/cosched.sock")
    assert parse_listen("127.0.0.1:0") == Listen(host="127.0.0.1")
    assert parse_listen("127.9.9.9:80") == Listen(host="127.9.9.9", port=80)
    assert parse_listen("localhost:8080") == Listen(host="localhost", port=8080)
    assert parse_listen("[::1]:8080") == Listen(host="::1", port=8080)


@pytest.mark.parametrize("text", ["0.0.0.0:80", "192.168.1.1:80", "[::]:80", "[2001:db8::1]:443"])
def test_addresses_that_other_machines_can_reach(text: str) -> None:
    assert parse_listen(text).public
    assert not parse_listen("[::1]:80").public
    assert not parse_listen("unix:/x").public


@pytest.mark.parametrize(
    "text",
    ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:99999", "unix:", "unix:relative", "unix:/a\0", "example.org:80"],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"write unix:/absolute/path"):
        parse_listen(text)


def test_a_socket_path_must_fit_into_an_address() -> None:
    with pytest.raises(UserError, match="longer than 107 bytes"):
        parse_listen("unix:/" + "x" * 107)
