from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from cosched.agents import Agent, AgentSettings, DomainView, Peer, PeerRole, UserFiguresKnowledge
from cosched.agents.discovery.capability_tables import CapabilityEntry, TableKind
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.daemon.adviser import FEWEST_TASKS, NetworkSurvey, adviser_snapshot, survey_network
from cosched.prediction.profile import PredictionSource, Profile
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from cosched.coscheduler.task import Task

NOW = 10_000.0
INSTANCE = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
PEERS = {"b": Peer("b", PeerRole.UPPER), "p": Peer("p", paused=True)}
TASK = make_task(
    1, command=("/bin/a",), submitted=NOW, deadline=NOW + 500.0, profile=Profile((40.0, 20.0), PredictionSource.USER)
)


def an_agent() -> tuple[Agent, Coscheduler]:
    core = Coscheduler(CoreSettings(INSTANCE))
    settings = AgentSettings("a", INSTANCE)
    return Agent(settings, DomainView(core, "fast"), UserFiguresKnowledge(), 1, itertools.count(1).__next__), core


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
