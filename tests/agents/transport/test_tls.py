from __future__ import annotations

import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING

import pytest

from cosched.agents.transport import tls
from cosched.agents.transport.peer_client import call_peer
from cosched.agents.transport.tls import time_limit
from cosched.errors import UserError
from tests.testbed.wire import Wire

if TYPE_CHECKING:
    from pathlib import Path

    from cosched.agents.transport.peer_server import PeerServer
    from tests.agents.identities import Identity


def test_each_is_its_own() -> None:
    (_, first), (_, second) = tls.make_certificate("a"), tls.make_certificate("a")
    ders = [ssl.PEM_cert_to_DER_cert(pem.decode()) for pem in (first, second)]
    assert tls.fingerprint(ders[0]) != tls.fingerprint(ders[1])
    assert tls.checked_certificate(first.decode()).strip() == first.decode().strip()


@pytest.mark.parametrize("text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"])
def test_what_is_no_certificate_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as caught:
        tls.checked_certificate(text)
    assert "\n" not in str(caught.value)


def test_two_certificates_are_one_too_many() -> None:
    pems = [tls.make_certificate(name)[1].decode() for name in ("a", "b")]
    with pytest.raises(UserError, match="2 certificates"):
        tls.checked_certificate("".join(pems))


def test_only_the_newest_protocol_is_spoken(tmp_path: Path) -> None:
    key, pem = tls.make_certificate("a")
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "crt").write_bytes(pem)
    for context in (
        tls.server_context(tmp_path / "crt", tmp_path / "key", (pem.decode(),)),
        tls.client_context(tmp_path / "crt", tmp_path / "key", pem.decode()),
    ):
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
        assert context.verify_mode is ssl.CERT_REQUIRED


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
    one.settimeout(240)
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
        assert call_peer(b.entry(wire.port), context, "GET", "/ping", timeout=240).body == b"b"
        wire.drip = 0.02  # every byte well within the timeout, and thousands of them
        with pytest.raises(TimeoutError):
            call_peer(b.entry(wire.port), context, "GET", "/ping", timeout=0.3)


def test_a_stranger_who_drips_is_shut_out(server: PeerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cosched.agents.transport.tls.SILENCE_TIMEOUT", 0.5)
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=240) as stranger,
        pytest.raises(ConnectionError),
    ):
        drip_a_greeting(stranger)


def drip_a_greeting(stranger: socket.socket) -> None:
    for byte in b"\x16\x03\x01\x02\x00" + bytes(507):  # the beginning of a TLS handshake, and then nothing new
        stranger.sendall(bytes([byte]))
        time.sleep(0.05)
