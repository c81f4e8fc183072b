"""Real sockets and real TLS on loopback."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from cosched.agents.protocol.letters import Inquiry, Letter
from cosched.agents.transport.peer_client import LetterSender

if TYPE_CHECKING:
    from cosched.agents.transport.peer_server import PeerServer
    from tests.agents.identities import Box, Identity


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
