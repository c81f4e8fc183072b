"""The peer server takes letters and questions from pinned neighbours over HTTPS with mutual TLS.

POST /letters   one letter as XML: 202, or 400 in one line, with the edition of our schema
GET  /ping      the domain's name
GET  /output    what a task wrote that the asking domain has handed over (`remote_output.py`)
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections import Counter
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import structlog

from cosched.addresses import address_group
from cosched.agents.protocol.letter_xml import EDITION_HEADER, MAX_DOCUMENT_BYTES, SCHEMA_EDITION, read_letter
from cosched.agents.transport import remote_output, tls
from cosched.agents.transport.remote_output import PeerReply
from cosched.agents.transport.tls import time_limit
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from cosched.agents.protocol.letters import Letter
    from cosched.agents.transport.allow_list import PeerEntry
    from cosched.agents.transport.remote_output import OutputQuery
    from cosched.agents.transport.tls import CertificateFiles
    from cosched.connector.jobs import Output

__all__ = ["PeerServer"]

_log = structlog.get_logger("cosched.agents")

_MAX_CONNECTIONS = 64  # of neighbours, served at once
_MAX_UNPROVED = 64  # connections that have not proved yet whose they are
# Of these, from one address or network of IPv6: a stranger there leaves room for neighbours elsewhere.
_MAX_UNPROVED_OF_ONE = 16
_REFUSALS_LOGGED = 60.0  # seconds between two lines on refused connections


class PeerServer:
    """Listens to neighbours until it is stopped."""

    def __init__(
        self,
        address: tuple[str, int],
        files: CertificateFiles,
        name: str,
        deliver: Callable[[Letter], None],
        output: Callable[[str, OutputQuery], Output | None],
    ) -> None:
        """Bind the address.

        Args:
            address: host and port.
            files: certificate and private key of this domain's agent.
            name: name of this domain.
            deliver: takes a letter whose sender is authenticated.
            output: returns the output of a task that this neighbour has handed over.

        Raises:
            SystemFault: the address cannot be listened on.
        """
        self._files = files
        self._name = name
        self._deliver = deliver
        self._output = output
        self._names: dict[str, str] = {}  # fingerprint → neighbour
        self._refused: Counter[str] = Counter()  # letters, by neighbour
        self._context = tls.server_context(*files, ())
        self._connections = threading.BoundedSemaphore(_MAX_CONNECTIONS)
        self._unproved: Counter[str] = Counter()  # connections, by address
        self._strangers = _Refusals()
        self._guard = threading.Lock()  # of the counts
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        kind = type("Server", (ThreadingHTTPServer,), {"address_family": family, "daemon_threads": True})
        peer_server = self

        class Handler(_Handler):
            owner = peer_server

        try:
            self._server: ThreadingHTTPServer = kind(address, Handler)
        except OSError as error:
            raise SystemFault(
                f"cannot listen on {address[0]}:{address[1]} ({error.strerror}): end what uses the "
                "port, or choose another in [agent] listen"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="peer-server", daemon=True)

    @property
    def port(self) -> int:
        """The port that is listened to."""
        return int(self._server.server_address[1])

    @property
    def refused(self) -> Mapping[str, int]:
        """How many letters were refused since the start, by neighbour."""
        with self._guard:
            return dict(self._refused)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more letters."""
        if self._thread.ident is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    @contextlib.contextmanager
    def connection_slot(self) -> Iterator[bool]:
        """Count a connection while it is served; gives False where there are too many."""
        free = self._connections.acquire(blocking=False)
        try:
            yield free
        finally:
            if free:
                self._connections.release()

    @contextlib.contextmanager
    def unproved_slot(self, address: str) -> Iterator[bool]:
        """Count a connection until it has proved whose it is; gives False where there are too many."""
        address = address_group(address)
        with self._guard:
            free = self._unproved[address] < _MAX_UNPROVED_OF_ONE and self._unproved.total() < _MAX_UNPROVED
            self._unproved[address] += free
        try:
            yield free
        finally:
            with self._guard:
                self._unproved[address] -= free
                self._unproved += Counter()  # keeps those above 0 alone

    def set_peers(self, entries: Iterable[PeerEntry]) -> None:
        """Listen to these neighbours alone from the next connection on."""
        known = list(entries)
        # First, as our own key may not be readable just now: who was removed is not heard all the same.
        self._names = {tls.fingerprint(ssl.PEM_cert_to_DER_cert(entry.certificate)): entry.name for entry in known}
        self._context = tls.server_context(*self._files, (entry.certificate for entry in known))

    def handshake(self, connection: socket.socket) -> tuple[ssl.SSLSocket, str] | None:
        """Return the secured connection and its certificate's fingerprint; None where it is no neighbour."""
        connection.settimeout(tls.SILENCE_TIMEOUT)
        secured: ssl.SSLSocket | None = None
        try:
            secured = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
            with time_limit(secured, tls.SILENCE_TIMEOUT):
                secured.do_handshake()
        except (OSError, ValueError) as error:
            self._strangers.note(str(error))
            if secured is not None:
                secured.close()
            return None
        der = secured.getpeercert(binary_form=True)
        fingerprint = tls.fingerprint(der) if der else ""
        if fingerprint not in self._names:
            secured.close()
            return None
        return secured, fingerprint

    def answer(self, method: str, path: str, fingerprint: str, body: bytes) -> PeerReply:
        """Return the answer to a request on a connection whose certificate has this fingerprint."""
        peer = self._names.get(fingerprint)  # as it is now: the connection may be older than the neighbour's new file
        if peer is None:
            return _text_reply(HTTPStatus.FORBIDDEN, "you have been removed, or have another certificate by now")
        if (method, path) == ("POST", "/letters"):
            return self._take(peer, body)
        if (method, path) == ("GET", "/ping"):
            return _text_reply(HTTPStatus.OK, self._name)
        if method == "GET" and path.startswith(f"{remote_output.OUTPUT_PATH}?"):
            return self._read(peer, path)
        return _text_reply(HTTPStatus.NOT_FOUND, "there are POST /letters, GET /ping and GET /output")

    def _read(self, peer: str, path: str) -> PeerReply:
        try:
            return remote_output.output_reply(self._output(peer, remote_output.read_query(path)))
        except UserError as error:
            return _text_reply(HTTPStatus.NOT_FOUND, str(error))
        except SystemFault as error:
            return _text_reply(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    def _take(self, peer: str, body: bytes) -> PeerReply:
        try:
            letter = read_letter(body)
            if letter.sender != peer:
                raise UserError(f"the letter is from {letter.sender}, and the certificate is of {peer}")
            self._deliver(letter)
        except UserError as error:
            self._count_refused(peer)
            _log.warning("refused a letter", peer=peer, fault=str(error))
            return _text_reply(HTTPStatus.BAD_REQUEST, str(error))
        except Exception as error:  # what one neighbour sends must not end the thread unrecorded
            self._count_refused(peer)
            _log.error("cosched made a mistake with a letter and goes on", peer=peer, exc_info=error)
            return _text_reply(HTTPStatus.INTERNAL_SERVER_ERROR, f"cosched made a mistake with it in {self._name}")
        return _text_reply(HTTPStatus.ACCEPTED, "")

    def _count_refused(self, peer: str) -> None:
        with self._guard:
            self._refused[peer] += 1


class _Refusals:
    """Log refused connections, at most one a minute: whoever reaches the port can make thousands."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._silent_until = 0.0
        self._others = 0

    def note(self, fault: str) -> None:
        """Log a refusal, with the number of those before it that were not logged; or count it."""
        with self._guard:
            now = time.monotonic()
            if now < self._silent_until:
                self._others += 1
                return
            others, self._others, self._silent_until = self._others, 0, now + _REFUSALS_LOGGED
        _log.info("refused a connection", fault=fault, **({"others": others} if others else {}))


def _text_reply(status: HTTPStatus, text: str) -> PeerReply:
    headers = {"Content-Type": "text/plain; charset=utf-8", EDITION_HEADER: str(SCHEMA_EDITION)}
    return PeerReply(status, text.encode(), headers)


class _Handler(BaseHTTPRequestHandler):
    """Serves one connection of a neighbour."""

    protocol_version = "HTTP/1.1"
    server_version = "cosched"
    sys_version = ""
    timeout = 60.0  # seconds for which a quiet connection is kept
    owner: PeerServer

    def handle(self) -> None:
        with self.owner.unproved_slot(self.client_address[0]) as free:
            secured = self.owner.handshake(self.request) if free else None
        if secured is None:
            return
        with self.owner.connection_slot() as free:
            if free:
                self._handle_secured(*secured)
            else:
                secured[0].close()

    def _handle_secured(self, connection: ssl.SSLSocket, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._secured = connection
        connection.settimeout(self.timeout)
        self.rfile = self._reader = connection.makefile("rb")
        self.wfile = connection.makefile("wb")
        with contextlib.suppress(OSError), connection:
            super().handle()

    def handle_one_request(self) -> None:
        """Wait for a request; limit the time to its first byte, then to its end."""
        if not self._reader.peek(1):
            self.close_connection = True
            return
        with time_limit(self._secured, self.timeout):
            super().handle_one_request()

    def do_GET(self) -> None:
        self._answer("GET", b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_DOCUMENT_BYTES:
            self.close_connection = True
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        self._answer("POST", self.rfile.read(int(length)))

    def _answer(self, method: str, body: bytes) -> None:
        reply = self.owner.answer(method, self.path, self._fingerprint, body)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
        _log.debug("request", certificate=getattr(self, "_fingerprint", ""), line=format % args)
