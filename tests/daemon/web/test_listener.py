"""Clients that are slow, silent or many, at real sockets; the limits are short so that nobody waits."""

from __future__ import annotations

import errno
import json
import socket
import ssl
import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from cosched.addresses import ListenAddress, parse_listen_address
from cosched.daemon.web.connections import ConnectionLimits, ServerLimits
from cosched.daemon.web.server import WebServer
from cosched.daemon.web.sockets import open_socket
from tests.daemon.web.certificates import certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from cosched.daemon.web.server import TlsFiles

_HASTY = ConnectionLimits(head=0.3)  # for clients that send nothing, or have sent it before the server begins
_FEW = ConnectionLimits(most=8, most_each=4)
_LARGE = 64 << 20  # bytes: more than the system keeps for a client that does not read


def an_application() -> FastAPI:
    app = FastAPI()
    app.get("/hello")(lambda: "hello")
    app.get("/large")(lambda: Response(b"x" * _LARGE))
    app.get("/parts")(lambda: StreamingResponse(parts(app)))
    app.state.ended = threading.Event()
    app.post("/length")(length)
    return app


async def parts(app: FastAPI) -> AsyncIterator[bytes]:
    """Give an answer part by part, as it is taken; then say that it has ended."""
    try:
        for _ in range(64):
            yield b"x" * (_LARGE // 64)
    finally:
        app.state.ended.set()


async def length(request: Request) -> int:
    return len(await request.body())


@contextmanager
def serving(limits: ConnectionLimits, app: FastAPI | None = None, tls: TlsFiles | None = None) -> Iterator[int]:
    """Serve on a port with these limits; gives its number."""
    listening = open_socket(parse_listen_address("127.0.0.1:0"))
    port = int(listening.getsockname()[1])
    server = WebServer(app or an_application(), [listening], tls, ServerLimits(ports=limits))
    server.start()
    try:
        yield port
    finally:
        server.stop()


@contextmanager
def serving_who_has_sent(begin: bytes, limits: ConnectionLimits) -> Iterator[socket.socket]:
    """Begin to serve once a client has sent this: on the busiest machine it is not too late."""
    listening = open_socket(parse_listen_address("127.0.0.1:0"))
    server = WebServer(an_application(), [listening], None, ServerLimits(ports=limits))
    with connect(int(listening.getsockname()[1])) as client:
        client.sendall(begin)
        server.start()
        try:
            yield client
        finally:
            server.stop()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=240)


def rest(client: socket.socket) -> bytes:
    """Return all that comes until the connection ends."""
    parts = []
    try:
        while part := client.recv(1 << 20):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def hello(port: int) -> str:
    answer: str = httpx2.get(f"http://127.0.0.1:{port}/hello", trust_env=False, timeout=240).json()
    return answer


@pytest.mark.parametrize(
    ("begin", "part"),
    [
        (b"GET /hello HTTP/1.1\r\nHost: x\r\n", "head"),
        (b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc", "body"),
        (b"POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "body"),
    ],
)
def test_a_request_that_does_not_arrive_is_refused(begin: bytes, part: str) -> None:
    with serving_who_has_sent(begin, ConnectionLimits(head=1.0, body=1.0)) as client:
        head, _, body = rest(client).rpartition(b"\r\n\r\n")
    assert b"HTTP/1.1 408 Request Timeout\r\n" in head
    assert json.loads(body)["detail"] == f"the {part} of the request did not arrive in time: send it"


def test_a_later_request_that_does_not_arrive_is_refused() -> None:
    limits = ConnectionLimits(head=5.0)  # begins with the answer, of which the client has to hear first
    with serving_who_has_sent(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", limits) as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 200 ")
        client.sendall(b"GET /he")
        assert b"HTTP/1.1 408 " in rest(client)


def test_a_client_that_sends_nothing_is_let_go() -> None:
    with serving(_HASTY) as port, connect(port) as client:
        assert rest(client) == b""


def test_a_client_that_sends_a_header_now_and_then_is_let_go() -> None:
    with serving_who_has_sent(b"GET /hello HTTP/1.1\r\n", ConnectionLimits(head=1.0)) as client:
        client.settimeout(0.02)
        answer = b""
        while not answer:
            try:
                answer = client.recv(1000)
            except TimeoutError:
                client.sendall(b"X: y\r\n")
        assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_long_body_has_more_time_as_it_comes() -> None:
    limits = ConnectionLimits(body=0.3)
    with serving(limits) as port, connect(port) as client:
        size = 16 << 20  # whose parts give more than four minutes
        client.sendall(f"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode())
        client.sendall(b"x" * (size - 1))
        threading.Event().wait(2 * limits.body)
        client.sendall(b"x")
        client.shutdown(socket.SHUT_WR)
        assert rest(client).endswith(str(size).encode())


def test_a_client_that_does_not_take_its_answer_is_let_go() -> None:
    app = an_application()
    with serving(ConnectionLimits(stalled=0.3), app) as port, connect(port) as client:
        client.sendall(b"GET /parts HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(1000)
        assert app.state.ended.wait(60)
        assert len(rest(client)) < _LARGE


def test_a_client_that_takes_its_answer_slowly_gets_all_of_it() -> None:
    begin = b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with serving_who_has_sent(begin, ConnectionLimits(head=1.0)) as client:
        taken = len(client.recv(1000))
        threading.Event().wait(2.0)
        assert taken + len(rest(client)) > _LARGE


@pytest.mark.parametrize(
    "begin", [b"", b"GET /hello HTTP/1.1\r\n", b"POST /length HTTP/1.1\r\nContent-Length: 9\r\n\r\n"]
)
def test_half_open_connections_keep_nobody_out(begin: bytes) -> None:
    with serving(_FEW) as port, ExitStack() as stack:
        half_open = [stack.enter_context(connect(port)) for _ in range(40)]
        for client in half_open:
            client.sendall(begin) if begin else None
        assert hello(port) == "hello"
        assert rest(half_open[0]) == b""  # the oldest gave way


def test_handshakes_that_nobody_ends_keep_nobody_out(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    with serving(_FEW, tls=files) as port, ExitStack() as stack:
        half_open = [stack.enter_context(connect(port)) for _ in range(40)]
        trusted = ssl.create_default_context(cafile=str(files.certificate))
        url = f"https://localhost:{port}/hello"
        assert httpx2.get(url, verify=trusted, trust_env=False, timeout=240).json() == "hello"
        assert rest(half_open[0]) == b""


def test_a_handshake_has_as_much_time_as_a_head(tmp_path: Path) -> None:
    with serving(_HASTY, tls=certificate(tmp_path)) as port, connect(port) as client:
        assert rest(client) == b""


def test_who_has_too_many_requests_under_way_is_told_so_and_others_are_answered() -> None:
    app, release, began = FastAPI(), threading.Event(), threading.Semaphore(0)

    def wait() -> None:
        began.release()
        release.wait(60)

    app.get("/wait")(wait)
    app.get("/hello")(lambda: "hello")
    with serving(_FEW, app) as port, ExitStack() as stack:
        busy = [stack.enter_context(connect(port)) for _ in range(4)]
        for client in busy:
            client.sendall(b"GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert began.acquire(timeout=240)
        refused = httpx2.get(f"http://127.0.0.1:{port}/hello", trust_env=False, timeout=240)
        assert refused.status_code == 503
        assert refused.json()["detail"].startswith("4 connections of 127.0.0.1 are open: close some")
        other = socket.create_connection(("127.0.0.1", port), timeout=240, source_address=("127.0.0.2", 0))
        with other:
            other.sendall(b"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert rest(other).endswith(b'"hello"')
        release.set()
        assert [rest(client)[:12] for client in busy] == [b"HTTP/1.1 200"] * 4
        assert hello(port) == "hello"


def test_a_user_at_the_unix_socket_has_so_many_connections(tmp_path: Path) -> None:
    path = str(tmp_path / "cosched.sock")
    server = WebServer(an_application(), [open_socket(ListenAddress(path=path))], None, ServerLimits(unix=_FEW))
    server.start()
    with ExitStack() as stack:
        stack.callback(server.stop)
        for _ in range(40):
            half_open = stack.enter_context(socket.socket(socket.AF_UNIX))
            half_open.connect(path)
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=path), base_url="http://x", timeout=240) as client:
            assert client.get("/hello").json() == "hello"


class _Exhausted(socket.socket):
    """A listening socket on a machine that has no more file descriptors, for a while."""

    left = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()

    def dup(self) -> _Exhausted:
        return self  # uvicorn is given a duplicate


def test_the_port_survives_that_no_file_can_be_opened() -> None:
    with _Exhausted(socket.AF_INET) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        server = WebServer(an_application(), [listening])
        server.start()
        assert hello(port) == "hello"
        server.stop()
    assert not listening.left
