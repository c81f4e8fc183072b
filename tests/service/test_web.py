from __future__ import annotations

import socket
import stat
from typing import TYPE_CHECKING

import httpx2
import pytest
from fastapi import FastAPI

from cosched.errors import SystemFault
from cosched.service.listen import Listen, parse_listen
from cosched.service.web import WebServer, host_names, open_socket

if TYPE_CHECKING:
    from pathlib import Path


def hello() -> FastAPI:
    app = FastAPI()
    app.get("/hello")(lambda: "hello")
    return app


def test_a_unix_socket_belongs_to_its_user_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "run" / "cosched.sock"
    server = WebServer(hello(), [open_socket(Listen(path=str(path)))])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    server.start()
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)), base_url="http://cosched") as client:
        assert client.get("/hello").json() == "hello"
    server.stop()
    assert not path.exists()


def test_a_port_of_this_machine() -> None:
    listening = open_socket(parse_listen("127.0.0.1:0"))
    server = WebServer(hello(), [listening])
    port = listening.getsockname()[1]
    server.start()
    assert httpx2.get(f"http://127.0.0.1:{port}/hello", trust_env=False).json() == "hello"
    server.stop()


def test_a_socket_left_over_by_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "cosched.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    open_socket(Listen(path=str(path))).close()


def test_a_socket_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cosched.sock"
    first = open_socket(Listen(path=str(path)))
    with pytest.raises(SystemFault, match="another cosched listens on unix:"):
        open_socket(Listen(path=str(path)))
    assert path.exists()
    first.close()


def test_what_stands_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(SystemFault, match="exists and is no socket: move it away"):
        open_socket(Listen(path=str(tmp_path / "file")))
    with pytest.raises(SystemFault, match="cannot listen on unix:"):
        open_socket(Listen(path=str(tmp_path / "file" / "x.sock")))
    assert (tmp_path / "file").read_text() == "precious"


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemFault, match=f"cannot listen on 127.0.0.1:{port}"):
            open_socket(Listen(host="127.0.0.1", port=port))


def test_names_that_clients_may_use() -> None:
    names = host_names(
        [Listen(path="/x"), Listen(host="127.0.0.1", port=1), Listen(host="::2", port=1)], ["Here.example"]
    )
    assert names == {"localhost", "127.0.0.1", "[::1]", "[::2]", "here.example"}
