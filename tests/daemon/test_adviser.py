"""The adviser with the daemon's own engine and store, and the real process."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, cast

import pytest

from cosched.agents import Agent, AgentSettings, DomainView, LetterReceived, Peer, PeersChanged, UserFiguresKnowledge
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.broker import Broker
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letters import Advertisement, Letter
from cosched.connector.interface import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved
from cosched.daemon.adviser import Adviser, network_view
from cosched.daemon.clock import Clock
from cosched.daemon.config.sections import AgentSection
from cosched.daemon.effects import Effects
from cosched.daemon.engine import Engine
from cosched.daemon.inbox import Inbox
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import Store
from tests.daemon.makers import RecordingManager
from tests.store.new_database import new_database
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def domain(tmp_path: Path) -> Iterator[tuple[Inbox, Agent, Store]]:
    """A domain of two hosts that knows of a neighbour with eight idle ones, and would forget it before it is asked."""
    store = Store(new_database(tmp_path))
    core = Coscheduler(CoreSettings(store.instance, staging=1e6))
    inbox, numbers = Inbox(Clock()), itertools.count(1)
    settings = AgentSettings("a", store.instance, advertising=AdvertisingSettings(push=False, scope=0, lifetime=0.01))
    agent = Agent(settings, DomainView(core, "fast"), UserFiguresKnowledge(), 1, lambda: next(numbers))
    agent.tables.set_lifetime(1e6)
    effects = Effects(cast("Any", RecordingManager()))
    engine = Engine(Broker(core, agent), store, inbox, lambda: next(numbers), effects)
    engine.start()
    now = inbox.now()
    service = AdvertisedService("b", 0.0, 0, (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 8),)),))
    inbox.post(PeersChanged(now, (Peer("b"),)))
    inbox.post(LetterReceived(now, Letter("b", "a", 1, 1, 1, Advertisement((service,)))))
    inbox.apply(HostsObserved(now, (Host("h1"), Host("h2")))).result(10)
    yield inbox, agent, store
    engine.stop()
    store.close()


def an_adviser(inbox: Inbox, agent: Agent, store: Store, mode: str) -> Adviser:
    section = AgentSection.model_validate({"adviser": mode})
    return Adviser(section, agent, inbox, store, UserFiguresKnowledge())


def submitted(inbox: Inbox, count: int) -> None:
    profile, due = Profile((40.0, 20.0), PredictionSource.USER), inbox.now() + 60.0
    inbox.accept([make_task(0, id="", command=("/bin/a",), deadline=due, profile=profile)] * count).result(10)


def test_with_few_tasks_nothing_is_advised(domain: tuple[Inbox, Agent, Store]) -> None:
    adviser = an_adviser(*domain, "advise")
    adviser.once()
    assert adviser.latest is None
    assert "no advice yet" in adviser.fault


@pytest.mark.parametrize("mode", ["advise", "adopt"])
def test_advice_is_shown_or_adopted(domain: tuple[Inbox, Agent, Store], mode: str) -> None:
    inbox, agent, _ = domain
    submitted(inbox, 12)
    before = agent.settings.advertising
    adviser = an_adviser(*domain, mode)
    adviser.once()
    assert adviser.latest is not None
    assert adviser.latest.advice.present == before
    assert adviser.latest.advice.changes
    assert adviser.latest.adopted == (mode == "adopt")
    view = inbox.ask(lambda _core, _time: network_view(agent, adviser)).result(10)
    assert view.advice is not None
    assert view.advice.best.lifetime == adviser.latest.advice.best.lifetime
    assert (agent.settings.advertising != before) == (mode == "adopt")
    assert view.adviser == mode


def test_an_adviser_that_is_off_starts_no_thread(domain: tuple[Inbox, Agent, Store]) -> None:
    adviser = an_adviser(*domain, "off")
    adviser.start()
    assert adviser.ident is None
    adviser.stop()


def test_an_adviser_stops_at_once(domain: tuple[Inbox, Agent, Store]) -> None:
    adviser = an_adviser(*domain, "advise")
    adviser.start()
    adviser.stop()
    assert not adviser.is_alive()
