"""The adviser with the daemon's own engine and store, and the real process."""

from __future__ import annotations

import pickle
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from cosched.agents import (
    Agent,
    AgentSettings,
    DomainView,
    LetterReceived,
    Peer,
    PeerRole,
    PeersChanged,
    UserFiguresKnowledge,
)
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.broker import Broker
from cosched.agents.discovery.capability_tables import CapabilityEntry, TableKind
from cosched.agents.protocol.advertised_rooms import AdvertisedRoom, RoomStep
from cosched.agents.protocol.advertisement import (
    AdvertisedHostClass,
    AdvertisedService,
    AvailabilityStep,
    shared_class,
)
from cosched.agents.protocol.letters import Advertisement, Letter
from cosched.connector.hosts import Host
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved
from cosched.daemon.clock import Clock
from cosched.daemon.config.sections import AgentSection
from cosched.daemon.effects import Effects
from cosched.daemon.engine import Engine
from cosched.daemon.inbox import Inbox
from cosched.daemon.processes.adviser import (
    FEWEST_TASKS,
    Adviser,
    NetworkSurvey,
    adviser_snapshot,
    network_view,
    survey_network,
)
from cosched.prediction.profile import PredictionSource, Profile
from cosched.store import Store
from tests.daemon.makers import RecordingManager
from tests.store.new_database import new_database
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cosched.agents.advice import Advice
    from cosched.coscheduler.task import Task


@pytest.fixture
def domain(tmp_path: Path) -> Iterator[tuple[Inbox, Agent, Store]]:
    """A domain of two hosts that knows of a neighbour with eight idle ones, and would forget it before it is asked."""
    store = Store(new_database(tmp_path))
    core = Coscheduler(CoreSettings(store.instance, staging=1e6))
    inbox = Inbox(Clock())
    settings = AgentSettings("a", store.instance, advertising=AdvertisingSettings(push=False, scope=0, lifetime=0.01))
    agent = Agent(settings, DomainView(core, "fast"), UserFiguresKnowledge(), 1)
    agent.tables.set_lifetime(1e6)
    effects = Effects(cast("Any", RecordingManager()))
    engine = Engine(Broker(core, agent), store, inbox, effects)
    engine.start()
    now = inbox.now()
    service = AdvertisedService("b", 0.0, 0, (AdvertisedHostClass("fast", (AvailabilityStep(0.0, 8),)),))
    inbox.post(PeersChanged(now, (Peer("b"),)))
    inbox.post(LetterReceived(now, Letter("b", "a", 1, 1, 1, Advertisement((service,)))))
    inbox.apply(HostsObserved(now, (Host("h1"), Host("h2")))).result(60)
    yield inbox, agent, store
    engine.stop()
    store.close()


def an_adviser(inbox: Inbox, agent: Agent, store: Store, mode: str) -> Adviser:
    section = AgentSection.model_validate({"adviser": mode})
    return Adviser(section, agent, inbox, store, UserFiguresKnowledge())


def submitted(inbox: Inbox, count: int) -> None:
    profile, due = Profile((40.0, 20.0), PredictionSource.USER), inbox.now() + 60.0
    inbox.accept([make_task(0, id="", command=("/bin/a",), deadline=due, profile=profile)] * count).result(60)


def test_with_few_tasks_nothing_is_advised(domain: tuple[Inbox, Agent, Store]) -> None:
    adviser = an_adviser(*domain, "advise")
    adviser.once()
    assert adviser.latest is None
    assert "no advice yet" in adviser.fault


class Answered:
    """A process that gives the advice that an earlier one has found."""

    returncode = 0

    def __init__(self, advice: Advice) -> None:
        self._output = pickle.dumps(advice)

    def communicate(self, _question: bytes) -> tuple[bytes, bytes]:
        return self._output, b""


@pytest.mark.daemon
@pytest.mark.slow(6)
def test_advice_is_shown_or_adopted(domain: tuple[Inbox, Agent, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    """The process simulates for the adviser that shows; the one that adopts is given the same answer."""
    monkeypatch.setattr("cosched.daemon.processes.adviser._NICE", 0)  # on a busy machine no processor is ever idle
    submitted(domain[0], 12)
    advice = latest_advice(*domain, "advise")
    monkeypatch.setattr(subprocess, "Popen", lambda *_command, **_pipes: Answered(advice))
    assert latest_advice(*domain, "adopt") == advice


def latest_advice(inbox: Inbox, agent: Agent, store: Store, mode: str) -> Advice:
    """Ask an adviser of a mode, check that it changes the agent only where it adopts, and return what it was told."""
    before = agent.settings.advertising
    adviser = an_adviser(inbox, agent, store, mode)
    adviser.once()
    assert adviser.latest is not None
    advice = adviser.latest.advice
    assert advice.present == before
    assert advice.changes
    assert adviser.latest.adopted == (mode == "adopt")
    view = inbox.ask(lambda _core, _time: network_view(agent, adviser)).result(60)
    assert view.advice is not None
    assert view.advice.best.lifetime == advice.best.lifetime
    assert (agent.settings.advertising != before) == (mode == "adopt")
    assert view.adviser == mode
    return advice


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


NOW = 10_000.0
INSTANCE = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
PEERS = {"b": Peer("b", PeerRole.UPPER), "p": Peer("p", paused=True)}
TASK = make_task(
    1, command=("/bin/a",), submitted=NOW, deadline=NOW + 500.0, profile=Profile((40.0, 20.0), PredictionSource.USER)
)


def an_agent() -> tuple[Agent, Coscheduler]:
    core = Coscheduler(CoreSettings(INSTANCE))
    settings = AgentSettings("a", INSTANCE)
    return Agent(settings, DomainView(core, "fast"), UserFiguresKnowledge(), 1), core


def an_entry(domain: str, via: str, *steps: AvailabilityStep) -> CapabilityEntry:
    service = AdvertisedService(
        domain, 0.0, 0, (AdvertisedHostClass("small", (AvailabilityStep(0.0, 1),)), AdvertisedHostClass("big", steps))
    )
    return CapabilityEntry(service, via, TableKind.LEARNED, NOW - 10.0)


def some_tasks(count: int) -> list[Task]:
    """Return tasks one a minute, the newest first."""
    return [replace(TASK, submitted=NOW - 60.0 * (count - number)) for number in reversed(range(count))]


def test_a_snapshot_has_the_known_domains_and_tasks() -> None:
    agent, _ = an_agent()
    entries = [
        an_entry("b", "b", AvailabilityStep(5.0, 2), AvailabilityStep(100.0, 3)),
        an_entry("c", "b", AvailabilityStep(0.0, 2)),
    ]
    found = adviser_snapshot(agent, NetworkSurvey(PEERS, entries, 16), some_tasks(12), UserFiguresKnowledge(), NOW)
    assert found is not None
    assert (found.hosts, len(found.tasks)) == (16, 12)
    assert [task.after for task in found.tasks] == [60.0 * number for number in range(12)]
    assert found.tasks[0].allowance == 500.0 + 720.0
    near, far = found.others
    assert (near.name, near.role, near.hosts, near.hardware, near.slowness) == ("b", PeerRole.UPPER, 4, "big", 1.0)
    assert near.busy == 0.25  # of four hosts one is taken now: 10 s have gone by
    assert (far.via, far.role) == ("b", PeerRole.NEIGHBOUR)


def test_a_domain_whose_hosts_have_no_cores_ends_no_adviser() -> None:
    """Its thread ended, so that there was no advice any more."""
    agent, _ = an_agent()
    rooms = (AdvertisedRoom(2, (RoomStep(0.0, 0, 1024, 0),)),)
    service = AdvertisedService("b", 0.0, 0, (shared_class("big", rooms, 0),))
    entries = [CapabilityEntry(service, "b", TableKind.LEARNED, NOW)]
    found = adviser_snapshot(agent, NetworkSurvey(PEERS, entries, 16), some_tasks(12), UserFiguresKnowledge(), NOW)
    assert found is not None
    assert [(each.name, each.hosts, each.busy) for each in found.others] == [("b", 2, 0.0)]


def test_tasks_that_say_nothing_are_left_out() -> None:
    agent, core = an_agent()
    entries = [an_entry("b", "b", AvailabilityStep(0.0, 2))]
    tasks = some_tasks(12)
    silent = [replace(tasks[0], origin="b"), change_task(tasks[0], deadline=None), replace(tasks[0], profile=None)]
    found = adviser_snapshot(agent, NetworkSurvey(PEERS, entries, 16), [*silent, *tasks], UserFiguresKnowledge(), NOW)
    assert found is not None
    assert len(found.tasks) == 12
    long_ago = [replace(task, submitted=task.submitted - 5000.0) for task in tasks[1:]]
    assert (
        adviser_snapshot(agent, NetworkSurvey(PEERS, entries, 16), [tasks[0], *long_ago], UserFiguresKnowledge(), NOW)
        is None
    )
    assert survey_network(agent, core, NOW) == NetworkSurvey({}, [], 0)


def test_too_few_tasks_or_domains_make_no_snapshot() -> None:
    agent, _ = an_agent()
    entries = [an_entry("b", "b", AvailabilityStep(0.0, 2))]
    assert adviser_snapshot(agent, NetworkSurvey(PEERS, entries, 16), [], UserFiguresKnowledge(), NOW) is None
    assert (
        adviser_snapshot(
            agent, NetworkSurvey(PEERS, entries, 16), some_tasks(FEWEST_TASKS - 1), UserFiguresKnowledge(), NOW
        )
        is None
    )
    assert adviser_snapshot(agent, NetworkSurvey(PEERS, [], 16), some_tasks(12), UserFiguresKnowledge(), NOW) is None
    assert adviser_snapshot(agent, NetworkSurvey({}, entries, 16), some_tasks(12), UserFiguresKnowledge(), NOW) is None
