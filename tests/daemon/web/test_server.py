from __future__ import annotations

import asyncio
import gc
import os
import re
import socket
import ssl
import stat
import threading
from typing import TYPE_CHECKING

import httpx2
import pytest
from fastapi import FastAPI, Request

from cosched.addresses import ListenAddress, parse_listen_address
from cosched.daemon.config.loading import load_configuration
from cosched.daemon.web.server import TlsFiles, WebServer, web_server
from cosched.daemon.web.sockets import open_socket, open_sockets
from cosched.errors import UserError
from tests.daemon.makers import daemon
from tests.daemon.web.certificates import certificate

if TYPE_CHECKING:
    from pathlib import Path


def hello() -> FastAPI:
    app = FastAPI()
    app.get("/hello")(lambda: "hello")
    return app


def test_a_unix_socket_belongs_to_its_user_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / "run" / "cosched.sock"
    server = WebServer(hello(), [open_socket(ListenAddress(path=str(path)))])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    server.start()
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(path)), base_url="http://cosched") as client:
        assert client.get("/hello").json() == "hello"
    server.stop()
    assert not path.exists()


def test_a_port_of_this_machine() -> None:
    listening = open_socket(parse_listen_address("127.0.0.1:0"))
    server = WebServer(hello(), [listening])
    port = listening.getsockname()[1]
    server.start()
    assert httpx2.get(f"http://127.0.0.1:{port}/hello", trust_env=False).json() == "hello"
    server.stop()


def test_a_server_stopped_as_it_starts_leaves_no_socket_open() -> None:
    for _ in range(30):
        server = WebServer(hello(), [open_socket(parse_listen_address("127.0.0.1:0"))])
        server.start()
        server.stop()
    gc.collect()  # a socket that nobody closed is a warning, and so an error, of this test


def test_a_server_that_ends_by_itself_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.daemon.web.server._START_AGAIN", 0.01)
    listening = open_socket(parse_listen_address("127.0.0.1:0"))
    server = WebServer(hello(), [listening])
    address = f"http://{server.addresses[0]}/hello"
    server.start()
    assert httpx2.get(address, trust_env=False).json() == "hello"
    for each in server._servers:
        each.should_exit = True  # as uvicorn does after a fault of its own
    while not server.fault:
        pass
    assert "it is started again" in server.fault
    assert httpx2.get(address, trust_env=False, timeout=240).json() == "hello"
    server.stop()


def test_the_user_at_the_other_end_of_the_socket_is_known(tmp_path: Path) -> None:
    app = FastAPI()
    app.get("/peer")(peer)
    server = WebServer(
        app, open_sockets([ListenAddress(path=str(tmp_path / "a.sock")), ListenAddress(host="127.0.0.1")], 0o660)
    )
    assert stat.S_IMODE((tmp_path / "a.sock").stat().st_mode) == 0o660
    server.start()
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(tmp_path / "a.sock")), base_url="http://x") as client:
        assert client.get("/peer").json() == os.getuid()
    assert httpx2.get(f"http://{server.addresses[1]}/peer", trust_env=False).json() is None
    server.stop()


async def peer(request: Request) -> int | None:
    return request.state.peer  # type: ignore[no-any-return]  # Any


def test_ports_speak_tls_where_there_is_a_certificate(tmp_path: Path) -> None:
    tls = certificate(tmp_path)
    server = WebServer(hello(), [open_socket(parse_listen_address("127.0.0.1:0"))], tls)
    server.start()
    trusted = ssl.create_default_context(cafile=str(tls.certificate))
    port = server.addresses[0].rpartition(":")[2]
    assert httpx2.get(f"https://localhost:{port}/hello", verify=trusted, trust_env=False).json() == "hello"
    server.stop()


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("no key")
    refused = pytest.raises(UserError, match=r"key\.pem cannot be used .*correct \[server\] certificate and key")
    with open_socket(parse_listen_address("127.0.0.1:0")) as listening, refused:
        WebServer(hello(), [listening], TlsFiles(tmp_path / "cert.pem", tmp_path / "key.pem"))


@pytest.mark.parametrize("begin", [b"GET /hello HTTP/1.1\r\nX: ", b"GET /", b"GET /hello HTTP/1.1\r\nX: y\r\n" * 2])
def test_a_head_without_end_is_refused(begin: bytes) -> None:
    answer = endless(hello(), begin)
    assert answer.startswith(b"HTTP/1.1 400 ")


def test_what_follows_a_body_without_end_is_refused() -> None:
    """A chunked body may be followed by more headers (trailers)."""
    app = FastAPI()
    begun = threading.Event()

    async def read(request: Request) -> None:
        async for _ in request.stream():
            begun.set()

    app.post("/read")(read)
    begin = b"POST /read HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: "
    assert endless(app, begin, begun).startswith(b"HTTP/1.1 400 ")


def endless(app: FastAPI, begin: bytes, begun: threading.Event | None = None) -> bytes:
    """Send this, and when the application has begun as many bytes as a head may have; return the answer."""
    server = WebServer(app, [open_socket(parse_listen_address("127.0.0.1:0"))])
    server.start()
    host, _, port = server.addresses[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=240) as client:
        client.sendall(begin)
        assert begun is None or begun.wait(60)
        client.sendall(b"x" * (64 << 10) + b"x")
        answer = client.recv(1000)
    server.stop()
    return answer


async def length(request: Request) -> int:
    return len(await request.body())


def test_a_long_body_is_no_long_head() -> None:
    app = FastAPI()
    app.post("/length")(length)
    server = WebServer(app, [open_socket(parse_listen_address("127.0.0.1:0"))])
    server.start()
    url = f"http://{server.addresses[0]}/length"
    with httpx2.Client(trust_env=False) as client:
        for size in (1 << 20, 0, 70_000):
            assert client.post(url, content=b"x" * size).json() == size
            assert client.post(url, content=iter([b"x" * size, b"y"])).json() == size + 1
    server.stop()


def test_all_requests_learn_that_the_client_has_gone() -> None:
    """A request behind a stream on the same connection would be the only one to be told."""
    app = FastAPI()
    ended = threading.Event()
    began = threading.Event()

    async def stream(request: Request) -> None:
        began.set()
        while not await request.is_disconnected():
            await asyncio.sleep(0.01)
        ended.set()

    app.get("/stream")(stream)
    app.get("/hello")(lambda: "hello")
    server = WebServer(app, [open_socket(parse_listen_address("127.0.0.1:0"))])
    server.start()
    host, _, port = server.addresses[0].rpartition(":")
    with socket.create_connection((host, int(port)), timeout=240) as client:
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n")
        assert began.wait(60)
    assert ended.wait(60)
    server.stop()


def login_link(folder: Path, text: str) -> dict[str, str]:
    """Open the doors as configured, ask for the link to the pages, and close them."""
    file = folder / "cosched.toml"
    file.write_text(text)
    configuration = load_configuration(file, {})
    with daemon(folder, hosts=0) as running:
        server = web_server(configuration, running.services, running.store, running.clock)
        server.start()
        try:
            transport = httpx2.HTTPTransport(uds=str(folder / "here.sock"))
            with httpx2.Client(transport=transport, base_url="http://localhost") as client:
                answer = client.post("/api/v1/login-links")
        finally:
            server.stop()
    document: dict[str, str] = answer.json()
    return document


@pytest.mark.parametrize(
    ("more", "link"),
    [
        ("", r"http://127\.0\.0\.1:[0-9]+/login\?ticket="),
        ('names = ["pool.example.org"]', r"http://pool\.example\.org:[0-9]+/login\?ticket="),
    ],
)
def test_the_link_leads_to_the_first_port_under_the_name_that_people_know(tmp_path: Path, more: str, link: str) -> None:
    found = login_link(tmp_path, f'[server]\nlisten = ["unix:{tmp_path}/here.sock", "127.0.0.1:0"]\n{more}\n')
    assert re.match(link, found["url"])


def test_without_a_port_there_is_no_link_and_that_says_what_to_do(tmp_path: Path) -> None:
    found = login_link(tmp_path, f'[server]\nlisten = ["unix:{tmp_path}/here.sock"]\n')
    assert found["detail"].endswith("add 127.0.0.1:8080 to [server] listen")


def test_a_certificate_that_will_not_do_leaves_no_door_open(tmp_path: Path) -> None:
    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_text("nonsense")
        (tmp_path / name).chmod(0o600)
    with pytest.raises(UserError, match="certificate"):
        login_link(
            tmp_path,
            f'[server]\nlisten = ["unix:{tmp_path}/here.sock"]\n'
            f'certificate = "{tmp_path}/cert.pem"\nkey = "{tmp_path}/key.pem"\n',
        )
    gc.collect()  # a socket that nobody closed is a warning, and so an error, of this test
