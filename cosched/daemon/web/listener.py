"""The listener accepts connections within their limits; uvicorn does the rest.

The limits hold before a byte is read or a TLS handshake begins.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import structlog
import uvicorn

from cosched.access.principals import peer_uid
from cosched.daemon.web.protocol import Connection, refusal_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from cosched.daemon.web.connections import ConnectionPlaces

__all__ = ["BoundedServer"]

_log = structlog.get_logger("cosched.web")

_BREATH = 0.2  # seconds without accepting where the system has no more file descriptors
_LINGER = 1.0  # seconds for which a client that is turned away may take the reason
_MOST_LINGERING = 32
_SILENCE = 60.0  # seconds between two lines of the log about what a flood repeats


class BoundedServer(uvicorn.Server):
    """Uvicorn's server with limits of connections; uvicorn has limits of requests only."""

    def __init__(self, config: uvicorn.Config, places: ConnectionPlaces) -> None:
        super().__init__(config)
        self._places = places
        self._lingering: set[socket.socket] = set()
        self._silent_until = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen as uvicorn does, with listeners of our own."""
        await self.lifespan.startup()
        listeners = [_Listener(each, self._admit, self._complain) for each in sockets or ()]
        self.servers = cast("list[asyncio.base_events.Server]", listeners)  # in all that uvicorn asks of them
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop as uvicorn does; handshakes under way end with the loop."""
        await super().shutdown(sockets)
        for each in tuple(self._lingering):
            self._let_go(each)

    def _admit(self, accepted: socket.socket, address: str | int) -> None:
        """Serve a new connection, or turn it away."""
        connection = Connection(self, self._places, accepted, address)
        refusal = self._places.admit(connection)
        if refusal:
            self._complain(refusal)
            self._turn_away(accepted, refusal)
        else:
            connection.start()

    def _turn_away(self, accepted: socket.socket, reason: str) -> None:
        accepted.setblocking(False)
        if self.config.ssl is None:
            with suppress(OSError):
                accepted.send(refusal_bytes(HTTPStatus.SERVICE_UNAVAILABLE, reason))
                accepted.shutdown(socket.SHUT_WR)
        # Closed at once, with an unread request, the connection would be reset and the reason lost.
        if self.config.ssl is None and len(self._lingering) < _MOST_LINGERING:
            self._lingering.add(accepted)
            asyncio.get_running_loop().call_later(_LINGER, self._let_go, accepted)
        else:
            accepted.close()

    def _let_go(self, accepted: socket.socket) -> None:
        self._lingering.discard(accepted)
        accepted.close()

    def _complain(self, why: str) -> None:
        """Log why connections are not taken, once in a while."""
        now = asyncio.get_running_loop().time()
        if now >= self._silent_until:
            self._silent_until = now + _SILENCE
            _log.warning("connections are turned away", why=why)


class _Listener:
    """Accepts the connections of one listening socket, as an asyncio server does."""

    def __init__(
        self,
        listening: socket.socket,
        admit: Callable[[socket.socket, str | int], None],
        complain: Callable[[str], None],
    ) -> None:
        self._listening = listening
        self._admit = admit
        self._complain = complain
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        listening.setblocking(False)
        self._listen()

    def close(self) -> None:
        """Accept no more; uvicorn closes the socket."""
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()

    async def wait_closed(self) -> None:
        """Return at once: nothing of a listener outlives `close`."""

    def _listen(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        """Accept one connection; the loop calls again where there are more."""
        try:
            accepted, name = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            # No file descriptor, or no memory: what has been accepted ends, and the socket stays open for the rest.
            self._complain(f"{error.strerror}: raise LimitNOFILE= of the service")
            self._loop.remove_reader(self._listening)
            self._pause = self._loop.call_later(_BREATH, self._listen)
            return
        peer = peer_uid(accepted)
        self._admit(accepted, str(name[0]) if peer is None else peer)
