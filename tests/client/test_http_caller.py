from __future__ import annotations

import contextlib
import gc
import os
import re
import socket
import ssl
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from cosched.api.documents import CurvesView, HostView, ParameterView, ProfileView, RunView
from cosched.client import Client, NotRunningError
from cosched.client.http_caller import decode_document
from cosched.errors import SystemFault, UserError
from tests.daemon.web.certificates import certificate
from tests.documents import detail, forecast, host, profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _output(client: Client) -> object:
    return client.output("1")


def test_an_absent_daemon_is_told_with_what_to_do(tmp_path: Path) -> None:
    message = r"cosched is not running at unix:.*none\.sock: start it with `cosched serve`"
    with Client(f"unix:{tmp_path}/none.sock") as client, pytest.raises(NotRunningError, match=message):
        client.status()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and so nobody else's
        port = silent.getsockname()[1]
        with (
            Client(f"http://127.0.0.1:{port}") as client,
            pytest.raises(NotRunningError, match="is not running at http"),
        ):
            client.status()


def test_a_socket_that_one_may_not_open_is_no_absent_daemon(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as bound, Client(f"unix:{folder}/a.sock") as client:
        bound.bind(f"{folder}/a.sock")
        bound.listen()
        folder.chmod(0)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:  # as somebody who is not root
            with contextlib.suppress(PermissionError):
                os.setuid(65534)
            try:
                client.status()
            except UserError as error:
                os.write(writer, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        with os.fdopen(reader) as said:
            assert re.match(r"you may not open unix:.*: ask cosched's administrator for a socket", said.read())
        folder.chmod(0o700)


def test_a_certificate_that_is_not_trusted_is_named(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with contextlib.suppress(OSError):
                context.wrap_socket(server.accept()[0], server_side=True)

        thread = threading.Thread(target=answer)
        thread.start()
        with (
            Client(f"https://127.0.0.1:{server.getsockname()[1]}") as client,
            pytest.raises(UserError, match=r"the certificate of https://.* is not trusted \(.*SSL_CERT_FILE"),
        ):
            client.status()
        thread.join()


def test_a_server_that_is_not_ours_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 418 Teapot\r\nContent-Length: 3\r\n\r\ntea")

        thread = threading.Thread(target=answer)
        thread.start()
        with (
            Client(f"http://127.0.0.1:{port}") as client,
            pytest.raises(UserError, match=r"answered 418 .*is that cosched"),
        ):
            client.status()
        thread.join()


@pytest.mark.parametrize("call", [Client.status, Client.hosts, lambda client: client.task("1"), _output])
def test_a_page_of_another_server_is_no_answer(call: Callable[[Client], object]) -> None:
    """A proxy's page, as one that asks for a login, ended commands with a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<h1>"

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(page)

        thread = threading.Thread(target=answer)
        thread.start()
        with (
            Client(f"http://127.0.0.1:{other.getsockname()[1]}") as client,
            pytest.raises(SystemFault, match=r"answered 200 OK: is that cosched"),
        ):
            call(client)
        thread.join()


@pytest.mark.parametrize("address", ["http://[::1", "http://localhost:x"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="is not the address of a server"):
        Client(address)


def test_words_that_are_no_text_are_refused() -> None:
    with Client("http://127.0.0.1:9") as client:
        for call in (client.task, lambda words: client.tasks(search=words)):
            with pytest.raises(UserError, match="is not UTF-8 text"):
                call("\udcff")


def test_a_daemon_that_is_about_to_listen_is_absent_and_leaves_no_socket_open(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound, Client(f"unix:{tmp_path}/a.sock") as client:
        bound.bind(f"{tmp_path}/a.sock")
        with pytest.raises(NotRunningError):
            client.tasks()
    gc.collect()  # a socket that nobody closed is a warning, and so an error, of this test


@pytest.mark.parametrize("server", ["nonsense", "ftp://x", "unix:relative"])
def test_what_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(UserError, match="is not the address of a server: write unix:/path or"):
        Client(server)


@pytest.mark.parametrize("server", ["http://192.0.2.1:8080", "http://cosched", "http://cosched.example.org"])
def test_a_token_never_leaves_for_another_machine_without_tls(server: str) -> None:
    with pytest.raises(UserError, match="could read the token: write https://"):
        Client(server, token="cosched_a_b")
    Client(server).close()


@pytest.mark.parametrize("server", ["http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost", "unix:/x"])
def test_a_token_may_go_where_nobody_else_reads_it(server: str) -> None:
    Client(server, token="cosched_a_b").close()


def test_the_address_comes_from_the_environment_or_the_users_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COSCHED_SERVER", "http://127.0.0.1:1")
    with Client() as client:
        assert client.server == "http://127.0.0.1:1"
    monkeypatch.delenv("COSCHED_SERVER")
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    with Client() as client:
        assert client.server == "unix:/s/cosched/cosched.sock"


def test_the_address_is_the_configurations_as_for_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site.toml").write_text('[server]\nlisten = ["unix:/run/site.sock"]\n')
    monkeypatch.delenv("COSCHED_SERVER", raising=False)
    monkeypatch.setenv("COSCHED_CONFIG", str(tmp_path / "site.toml"))
    with Client() as client:
        assert client.server == "unix:/run/site.sock"


RUN = RunView(task="1", name="n", application="a", hosts=("x", "y"), start=1.0, end=2.0, deadline=None, state="failed")
CURVES = CurvesView(
    model="m",
    parameters=(ParameterView(name="p", default=1.0),),
    values={"p": 2.0},
    profiles={"h": ProfileView(seconds=(1.0, None), source="model", hardware="h")},
    faults={"g": "no"},
)


@pytest.mark.parametrize("document", [RUN, CURVES, detail(profile=profile((1.0, None))), forecast(profile=None)])
def test_a_document_comes_back_as_it_was(document: Any) -> None:
    assert decode_document(type(document), _as_json(asdict(document))) == document


def test_keys_of_a_later_version_are_left_out() -> None:
    assert decode_document(HostView, asdict(host("a")) | {"colour": "red"}) == host("a")


def _as_json(value: Any) -> Any:
    """Return a document as JSON brings it: tuples as lists."""
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    return [_as_json(each) for each in value] if isinstance(value, list | tuple) else value
