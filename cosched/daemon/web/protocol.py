"""One HTTP connection is uvicorn's protocol with limits on size and time."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from cosched.addresses import address_group
from cosched.api.problems import PROBLEM_MEDIA_TYPE

if TYPE_CHECKING:
    import socket

    import uvicorn

    from cosched.daemon.web.connections import ConnectionPlaces

__all__ = ["Connection", "refusal_bytes"]

_LARGEST_HEAD = 64 << 10  # bytes
_BODY_RATE = 64 << 10  # bytes of a body for each of which a second more is given
_FLUSH = 5.0  # seconds in which a client may still take a refusal


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits, and with the user of a unix socket.

    The application finds the user id at the socket's other end in `request.state.peer`.

    The parser would take a head without end into memory and wait for ever for its rest, and of requests sent before
    the last was answered only the newest would learn that the client has gone: an event stream among them would never
    end.
    """

    def __init__(
        self, server: uvicorn.Server, places: ConnectionPlaces, accepted: socket.socket, address: str | int
    ) -> None:
        """Set up.

        Args:
            server: uvicorn's, with configuration and state.
            places: where this connection's is freed in the end.
            accepted: the connection itself; `start` takes it over.
            address: IP address, or the user id at a unix socket's other end.
        """
        peer = address if isinstance(address, int) else None
        super().__init__(config=server.config, server_state=server.server_state, app_state={"peer": peer})
        self.owner = address_group(address) if isinstance(address, str) else f"user id {address}"
        self.unbound = places.unbound(address)
        self.waiting: float | None = self.loop.time()
        self._places = places
        self._limits = places.limits
        self._accepted = accepted
        self._opening: asyncio.Task[None] | None = None
        # Whether a TLS handshake is under way, whether requests may come, and whether it is to end before they do.
        self._handshaking = self._made = self._ended = False
        self._unread = 0  # bytes since the last head, or part of a body, was whole
        self._earlier: tuple[RequestResponseCycle, ...] = ()  # requests before the newest whose answers are under way
        self._requests = 0
        self._body_of = 0  # the number of the request whose body is awaited
        self._body_bytes = 0
        self._owed: tuple[str, int] | None = None  # the part of a request that its client owes, by the request's number
        self._since = 0.0  # when that was first owed
        self._timer: asyncio.TimerHandle | None = None
        self._unsent = 0  # bytes of answers that the client had not taken at the last look
        self._stall: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin, over TLS with a handshake that has as much time as a head."""
        self._opening = self.loop.create_task(self._open())

    async def _open(self) -> None:
        tls = self.config.ssl
        times = {} if tls is None else {"ssl_handshake_timeout": self._limits.head}
        if self._ended:
            self._accepted.close()
            return
        self._handshaking = tls is not None
        try:
            await self.loop.connect_accepted_socket(lambda: self, self._accepted, ssl=tls, **times)
        except (OSError, asyncio.CancelledError):
            self._places.release(self)  # the client went, or sent no TLS

    def end(self) -> None:
        """End the connection at once, for another one."""
        self._ended = True
        if self._made:
            self.transport.abort()
        elif self._handshaking and self._opening is not None:
            self._opening.cancel()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's own is so
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._made = True
        if self._ended:
            transport.abort()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place, and tell all requests under way."""
        for timer in (self._timer, self._stall):
            if timer is not None:
                timer.cancel()
        self._places.release(self)
        super().connection_lost(exc)
        self._disconnect(*self._earlier)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and refuse a head without end."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > _LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")
        self._watch()

    def on_headers_complete(self) -> None:
        """Begin a request."""
        self._unread = self._body_bytes = 0
        self._requests += 1
        self._body_of = self._requests
        if self.cycle is not None:
            self._earlier = tuple(each for each in (*self._earlier, self.cycle) if not each.response_complete)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._unread = 0
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request; its client owes nothing now."""
        self._unread = self._body_of = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Begin to wait until the client takes its answer."""
        super().pause_writing()
        self._watch_taking()
        self._note_waiting()

    def resume_writing(self) -> None:
        """Go on with an answer."""
        super().resume_writing()
        self._note_waiting()

    def _watch(self) -> None:
        """Limit the time for what the client owes now: a head, a body or nothing."""
        owed: tuple[str, int] | None = None
        if self._body_of:
            owed = ("body", self._body_of)
        elif self.cycle is None or self.cycle.response_complete:
            owed = ("head", self._requests)
        if owed == self._owed:
            return
        self._owed = owed
        if owed is not None:
            self._since = self.loop.time()
            self._look_at(self._since + (self._limits.body if self._body_of else self._limits.head))
        self._note_waiting()

    def _note_waiting(self) -> None:
        if self._owed is not None:
            self.waiting = self._since
        else:
            self.waiting = self.loop.time() if self.flow.write_paused else None

    def _look_at(self, time: float) -> None:
        """Check by `time` at the latest whether the client is late.

        A timer that is due earlier stays: most requests need none of their own.
        """
        if self._timer is not None:
            if self._timer.when() <= time:
                return
            self._timer.cancel()
        self._timer = self.loop.call_at(time, self._look)

    def _look(self) -> None:
        """Refuse the part of a request that has not come in time."""
        self._timer = None
        if self._owed is None:
            return
        left = self._more_time()
        if left > 0:
            self._look_at(self.loop.time() + left)
        elif self.transport.is_closing() or not self._answerable():
            self.transport.abort()
        else:
            part = "head" if not self._body_of else "body"
            self.transport.write(
                refusal_bytes(HTTPStatus.REQUEST_TIMEOUT, f"the {part} of the request did not arrive in time: send it")
            )
            self.transport.close()
            self._disconnect(*self._earlier, self.cycle)
            self._timer = self.loop.call_later(_FLUSH, self.transport.abort)

    def _more_time(self) -> float:
        """Return the seconds for which a client is not late yet."""
        passed = self.loop.time() - self._since
        if self._body_of:
            left = self._limits.body + self._body_bytes / _BODY_RATE - passed
            return self._limits.body if left <= 0 and self.flow.read_paused else left  # it is we who do not read
        left = self._limits.head - passed
        if left <= 0 and self.transport.get_write_buffer_size():  # it still takes the last answer
            self._watch_taking()
            return self._limits.head
        return left

    def _answerable(self) -> bool:
        """Return whether a request has begun to come, and no answer."""
        if not self._body_of:
            return self._unread > 0
        return not any(each.response_started for each in (*self._earlier, self.cycle) if each is not None)

    def _watch_taking(self) -> None:
        """Begin to check whether the client takes the bytes written."""
        if self._stall is None:
            self._unsent = self.transport.get_write_buffer_size()
            self._stall = self.loop.call_later(self._limits.stalled, self._look_at_taking)

    def _look_at_taking(self) -> None:
        self._stall = None
        left = self.transport.get_write_buffer_size()
        if left >= self._unsent > 0:
            self.transport.abort()
        elif left:
            self._watch_taking()

    def _disconnect(self, *cycles: RequestResponseCycle | None) -> None:
        for cycle in cycles:
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()


def refusal_bytes(status: HTTPStatus, detail: str) -> bytes:
    """Return a whole answer, a problem document, after which the connection ends."""
    document = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
    body = json.dumps(document).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {PROBLEM_MEDIA_TYPE}\r\n"
        f"content-length: {len(body)}\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
