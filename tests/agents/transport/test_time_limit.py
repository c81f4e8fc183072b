from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport import tls
from cosched.agents.transport.peer_client import call_peer
from cosched.agents.transport.tls import time_limit
from tests.testbed.wire import Wire

if TYPE_CHECKING:
    from cosched.agents.transport.peer_server import PeerServer
    from tests.agents.identities import Identity


def test_what_is_done_in_time_goes_on() -> None:
    one, two = socket.socketpair()
    with one, two:
        with time_limit(one, 30.0):
            two.sendall(b"x")
            assert one.recv(1) == b"x"
        two.sendall(b"y")
        assert one.recv(1) == b"y"


def test_another_fault_stays_what_it_is() -> None:
    one, two = socket.socketpair()
    with one, two, pytest.raises(ConnectionError), time_limit(one, 30.0):
        raise ConnectionError


def test_who_goes_on_saying_a_little_is_not_listened_to_for_ever() -> None:
    one, two = socket.socketpair()
    ended = threading.Event()

    def drip() -> None:
        with two:
            while not ended.wait(0.02):
                try:
                    two.sendall(b"x")
                except OSError:
                    return

    talker = threading.Thread(target=drip)
    talker.start()
    one.settimeout(5.0)
    try:
        with one, pytest.raises(TimeoutError, match=r"longer than 0\.3 s"), time_limit(one, 0.3):
            listen(one)
    finally:
        ended.set()
        talker.join()


def listen(connection: socket.socket) -> None:
    while connection.recv(1):
        pass


def test_a_neighbour_whose_answer_drips_is_given_up(server: PeerServer, a: Identity, b: Identity) -> None:
    context = tls.client_context(a.certificate, a.key, b.certificate.read_text())
    with Wire(server.port) as wire:
        assert call_peer(b.entry(wire.port), context, "GET", "/ping", timeout=5.0).body == b"b"
        wire.drip = 0.02  # every byte well within the timeout, and thousands of them
        with pytest.raises(TimeoutError):
            call_peer(b.entry(wire.port), context, "GET", "/ping", timeout=0.3)


def test_a_stranger_who_drips_is_shut_out(server: PeerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.agents.transport.tls.SILENCE_TIMEOUT", 0.5)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as stranger,
        pytest.raises(ConnectionError),
    ):
        drip_a_greeting(stranger)


def drip_a_greeting(stranger: socket.socket) -> None:
    for byte in b"\x16\x03\x01\x02\x00" + bytes(507):  # the beginning of a TLS handshake, and then nothing new
        stranger.sendall(bytes([byte]))
        time.sleep(0.05)
