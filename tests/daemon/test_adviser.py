"""The adviser with the daemon's own engine and store, and the real process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from cosched.agents import Agent, AgentSettings, DomainView, LetterReceived, Peer, PeersChanged, UserFiguresKnowledge
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.messages import Advertisement, Letter
from cosched.connector.interface import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved
from cosched.coscheduler.task import Task
from cosched.daemon.adviser import Adviser, network_view
from cosched.daemon.clock import Clock
from cosched.daemon.config.sections import AgentSection
from cosched.daemon.engine import Engine
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import Store
from tests.daemon.makers import RecordingManager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[tuple[Engine, Agent, Store]]:
    """A domain of two hosts that knows of a neighbour with eight idle ones, and would forget it before it is asked."""
    store = Store(f"sqlite:///{tmp_path}/cosched.db")
    core = Coscheduler(CoreSettings(store.instance, staging=1e6))
    engine = Engine(core, store, Clock())
    engine.manager = cast("Any", RecordingManager())
    settings = AgentSettings("a", store.instance, advertising=AdvertisingSettings(push=False, scope=0, lifetime=0.01))
    agent = Agent(settings, DomainView(core, "fast"), UserFiguresKnowledge(), 1, engine.next_number)
    agent.tables.set_lifetime(1e6)
    engine.join_agent(agent)
    engine.start()
    now = engine.now()
    service = AdvertisedService("b", 0.0, 0, (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 8),)),))
    engine.post(PeersChanged(now, (Peer("b"),)))
    engine.post(LetterReceived(now, Letter("b", "a", 1, 1, 1, Advertisement((service,)))))
    engine.do(HostsObserved(now, (Host("h1"), Host("h2")))).result(10)
    yield engine, agent, store
    engine.stop()
    store.close()


def an_adviser(engine: Engine, agent: Agent, store: Store, mode: str) -> Adviser:
    section = AgentSection.model_validate({"adviser": mode})
    return Adviser(section, agent, engine, store, UserFiguresKnowledge(), Clock())


def submitted(engine: Engine, count: int) -> None:
    profile, due = Profile((40.0, 20.0), PredictionSource.USER), engine.now() + 60.0
    engine.accept([Task("", 0, "t", "a", ("/bin/a",), 0.0, deadline=due, profile=profile)] * count).result(10)


def test_with_few_tasks_nothing_is_advised(engine: tuple[Engine, Agent, Store]) -> None:
    adviser = an_adviser(*engine, "advise")
    adviser.once()
    assert adviser.latest is None
    assert "no advice yet" in adviser.fault


@pytest.mark.parametrize("mode", ["advise", "adopt"])
def test_what_was_found_is_shown_or_adopted(engine: tuple[Engine, Agent, Store], mode: str) -> None:
    running, agent, _ = engine
    submitted(running, 12)
    before = agent.settings.advertising
    adviser = an_adviser(*engine, mode)
    adviser.once()
    assert adviser.latest is not None
    assert adviser.latest.advice.present == before
    assert adviser.latest.advice.changes
    assert adviser.latest.adopted == (mode == "adopt")
    view = running.ask(lambda _core, _time: network_view(agent, adviser)).result(10)
    assert view.advice is not None
    assert view.advice.best.lifetime == adviser.latest.advice.best.lifetime
    assert (agent.settings.advertising != before) == (mode == "adopt")
    assert view.adviser == mode


def test_where_it_is_off_nothing_starts(engine: tuple[Engine, Agent, Store]) -> None:
    adviser = an_adviser(*engine, "off")
    adviser.start()
    assert adviser.ident is None
    adviser.stop()


def test_it_stops_at_once(engine: tuple[Engine, Agent, Store]) -> None:
    adviser = an_adviser(*engine, "advise")
    adviser.start()
    adviser.stop()
    assert not adviser.is_alive()
