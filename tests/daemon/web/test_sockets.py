from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from cosched.addresses import ListenAddress
from cosched.daemon.web.sockets import host_names, open_socket
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from pathlib import Path


def test_a_socket_left_over_by_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cosched.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    open_socket(ListenAddress(path=str(path))).close()


def test_a_socket_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cosched.sock"
    first = open_socket(ListenAddress(path=str(path)))
    with pytest.raises(SystemFault, match="another cosched listens on unix:"):
        open_socket(ListenAddress(path=str(path)))
    assert path.exists()
    first.close()


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(SystemFault, match="exists and is no socket: move it away"):
        open_socket(ListenAddress(path=str(tmp_path / "file")))
    with pytest.raises(SystemFault, match="cannot listen on unix:"):
        open_socket(ListenAddress(path=str(tmp_path / "file" / "x.sock")))
    assert (tmp_path / "file").read_text() == "precious"


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemFault, match=f"cannot listen on 127.0.0.1:{port}"):
            open_socket(ListenAddress(host="127.0.0.1", port=port))


def test_names_that_clients_may_use() -> None:
    names = host_names(
        [ListenAddress(path="/x"), ListenAddress(host="127.0.0.1", port=1), ListenAddress(host="::2", port=1)],
        ["Here.example"],
    )
    assert names == {"localhost", "127.0.0.1", "[::1]", "[::2]", "here.example"}
