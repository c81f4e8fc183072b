"""Real sockets and real TLS on loopback."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.agents.protocol.advertised_rooms import advertised_rooms
from cosched.agents.protocol.advertisement import AdvertisedService, shared_class
from cosched.agents.protocol.letters import Advertisement, Inquiry, Letter
from cosched.agents.transport import peer_server
from cosched.agents.transport.peer_client import LetterSender, answer_text, call_fault
from cosched.agents.transport.remote_output import PeerReply
from cosched.connector.hosts import HostShare

if TYPE_CHECKING:
    from cosched.agents.transport.peer_server import PeerServer
    from tests.agents.identities import Box, Identity

_ROOMS = advertised_rooms([[(0.0, HostShare(4000, 4, 0)), (9.0, HostShare(8000, 8, 1))]])
SHARED = AdvertisedService("a", 0.0, 0, (shared_class("fast", _ROOMS, 1000),))


def test_a_letter_arrives(server: PeerServer, a: Identity, b: Identity, box: Box) -> None:
    sender = LetterSender(a.files)
    sender.set_peers([b.entry(server.port)])
    letter = Letter("a", "b", 1, 0, 1, Inquiry())
    sender.send(letter)
    assert box.came.wait(60)
    assert box.letters == [letter]
    assert sender.faults() == {}
    sender.stop()


def test_a_neighbour_that_cannot_be_reached_is_named(a: Identity, b: Identity) -> None:
    sender = LetterSender(a.files)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and so nobody else's
        sender.set_peers([b.entry(silent.getsockname()[1])])
        sender.send(Letter("a", "b", 1, 0, 1, Inquiry()))
        for _ in range(400):
            if sender.faults():
                break
            threading.Event().wait(0.05)
        assert "refused" in sender.faults()["b"]
        sender.stop()


def test_a_neighbour_is_told_of_rooms_once_it_has_said_that_it_reads_them(
    server: PeerServer, a: Identity, b: Identity, box: Box
) -> None:
    sender = LetterSender(a.files)
    sender.set_peers([b.entry(server.port)])
    letters = [Letter("a", "b", 1, 0, number, Advertisement((SHARED,))) for number in (1, 2)]
    for letter in letters:
        box.came.clear()
        sender.send(letter)
        assert box.came.wait(60)
    sender.stop()
    plain = replace(SHARED.classes[0], rooms=(), memory_per_core=None)
    assert box.letters == [replace(letters[0], body=Advertisement((replace(SHARED, classes=(plain,)),))), letters[1]]


def test_a_neighbour_of_before_rooms_is_never_told_of_them(
    server: PeerServer, a: Identity, b: Identity, box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(status: int, text: str) -> PeerReply:
        return PeerReply(status, text.encode(), {"Content-Type": "text/plain"})

    monkeypatch.setattr(peer_server, "_text_reply", reply)
    sender = LetterSender(a.files)
    sender.set_peers([b.entry(server.port)])
    for number in (1, 2):
        box.came.clear()
        sender.send(Letter("a", "b", 1, 0, number, Advertisement((SHARED,))))
        assert box.came.wait(60)
    sender.stop()
    found = [letter.body.services[0] for letter in box.letters if isinstance(letter.body, Advertisement)]
    assert [service.classes[0].rooms for service in found] == [(), ()]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (http.client.BadStatusLine("\x00\xff" * 9000), "it answers with what is not HTTP"),
        (http.client.NotConnected(), "it ended the connection"),
        (http.client.RemoteDisconnected("Remote end closed connection without response"), "it ended the connection"),
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol (_ssl.c:2393)"), "it ended the connection"),
        (
            ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed (_ssl.c:992)"),
            "it shows another certificate than the one that was added: add its new file, or where it has made a new "
            "one and not been started again since, start it",
        ),
        (http.client.HTTPException("got more than 100 headers"), "got more than 100 headers"),
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
    ],
)
def test_whatever_a_neighbour_answers_the_fault_is_a_short_line(
    error: OSError | http.client.HTTPException, words: str
) -> None:
    assert call_fault(error) == words


def test_what_a_neighbour_says_is_shown_in_a_short_line() -> None:
    assert answer_text(PeerReply(403, b"you have been\x1b[31m\nremoved", {})) == "you have been [31m removed"
    assert answer_text(PeerReply(500, b"<" * 9000, {})) == "<" * 200 + "…"
    assert answer_text(PeerReply(502, b"", {})) == "it answers with status 502"
