"""Keep the neighbours' entries as their files have them, and read outputs at neighbours.

Start at `PeerDirectory.read`.
"""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import structlog

from cosched.agents.transport import tls
from cosched.agents.transport.allow_list import PeerAllowList
from cosched.agents.transport.peer_client import call_peer
from cosched.agents.transport.remote_output import read_output_reply
from cosched.errors import SystemFault, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from cosched.agents.transport.allow_list import PeerEntry
    from cosched.agents.transport.remote_output import OutputQuery
    from cosched.agents.transport.tls import CertificateFiles
    from cosched.connector.jobs import Output

    EntriesListener = Callable[[Collection[PeerEntry]], None]

__all__ = ["PeerDirectory"]

_log = structlog.get_logger("cosched.agents")
_OUTPUT = 5.0  # seconds for an answer with part of an output
_WATCH = 1.0  # seconds between looks at the peers' files
# Questions for output that wait for an answer, of one neighbour and of all: each holds a thread that answers people.
_MOST_ASKED, _MOST_ASKED_OF_ALL = 8, 16


class PeerDirectory:
    """Watch the folder of the peers' files on a thread, and tell listeners of changes.

    Attributes:
        entries: the neighbours by name.
        fault: why the files cannot be taken up; empty while they can.
    """

    def __init__(self, folder: Path, domain: str, files: CertificateFiles) -> None:
        """Set up.

        Args:
            folder: folder of the peers' files.
            domain: our own name; an entry of this name is passed over.
            files: our certificate and key.
        """
        self.entries: dict[str, PeerEntry] = {}
        self.fault = ""
        self._allow_list = PeerAllowList(folder)
        self._domain = domain
        self._files = files
        self._listeners: list[EntriesListener] = []
        self._fingerprint: tuple[object, ...] | None = None
        self._asked: Counter[str] = Counter()  # questions for output under way, by neighbour
        self._guard = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peers", daemon=True)

    def subscribe(self, listener: EntriesListener) -> None:
        """Have a listener called with all entries whenever they may have changed."""
        self._listeners.append(listener)

    def start(self) -> None:
        """Read the files, and watch them until `stop`."""
        self.read()
        self._thread.start()

    def stop(self) -> None:
        """End the watch; no listener is called afterwards."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def read(self) -> None:
        """Read the peers' files; while one is wrong, those that were in force stay."""
        self._fingerprint = self._allow_list.fingerprint()
        try:
            entries = self._allow_list.entries()
        except UserError as error:
            self._note(error)
            return
        self.entries = {entry.name: entry for entry in entries if entry.name != self._domain}
        try:
            for listener in self._listeners:
                listener(self.entries.values())
        except (UserError, OSError) as error:  # our own key or certificate: half of it is new, say
            self._fingerprint = None  # to be read again at the next look, for its files are not among those watched
            self._note(error)
            return
        self.fault = ""
        _log.info("peers", known=",".join(self.entries))

    def _note(self, error: Exception) -> None:
        if str(error) != self.fault:
            self.fault = str(error)
            _log.error("peers", fault=self.fault)

    def output(self, name: str, query: OutputQuery) -> Output | None:
        """Read part of a forwarded task's output at its neighbour; any thread may call it.

        Raises:
            SystemFault: the neighbour does not answer, or refuses, or is asked for much already; says so.
        """
        entry = self.entries.get(name)
        if entry is None:
            raise SystemFault(f"{name}, where that output is, is no neighbour any more: `cosched peer add` it again")
        try:
            context = tls.client_context(*self._files, entry.certificate)
            with self._asking(name):
                return read_output_reply(call_peer(entry, context, "GET", query.path, timeout=_OUTPUT), query)
        except (OSError, http.client.HTTPException, SystemFault) as error:
            raise SystemFault(f"{name}, where that output is, does not give it ({error}): try again later") from error

    @contextmanager
    def _asking(self, name: str) -> Iterator[None]:
        """Count a question for output while it is under way.

        Raises:
            SystemFault: there are too many.
        """
        with self._guard:
            if self._asked[name] >= _MOST_ASKED or self._asked.total() >= _MOST_ASKED_OF_ALL:
                raise SystemFault("earlier questions for output are not answered yet")
            self._asked[name] += 1
        try:
            yield
        finally:
            with self._guard:
                self._asked[name] -= 1
                self._asked += Counter()  # keeps those above 0 alone

    def _watch(self) -> None:
        while not self._stopped.wait(_WATCH):
            if self._allow_list.fingerprint() != self._fingerprint:
                self.read()
