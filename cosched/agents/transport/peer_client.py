"""The peer client sends letters and questions to neighbours over HTTPS with mutual TLS."""

from __future__ import annotations

import contextlib
import http.client
import queue
import socket
import ssl
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog

from cosched.agents.protocol.letter_xml import EDITION_HEADER, MAX_DOCUMENT_BYTES, SCHEMA_EDITION, write_letter
from cosched.agents.transport import tls
from cosched.agents.transport.remote_output import PeerReply
from cosched.agents.transport.tls import SILENCE_TIMEOUT, time_limit
from cosched.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cosched.agents.protocol.letters import Letter
    from cosched.agents.transport.allow_list import PeerEntry
    from cosched.agents.transport.tls import CertificateFiles

__all__ = ["XML_MEDIA_TYPE", "LetterSender", "answer_text", "call_fault", "call_peer", "connect_peer", "send_request"]

_log = structlog.get_logger("cosched.agents")

_MAX_WAITING = 1000  # letters that wait for one neighbour; older ones are dropped, and repeated if they matter
_LONGEST_EDITION = 4  # characters
_LONGEST_FAULT = 200  # characters
# RemoteDisconnected is a ConnectionResetError.
_ENDED = (http.client.NotConnected, ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError, BrokenPipeError)
_WHOLE_FACTOR = 3  # times the timeout for all of a conversation
XML_MEDIA_TYPE = "application/xml; charset=utf-8"


class LetterSender:
    """Send letters to neighbours, one thread for each, so that none delays another."""

    def __init__(self, files: CertificateFiles) -> None:
        """Set up.

        Args:
            files: certificate and private key of this domain's agent.
        """
        self._files = files
        self._routes: dict[str, _PeerThread] = {}
        self._guard = threading.Lock()

    def set_peers(self, entries: Iterable[PeerEntry]) -> None:
        """Send letters to these neighbours alone."""
        known = {entry.name: entry for entry in entries}
        with self._guard:
            for name in list(self._routes):
                if known.get(name) is None or self._routes[name].moved(known[name]):
                    self._routes.pop(name).stop()
            for name, entry in known.items():
                if name not in self._routes:
                    context = tls.client_context(*self._files, entry.certificate)
                    self._routes[name] = _PeerThread(entry, context)
                    self._routes[name].start()

    def send(self, letter: Letter) -> None:
        """Queue a letter; it is dropped where it cannot be delivered."""
        with self._guard:
            route = self._routes.get(letter.receiver)
        if route is not None:
            route.put(letter)

    def faults(self) -> dict[str, str]:
        """Return why neighbours cannot be reached, by name."""
        with self._guard:
            return {name: route.fault for name, route in self._routes.items() if route.fault}

    def stop(self) -> None:
        """Stop sending; waiting letters are dropped."""
        self.set_peers(())


class _PeerThread(threading.Thread):
    def __init__(self, entry: PeerEntry, context: ssl.SSLContext) -> None:
        super().__init__(name=f"peer-{entry.name}", daemon=True)
        self._entry = entry
        self._context = context
        self._waiting: queue.Queue[Letter | None] = queue.Queue(_MAX_WAITING)
        self._stopped = threading.Event()
        self._fault = ""
        self._edition = 1  # of the neighbour's schema, until it says a later one

    @property
    def fault(self) -> str:
        """The reason why the last letter did not arrive; empty if it did."""
        return self._fault

    def moved(self, entry: PeerEntry) -> bool:
        return (entry.address, entry.certificate) != (self._entry.address, self._entry.certificate)

    def put(self, letter: Letter) -> None:
        try:
            self._waiting.put_nowait(letter)
        except queue.Full:
            with contextlib.suppress(queue.Empty):
                self._waiting.get_nowait()
            with contextlib.suppress(queue.Full):
                self._waiting.put_nowait(letter)

    def stop(self) -> None:
        self._stopped.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)

    def run(self) -> None:
        connection: http.client.HTTPSConnection | None = None
        while not self._stopped.is_set():
            letter = self._waiting.get()
            if letter is None:
                continue
            try:
                body = write_letter(letter, self._edition)
            except UserError as error:
                _log.error("a letter cannot be written", peer=self._entry.name, fault=str(error))
                continue
            connection = self._deliver(connection, body)
        if connection is not None:
            connection.close()

    def _deliver(
        self, connection: http.client.HTTPSConnection | None, body: bytes
    ) -> http.client.HTTPSConnection | None:
        """Send one letter on the open connection or a new one; return a reusable connection."""
        for kept in (connection, None):
            if kept is None and connection is not None:
                connection.close()
            used = kept
            try:
                used = used or connect_peer(self._entry, self._context)
                answer = send_request(used, "POST", "/letters", body)
            except (OSError, http.client.HTTPException) as error:
                if used is not None:
                    used.close()
                if kept is None:
                    self._note(call_fault(error))
                    return None
                continue  # a kept connection ends whenever the neighbour starts again: a new one says more
            self._edition = _edition(answer)
            self._note("" if answer.status == HTTPStatus.ACCEPTED else answer_text(answer))
            return used
        return None

    def _note(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            if fault:
                _log.warning("a neighbour cannot be reached", peer=self._entry.name, fault=fault)
            else:
                _log.info("a neighbour is reached", peer=self._entry.name)


def call_fault(error: OSError | http.client.HTTPException) -> str:
    """Return in one line why a neighbour was not reached, whatever it sent."""
    if isinstance(error, _ENDED):
        return "it ended the connection"
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            "it shows another certificate than the one that was added: add its new file, or where it has made a new "
            "one and not been started again since, start it"
        )
    if isinstance(error, http.client.BadStatusLine | http.client.LineTooLong):
        return "it answers with what is not HTTP"
    return _line(str(error) or type(error).__name__)


def answer_text(answer: PeerReply) -> str:
    """Return in one line what a neighbour answered."""
    return _line(answer.body.decode(errors="replace")) or f"it answers with status {answer.status}"


def _line(text: str) -> str:
    shown = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return shown if len(shown) <= _LONGEST_FAULT else f"{shown[:_LONGEST_FAULT]}…"


def _edition(answer: PeerReply) -> int:
    """Return the edition of the schema by which a neighbour reads letters, no later than ours."""
    said = answer.headers.get(EDITION_HEADER, "")
    known = said.isdecimal() and len(said) < _LONGEST_EDITION
    return max(min(int(said), SCHEMA_EDITION), 1) if known else 1


def call_peer(
    entry: PeerEntry,
    context: ssl.SSLContext,
    method: str,
    path: str,
    body: bytes = b"",
    timeout: float = SILENCE_TIMEOUT,
) -> PeerReply:
    """Ask a neighbour's agent something.

    Args:
        entry: the neighbour.
        context: proves our identity and takes the neighbour's certificate alone.
        method: "GET" or "POST".
        path: with its query.
        body: XML; empty for none.
        timeout: seconds of silence after which it is given up; all of it may take three times that.

    Raises:
        OSError, http.client.HTTPException: it does not answer, or has another certificate.
    """
    connection = connect_peer(entry, context, timeout)
    try:
        return send_request(connection, method, path, body, timeout)
    finally:
        connection.close()


def connect_peer(
    entry: PeerEntry, context: ssl.SSLContext, timeout: float = SILENCE_TIMEOUT
) -> http.client.HTTPSConnection:
    """Return a mutually authenticated connection to a neighbour's agent; errors as `call_peer`."""
    host, port = entry.host_and_port
    connection = http.client.HTTPSConnection(host, port, context=context, timeout=timeout)
    plain = socket.create_connection((host, port), timeout)
    try:
        secured = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    except BaseException:
        plain.close()
        raise
    connection.sock = secured
    try:
        with time_limit(secured, _WHOLE_FACTOR * timeout):
            secured.do_handshake()
    except BaseException:
        connection.close()
        raise
    return connection


def send_request(
    connection: http.client.HTTPSConnection, method: str, path: str, body: bytes = b"", timeout: float = SILENCE_TIMEOUT
) -> PeerReply:
    """Send a request on a connection, and return the reply; see `call_peer`.

    The connection can be used again unless an error is raised.
    """
    if connection.sock is None:  # the neighbour wished to end it after its last answer
        raise http.client.NotConnected
    with time_limit(connection.sock, _WHOLE_FACTOR * timeout):
        connection.request(method, path, body, {"Content-Type": XML_MEDIA_TYPE} if body else {})
        answer = connection.getresponse()
        content = answer.read(MAX_DOCUMENT_BYTES)
        if not answer.isclosed():
            fault = (
                f"more than {MAX_DOCUMENT_BYTES} bytes"
                if len(content) == MAX_DOCUMENT_BYTES
                else "not all of what it announced"
            )
            raise http.client.HTTPException(f"it answers with {fault}")
        return PeerReply(answer.status, content, dict(answer.getheaders()))
