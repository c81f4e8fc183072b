from __future__ import annotations

import gc
import socket
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.testbed.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator


class Echo(threading.Thread):
    """Answers each connection with what it was sent, and remembers that."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.heard: list[bytes] = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.server.getsockname()[1])

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            with connection:
                while piece := self._read(connection):
                    self.heard.append(piece)
                    connection.sendall(piece)

    @staticmethod
    def _read(connection: socket.socket) -> bytes:
        try:
            return connection.recv(100)
        except ConnectionError:
            return b""


@pytest.fixture
def echo() -> Iterator[Echo]:
    echo = Echo()
    echo.start()
    yield echo
    echo.server.shutdown(socket.SHUT_RDWR)
    echo.server.close()
    echo.join()


@pytest.fixture
def wire(echo: Echo) -> Iterator[Wire]:
    with Wire(echo.port) as wire:
        yield wire


def a_connection(wire: Wire) -> socket.socket:
    return socket.create_connection(("127.0.0.1", wire.port), timeout=240)


def said(connection: socket.socket) -> bytes:
    connection.sendall(b"hello")
    return connection.recv(100)


def test_a_good_wire_changes_nothing(wire: Wire) -> None:
    with a_connection(wire) as one, a_connection(wire):
        assert said(one) == b"hello"


def test_connections_that_are_only_just_there_as_it_ends_are_closed(echo: Echo) -> None:
    """They were left to the garbage collector, whose warning failed whichever test ran by then."""
    for _ in range(30):
        with ExitStack() as callers, Wire(echo.port) as wire:
            for _ in range(5):
                callers.enter_context(a_connection(wire))
    gc.collect()  # a connection that nobody closed is a warning, and so an error, of this test


def test_what_is_cut_ends_and_the_next_one_comes_through(wire: Wire) -> None:
    with a_connection(wire) as connection:
        assert said(connection) == b"hello"
        wire.cut()
        assert ended(connection)
    assert wire.done["cut"] == 1
    with a_connection(wire) as connection:
        assert said(connection) == b"hello"


def ended(connection: socket.socket) -> bool:
    try:
        return not connection.recv(100)
    except ConnectionError:
        return True


def test_an_answer_is_lost_after_what_was_asked_has_arrived(wire: Wire, echo: Echo) -> None:
    with a_connection(wire) as connection:
        assert said(connection) == b"hello"
        wire.lose_answers()
        connection.sendall(b"again")
        assert ended(connection)
    assert echo.heard == [b"hello", b"again"]
    assert wire.done["lost"] == 1


def test_who_is_refused_may_come_again_when_it_has_healed(wire: Wire) -> None:
    wire.refuses = True
    with a_connection(wire) as connection:
        assert ended(connection)
    wire.heal()
    with a_connection(wire) as connection:
        assert said(connection) == b"hello"


@pytest.mark.parametrize(("delay", "drip"), [(0.1, 0.0), (0.0, 0.05)])
def test_what_is_slow_arrives_whole(wire: Wire, delay: float, drip: float) -> None:
    wire.delay, wire.drip = delay, drip
    began = time.monotonic()
    with a_connection(wire) as connection:
        connection.sendall(b"hello")
        found = b""
        while len(found) < 5:
            found += connection.recv(100)
    assert found == b"hello"
    assert time.monotonic() - began >= 0.2


def test_where_nobody_listens_a_connection_ends(echo: Echo) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and so nobody else's
        with Wire(int(silent.getsockname()[1])) as wire, a_connection(wire) as connection:
            assert ended(connection)
