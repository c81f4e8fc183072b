from __future__ import annotations

import pytest

from cosched.agents import Peer, PeersChanged
from cosched.agents.protocol.advertised_rooms import advertised_rooms
from cosched.agents.protocol.advertisement import AdvertisedService, shared_class
from cosched.agents.protocol.letters import Advertisement
from cosched.agents.transport.allow_list import PeerEntry
from cosched.app.views.neighbour_views import handover_views, peer_views
from cosched.connector.hosts import HostShare
from cosched.coscheduler.handovers import Handover, HandoverState
from tests.agents.makers import UUID, a_domain, a_service, a_task


def entry(name: str, *, paused: bool = False) -> PeerEntry:
    return PeerEntry(name=name, address=f"{name}:1", certificate="none", paused=paused)


@pytest.mark.parametrize(("later", "free"), [(0.0, 0), (5.0, 4)])
def test_what_was_advertised_is_shown_as_of_now(later: float, free: int) -> None:
    domain = a_domain()
    domain.happen(PeersChanged(domain.time, (Peer("b"), Peer("c"))))
    domain.say(Advertisement((a_service(free=3.0),)))
    domain.submit(a_task(1, None))
    agent = domain.broker.agent
    assert agent is not None
    entries = {"b": entry("b"), "c": entry("c", paused=True)}
    b, c = peer_views(entries, {"c": "no route"}, agent, domain.broker.core, domain.time + later)
    assert (b.name, b.hosts, b.free, b.hardware, b.heard) == ("b", 4, free, ("fast",), domain.time)
    assert (c.hosts, c.heard, c.paused, c.fault) == (0, None, True, "no route")
    assert (b.given, b.taken) == (0, 0)


def test_of_shared_hosts_the_free_cores_are_shown_too() -> None:
    domain = a_domain()
    domain.happen(PeersChanged(domain.time, (Peer("b"),)))
    rooms = advertised_rooms([[(0.0, HostShare(0, 4, 0)), (9.0, HostShare(0, 64, 0))]] * 2)
    domain.say(Advertisement((AdvertisedService("b", 0.0, 0, (shared_class("fast", rooms, 0),)),)))
    agent = domain.broker.agent
    assert agent is not None
    (b,) = peer_views({"b": entry("b")}, {}, agent, domain.broker.core, domain.time)
    assert (b.hosts, b.free, b.cores, b.free_cores) == (2, 0, 128, 8)


def test_hand_overs_are_told_as_they_were_written() -> None:
    (view,) = handover_views([Handover(UUID, 2, "1", "b", HandoverState.ENDED, "why", 1.0, 2.0, "completed in b")])
    assert (view.peer, view.epoch, view.state, view.why, view.outcome) == ("b", 2, "ended", "why", "completed in b")
