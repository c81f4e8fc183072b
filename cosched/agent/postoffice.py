"""Brings our letters to neighbours over HTTPS with mutual TLS; see `transport.py` for who takes them in."""

from __future__ import annotations

import contextlib
import http.client
import queue
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog

from cosched.agent import certificate
from cosched.agent.documents import write_letter
from cosched.agent.transport import ask, connected
from cosched.errors import UserError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable
    from pathlib import Path

    from cosched.agent.messages import Letter
    from cosched.agent.peerbook import Entry

__all__ = ["PostOffice"]

_log = structlog.get_logger("cosched.agent")

_MOST_WAITING = 1000  # letters to one neighbour that wait for it; older ones are dropped, what matters is said again


class PostOffice:
    """Brings letters to neighbours, each on a thread of its own: a slow one delays nobody else."""

    def __init__(self, certificate_path: Path, key: Path) -> None:
        self._files = (certificate_path, key)
        self._routes: dict[str, _Route] = {}
        self._guard = threading.Lock()

    def serve(self, entries: Iterable[Entry]) -> None:
        """Bring letters to these neighbours alone."""
        known = {entry.name: entry for entry in entries}
        with self._guard:
            for name in list(self._routes):
                if known.get(name) is None or self._routes[name].moved(known[name]):
                    self._routes.pop(name).stop()
            for name, entry in known.items():
                if name not in self._routes:
                    context = certificate.client_context(*self._files, entry.certificate)
                    self._routes[name] = _Route(entry, context)
                    self._routes[name].start()

    def send(self, letter: Letter) -> None:
        """Take a letter to be sent; what cannot be brought is dropped."""
        with self._guard:
            route = self._routes.get(letter.receiver)
        if route is not None:
            route.put(letter)

    def faults(self) -> dict[str, str]:
        """Return why neighbours cannot be reached, by name."""
        with self._guard:
            return {name: route.fault for name, route in self._routes.items() if route.fault}

    def stop(self) -> None:
        """Send what waits no more."""
        self.serve(())


class _Route(threading.Thread):
    def __init__(self, entry: Entry, context: ssl.SSLContext) -> None:
        super().__init__(name=f"peer-{entry.name}", daemon=True)
        self._entry = entry
        self._context = context
        self._waiting: queue.Queue[Letter | None] = queue.Queue(_MOST_WAITING)
        self._stopped = threading.Event()
        self.fault = ""

    def moved(self, entry: Entry) -> bool:
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
                body = write_letter(letter)
            except UserError as error:
                _log.error("a letter cannot be written", peer=self._entry.name, fault=str(error))
                continue
            connection = self._bring(connection, body)
        if connection is not None:
            connection.close()

    def _bring(self, connection: http.client.HTTPSConnection | None, body: bytes) -> http.client.HTTPSConnection | None:
        """Send one letter, on the connection that there is or on a new one; return what can be used again."""
        for kept in (connection, None):
            if kept is None and connection is not None:
                connection.close()
            used = kept
            try:
                used = used or connected(self._entry, self._context)
                answer = ask(used, "POST", "/letters", body)
            except (OSError, http.client.HTTPException) as error:
                if used is not None:
                    used.close()
                self._note(str(error) or type(error).__name__)
                if kept is None:
                    return None
                continue
            self._note("" if answer.status == HTTPStatus.ACCEPTED else answer.body.decode(errors="replace")[:300])
            return used
        return None

    def _note(self, fault: str) -> None:
        if fault != self.fault:
            self.fault = fault
            if fault:
                _log.warning("a neighbour cannot be reached", peer=self._entry.name, fault=fault)
            else:
                _log.info("a neighbour is reached", peer=self._entry.name)
