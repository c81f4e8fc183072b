"""A neighbour made by hand: it speaks the agents' documents over their TLS, and says whatever a test wants.

What it says goes out twice: a network may repeat everything, too.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letters import Advertisement, Inquiry
from cosched.agents.transport.allow_list import read_peer_entry
from cosched.agents.transport.peer_client import LetterSender
from cosched.agents.transport.peer_server import PeerServer
from cosched.simulation.kernels import HARDWARE
from demo.grid import peer
from tests.agents.identities import an_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from cosched.agents.protocol.letters import Body, Letter
    from cosched.agents.transport.remote_output import OutputQuery
    from tests.testbed.federation import Domain

__all__ = ["Liar"]

_HOSTS = 1000
_MOMENT = 0.5  # seconds between two advertisements


class Liar:
    """Advertises a thousand idle hosts that it does not have.

    Attributes:
        manner: what it answers to what it is told; nothing at first.
        heard: how many letters of each kind have come.
    """

    def __init__(self, folder: Path, domain: Domain, name: str = "liar") -> None:
        """Become a domain's neighbour; its folder keeps key and certificate."""
        who = an_identity(folder, name)
        self.manner: Callable[[Body], Iterable[Body]] = lambda _body: ()
        self.heard: Counter[type] = Counter()
        self._name, self._domain = name, domain.name
        self._link = LetterSequence(name, domain.name, int(time.time()))
        self._guard = threading.Lock()
        self._server = PeerServer(("127.0.0.1", 0), who.files, name, self._take, self._output)
        self._office = LetterSender(who.files)
        known = read_peer_entry(domain.folder / "peer.toml")
        self._server.set_peers([known])
        self._office.set_peers([known])
        letter = folder / f"{name}.toml"
        letter.write_text(who.entry(self._server.port).text)
        peer(domain, "add", str(letter))
        self._stopped = threading.Event()
        self._teller = threading.Thread(target=self._tell, name=name, daemon=True)
        self._server.start()
        self._teller.start()

    def stop(self) -> None:
        """Be gone."""
        self._stopped.set()
        self._teller.join()
        self._server.stop()
        self._office.stop()

    def say(self, body: Body) -> None:
        """Say something, twice."""
        with self._guard:
            letter = self._link.write(body)
        for _ in range(2):
            self._office.send(letter)

    def _tell(self) -> None:
        hosts = (AdvertisedHostClass(HARDWARE, (AvailabilityStep(0.0, _HOSTS),)),)
        while not self._stopped.wait(_MOMENT):
            self.say(Advertisement((AdvertisedService(self._name, 0.0, 0, hosts, (), commands=True),)))

    def _take(self, letter: Letter) -> None:
        with self._guard:
            fresh = self._link.take(letter)
        if fresh and not isinstance(letter.body, Advertisement | Inquiry):
            self.heard[type(letter.body)] += 1
            for body in self.manner(letter.body):
                self.say(body)

    def _output(self, _peer: str, _query: OutputQuery) -> None:
        return None
