from __future__ import annotations

import itertools
from dataclasses import replace

from cosched.agent import Agent, AgentSettings, FiguresOnly, LocalDomain, Peer, Role
from cosched.agent.capability import Entry, Table
from cosched.agent.service import HostClass, Service, Step
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.settings import Settings
from cosched.coscheduler.task import Task
from cosched.prediction.profile import Profile, Source
from cosched.service.situations import FEWEST, known, situation

NOW = 10_000.0
INSTANCE = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
PEERS = {"b": Peer("b", Role.UPPER), "p": Peer("p", paused=True)}
TASK = Task("1", 1, "t", "a", ("/bin/a",), NOW, deadline=NOW + 500.0, profile=Profile((40.0, 20.0), Source.USER))


def an_agent() -> tuple[Agent, Coscheduler]:
    core = Coscheduler(Settings(INSTANCE))
    settings = AgentSettings("a", INSTANCE)
    return Agent(settings, LocalDomain(core, "fast"), FiguresOnly(), 1, itertools.count(1).__next__), core


def an_entry(domain: str, via: str, *steps: Step) -> Entry:
    service = Service(domain, 0.0, 0, (HostClass("small", (Step(0.0, 1),)), HostClass("big", steps)))
    return Entry(service, via, Table.LEARNED, NOW - 10.0)


def some_tasks(count: int) -> list[Task]:
    """Return tasks one a minute, the newest first."""
    return [replace(TASK, submitted=NOW - 60.0 * (count - number)) for number in reversed(range(count))]


def test_what_is_known_becomes_what_is_simulated() -> None:
    agent, _ = an_agent()
    entries = [an_entry("b", "b", Step(5.0, 2), Step(100.0, 3)), an_entry("c", "b", Step(0.0, 2))]
    found = situation(agent, (PEERS, entries, 16), some_tasks(12), FiguresOnly(), NOW)
    assert found is not None
    assert (found.hosts, len(found.tasks)) == (16, 12)
    assert [task.after for task in found.tasks] == [60.0 * number for number in range(12)]
    assert found.tasks[0].allowance == 500.0 + 720.0
    near, far = found.others
    assert (near.name, near.role, near.hosts, near.hardware, near.slowness) == ("b", Role.UPPER, 4, "big", 1.0)
    assert near.busy == 0.25  # of four hosts one is taken now: 10 s have gone by
    assert (far.via, far.role) == ("b", Role.NEIGHBOUR)


def test_tasks_that_say_nothing_are_left_out() -> None:
    agent, core = an_agent()
    entries = [an_entry("b", "b", Step(0.0, 2))]
    tasks = some_tasks(12)
    silent = [replace(tasks[0], origin="b"), replace(tasks[0], deadline=None), replace(tasks[0], profile=None)]
    found = situation(agent, (PEERS, entries, 16), [*silent, *tasks], FiguresOnly(), NOW)
    assert found is not None
    assert len(found.tasks) == 12
    long_ago = [replace(task, submitted=task.submitted - 5000.0) for task in tasks[1:]]
    assert situation(agent, (PEERS, entries, 16), [tasks[0], *long_ago], FiguresOnly(), NOW) is None
    assert known(agent, core, NOW) == ({}, [], 0)


def test_nothing_is_simulated_of_nothing() -> None:
    agent, _ = an_agent()
    entries = [an_entry("b", "b", Step(0.0, 2))]
    assert situation(agent, (PEERS, entries, 16), [], FiguresOnly(), NOW) is None
    assert situation(agent, (PEERS, entries, 16), some_tasks(FEWEST - 1), FiguresOnly(), NOW) is None
    assert situation(agent, (PEERS, [], 16), some_tasks(12), FiguresOnly(), NOW) is None
    assert situation(agent, ({}, entries, 16), some_tasks(12), FiguresOnly(), NOW) is None
