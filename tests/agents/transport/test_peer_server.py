"""Real sockets and real TLS on loopback: who is not pinned does not get a word in."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from cosched.agents.protocol.letter_xml import MAX_DOCUMENT_BYTES, write_letter
from cosched.agents.protocol.letters import Inquiry, Letter
from cosched.agents.transport import tls
from cosched.agents.transport.peer_client import call_peer, connect_peer, send_request
from cosched.agents.transport.peer_server import PeerServer
from cosched.agents.transport.remote_output import OutputQuery, read_output_reply
from cosched.agents.transport.tls import CertificateFiles
from cosched.connector.jobs import Output
from cosched.errors import SystemFault, UserError
from tests.agents.identities import UUID, Box, Identity, an_identity

if TYPE_CHECKING:
    from pathlib import Path


def a_call(server: PeerServer, who: Identity, whom: Identity, path: str, body: bytes = b"") -> tuple[int, bytes]:
    context = tls.client_context(who.certificate, who.key, whom.certificate.read_text())
    return call_peer(whom.entry(server.port), context, "POST" if body else "GET", path, body)[:2]


def test_ping_names_the_domain(server: PeerServer, a: Identity, b: Identity) -> None:
    assert a_call(server, a, b, "/ping") == (200, b"b")


def test_what_a_task_wrote_is_given_to_the_domain_it_came_from(server: PeerServer, a: Identity, b: Identity) -> None:
    def asked(query: OutputQuery) -> Output | None:
        context = tls.client_context(a.certificate, a.key, b.certificate.read_text())
        return read_output_reply(call_peer(b.entry(server.port), context, "GET", query.path), query)

    assert asked(OutputQuery(UUID, "out", limit=6)) == Output(b"\0line\n", 3, 9)
    assert asked(OutputQuery(UUID, "err")) is None
    with pytest.raises(SystemFault, match=r"404: no task .* has come from a"):
        asked(OutputQuery(UUID.replace("9", "8"), "out"))
    assert a_call(server, a, b, "/output?task=x&stream=out")[0] == 404


def test_a_stranger_is_shut_out(server: PeerServer, b: Identity, tmp_path: Path) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        a_call(server, an_identity(tmp_path, "stranger"), b, "/ping")


def test_a_stranger_with_the_name_of_a_neighbour_is_shut_out(server: PeerServer, b: Identity, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises((OSError, http.client.HTTPException)):
        a_call(server, an_identity(tmp_path / "x", "a"), b, "/ping")


def test_without_a_certificate_nobody_is_heard(server: PeerServer) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=240) as plain,
        context.wrap_socket(plain) as connection,
        pytest.raises((ssl.SSLError, ConnectionError)),  # with TLS 1.3 the refusal comes when something is read
    ):
        connection.recv(1)


def test_strangers_leave_room_for_neighbours_and_fill_no_log(server: PeerServer, a: Identity, b: Identity) -> None:
    """64 connections that said nothing took all places, and each one that was refused a line of the log."""
    with contextlib.ExitStack() as held, capture_logs() as lines:
        strangers = [
            held.enter_context(
                socket.create_connection(("127.0.0.1", server.port), 60, source_address=("127.0.0.2", 0))
            )
            for _ in range(100)
        ]
        for refused in strangers[80:]:  # all but the first have no place, and are let go at once
            assert refused.recv(1) == b""
        assert a_call(server, a, b, "/ping") == (200, b"b")
        for stranger in strangers[:8]:
            stranger.sendall(b"no TLS at all\n")
            with contextlib.suppress(ConnectionError):
                stranger.recv(100)  # an alert, and then the end
                stranger.recv(100)
    assert [line["event"] for line in lines].count("refused a connection") == 1


def test_a_stranger_with_a_network_of_addresses_leaves_room_as_well(server: PeerServer) -> None:
    with contextlib.ExitStack() as held:
        taken = [held.enter_context(server.unproved_slot(f"2001:db8::{number}")) for number in range(64)]
        assert taken.count(True) == 16
        assert held.enter_context(server.unproved_slot("2001:db8:0:1::1"))


def test_we_talk_to_nobody_who_only_listens_at_the_right_place(server: PeerServer, a: Identity, tmp_path: Path) -> None:
    other = an_identity(tmp_path, "other")
    with pytest.raises(ssl.SSLError):
        a_call(server, a, other, "/ping")


def test_who_is_removed_is_shut_out(server: PeerServer, a: Identity, b: Identity) -> None:
    server.set_peers([])
    with pytest.raises((OSError, http.client.HTTPException)):
        a_call(server, a, b, "/ping")


def test_who_is_removed_is_shut_out_also_while_our_own_key_cannot_be_used(
    server: PeerServer, a: Identity, b: Identity
) -> None:
    b.key.write_text("")
    with pytest.raises(UserError, match="cannot be used"):
        server.set_peers([])
    with pytest.raises((OSError, http.client.HTTPException)):
        a_call(server, a, b, "/ping")


def test_a_connection_with_a_former_certificate_is_heard_no_more(
    server: PeerServer, a: Identity, b: Identity, box: Box, tmp_path: Path
) -> None:
    (tmp_path / "new").mkdir()
    letter = write_letter(Letter("a", "b", 1, 0, 1, Inquiry()))
    connection = connect_peer(b.entry(server.port), tls.client_context(*a.files, b.certificate.read_text()))
    with contextlib.closing(connection):
        assert send_request(connection, "GET", "/ping").status == 200
        server.set_peers([an_identity(tmp_path / "new", "a").entry(1)])
        assert send_request(connection, "POST", "/letters", letter).status == 403
    assert box.letters == []


def test_nobody_writes_in_the_name_of_another(server: PeerServer, a: Identity, b: Identity, box: Box) -> None:
    status, said = a_call(server, a, b, "/letters", write_letter(Letter("c", "b", 1, 0, 1, Inquiry())))
    assert (status, box.letters) == (400, [])
    assert b"the certificate is of a" in said


@pytest.mark.parametrize("body", [b"<letter/>", b'<!DOCTYPE a SYSTEM "http://127.0.0.1/">' + b"<a/>", b"\xff" * 100])
def test_what_is_no_letter_is_refused_in_one_line(
    server: PeerServer, a: Identity, b: Identity, box: Box, body: bytes
) -> None:
    status, said = a_call(server, a, b, "/letters", body)
    assert (status, box.letters) == (400, [])
    assert b"\n" not in said
    assert server.refused == {"a": 1}


def test_a_letter_that_cosched_fails_on_is_refused_and_counted(a: Identity, b: Identity, box: Box) -> None:
    def fail(_letter: Letter) -> None:
        raise ZeroDivisionError("made by a test")

    server = PeerServer(("127.0.0.1", 0), b.files, "b", fail, box.output)
    server.set_peers([a.entry(1)])
    server.start()
    try:
        letter = write_letter(Letter("a", "b", 1, 0, 1, Inquiry()))
        with capture_logs() as logged:
            status, said = a_call(server, a, b, "/letters", letter)
        assert (status, said) == (500, b"cosched made a mistake with it in b")
        assert [each["peer"] for each in logged if each["log_level"] == "error"] == ["a"]
        assert server.refused == {"a": 1}
    finally:
        server.stop()


def test_size_is_looked_at_before_a_byte_is_read(server: PeerServer, a: Identity, b: Identity, box: Box) -> None:
    context = tls.client_context(a.certificate, a.key, b.certificate.read_text())
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=240)
    connection.putrequest("POST", "/letters")
    connection.putheader("Content-Length", str(MAX_DOCUMENT_BYTES + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_there_is_nothing_else(server: PeerServer, a: Identity, b: Identity) -> None:
    assert a_call(server, a, b, "/etc/passwd")[0] == 404


def test_a_place_that_is_taken_is_a_clear_fault(server: PeerServer, b: Identity, box: Box) -> None:
    with pytest.raises(SystemFault, match="choose another in"):
        PeerServer(("127.0.0.1", server.port), b.files, "b", box.put, box.output)


def test_a_missing_key_says_how_to_make_one(tmp_path: Path, box: Box) -> None:
    files = CertificateFiles(tmp_path / "none.crt", tmp_path / "none.key")
    with pytest.raises(UserError, match="cosched peer init"):
        PeerServer(("127.0.0.1", 0), files, "b", box.put, box.output)
