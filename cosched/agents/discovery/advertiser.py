"""The advertiser tells neighbours of services and asks silent ones for theirs. Start at `Advertiser.tick`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cosched.agents.protocol.advertisement import AdvertisedService
from cosched.agents.protocol.letters import Advertisement, Inquiry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cosched.agents.agent_settings import AdvertisingSettings, Peer
    from cosched.agents.context import AgentContext
    from cosched.agents.discovery.bidding import Bidder
    from cosched.agents.discovery.capability_tables import CapabilityTables

__all__ = ["Advertiser"]

_CHANGED_SHARE = 0.2  # change of the mean wait for hosts at which a service is advertised before its period is over
# Bytes of what others advertise in one letter, which may have 4 MiB: where it is too large, our own goes with it.
_MOST_TOLD = 2 << 20


class Advertiser:
    """Advertises our own service and those of domains within the scope.

    Attributes:
        advertising: settings in force.
    """

    def __init__(self, context: AgentContext, tables: CapabilityTables, bidder: Bidder) -> None:
        """Set up.

        Args:
            context: context of the agent.
            tables: services of other domains.
            bidder: knows the places that are kept here.
        """
        self.advertising = context.settings.advertising
        self._context = context
        self._settings = context.settings
        self._tables = tables
        self._bidder = bidder
        self._advertised: dict[str, _AdvertisedState] = {}  # by neighbour
        self._inquired: dict[str, float] = {}  # neighbour → last inquiry

    def set_advertising(self, advertising: AdvertisingSettings) -> None:
        """Advertise in this way from now on."""
        self.advertising = advertising
        self._tables.set_lifetime(advertising.lifetime)

    def service(self, time: float) -> AdvertisedService:
        """Return our own service as it is now."""
        settings = self._settings
        classes = self._context.domain.classes(time, self._bidder.booked(time))
        return AdvertisedService(
            settings.name, 0.0, 0, classes, settings.applications, settings.commands, settings.manager
        )

    def tick(self, peers: Iterable[Peer], last_heard: Mapping[str, float], time: float) -> None:
        """Advertise when it is time or much has changed; ask neighbours that have been silent.

        Args:
            peers: all neighbours.
            last_heard: neighbour → when its last letter came, epoch seconds.
            time: now, epoch seconds.
        """
        neighbours = list(peers)
        if not neighbours:
            return
        own, way = self.service(time), self.advertising
        now = _AdvertisedState(time, _mean_wait(own), len(self._tables.entries(time)))
        for peer in neighbours:
            last = self._advertised.get(peer.name, _NEVER)
            pause = way.period / 5 if now.differs(last) else way.period
            if way.push and time >= last.time + pause:
                self.advertise(peer, time, own)
            silent = time >= last_heard.get(peer.name, -math.inf) + way.lifetime / 2
            if silent and time >= self._inquired.get(peer.name, -math.inf) + way.period:
                self.inquire(peer.name, time)

    def inquire(self, peer: str, time: float) -> None:
        """Ask a neighbour for its advertisement."""
        self._inquired[peer] = time
        self._context.round_trips.record_question(peer, Inquiry.__name__, "", 0, time)
        self._context.outcome.send(peer, Inquiry())

    def inquiry_reached(self, peer: str, time: float) -> None:
        """Measure an inquiry's round trip by the first letter that shows its arrival."""
        self._context.round_trips.record_answer(peer, Inquiry.__name__, "", 0, time)

    def advertise(self, peer: Peer, time: float, service: AdvertisedService | None = None) -> None:
        """Send a neighbour the services within the scope, without our hosts if it is paused.

        Args:
            peer: the neighbour.
            time: now, epoch seconds.
            service: ours; None: as it is now.
        """
        own = service or self.service(time)
        entries = self._tables.entries(time)
        self._advertised[peer.name] = _AdvertisedState(time, _mean_wait(own), len(entries))
        if peer.paused:
            own = AdvertisedService(own.domain, 0.0, 0, ())
        told, room = [own], _MOST_TOLD
        for entry in entries:
            service = entry.service
            if peer.name in (entry.via, service.domain) or service.distance >= self.advertising.scope:
                continue
            room -= (size := service.most_bytes)
            if room >= 0:
                told.append(replace(service, age=entry.age(time), distance=service.distance + 1))
            else:
                room += size  # others are smaller
        self._context.outcome.send(peer.name, Advertisement(tuple(told)))


class _AdvertisedState(NamedTuple):
    """Last advertisement to a neighbour: when, the mean wait for a host, other domains."""

    time: float
    wait: float
    domains: int

    def differs(self, other: _AdvertisedState) -> bool:
        if math.isinf(self.wait) or math.isinf(other.wait):  # no host was up, or none is
            apart = self.wait != other.wait
        else:
            apart = abs(self.wait - other.wait) > _CHANGED_SHARE * max(self.wait, other.wait, 1.0)
        return apart or self.domains != other.domains


_NEVER = _AdvertisedState(-math.inf, 0.0, 0)


def _mean_wait(service: AdvertisedService) -> float:
    """Return how long one waits for a host of this service on average, or for a core of a shared one, in seconds."""
    waits = [wait for host_class in service.classes for wait in host_class.waits()]
    amount = sum(count for _, count in waits)
    return sum(time * count for time, count in waits) / amount if amount else math.inf
