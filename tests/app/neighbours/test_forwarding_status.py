from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.access.principals import Principal, Role
from cosched.agents import Agent, AgentSettings, Broker, DomainView, Peer, PeersChanged, UserFiguresKnowledge
from cosched.agents.protocol.letters import (
    Advertisement,
    Offer,
    RemoteTaskState,
    RemoteTaskStatus,
    Report,
    Request,
    Reserved,
    Start,
)
from cosched.app.neighbours.forwarding_status import explain_forwarding, forwarded_ends, forwarding_obstacle
from cosched.app.views.plan_views import forwarded_placements
from cosched.connector.hosts import Host
from cosched.connector.values import NativeDescription
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.elastic.values import Elastic
from cosched.coscheduler.events import HostsObserved, TaskSubmitted
from cosched.prediction.profile import PredictionSource, Profile
from tests.agents.makers import Domain, a_service, a_task, a_wide_task
from tests.agents.makers import a_domain as a_domain_with_b
from tests.tasks import change_task, make_task

if TYPE_CHECKING:
    from cosched.agents.protocol.advertisement import AdvertisedService
    from cosched.coscheduler.task import Task

NOW = 1000.0
CHIEF = Principal("chief", Role.OPERATOR)
INSTANCE = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
TASK = make_task(
    1, command=("/bin/a",), submitted=NOW, deadline=NOW + 10, profile=Profile((40.0, 20.0), PredictionSource.USER)
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"deadline": None}, "no deadline"),
        ({"profile": None}, "no prediction"),
        ({"native": NativeDescription("slurm")}, ""),
        ({"elastic": Elastic(("/bin/worker",))}, "only this domain lends it any"),
        ({"licences": {"matlab": 2}}, r"the licences that it asks for (matlab) are this domain's"),
    ],
)
def test_what_may_travel(changes: dict[str, object], words: str) -> None:
    said = forwarding_obstacle(change_task(TASK, **changes))
    assert words in said
    assert bool(said) == bool(words)


def a_domain(*peers: Peer) -> tuple[Broker, Agent]:
    """Return one of two hosts, with staging so long that nothing leaves."""
    core = Coscheduler(CoreSettings(INSTANCE, staging=1e6))
    agent = Agent(
        AgentSettings("here", INSTANCE),
        DomainView(core, "fast"),
        UserFiguresKnowledge(),
        1,
    )
    broker = Broker(core, agent)
    broker.handle(PeersChanged(NOW, peers))
    broker.handle(HostsObserved(NOW, (Host("h1"), Host("h2"))))
    return broker, agent


def why(broker: Broker, agent: Agent, task: Task) -> str:
    broker.handle(TaskSubmitted(NOW, task))
    found = explain_forwarding(broker.core, agent, task.id, NOW + 1)
    assert found is not None
    return "; ".join(found.waits_for)


def test_why_a_late_task_has_not_gone_elsewhere() -> None:
    broker, agent = a_domain(Peer("there"))
    native = change_task(TASK, native=NativeDescription("slurm"))
    assert "no other domain is known that runs files of others' users for 'slurm'" in why(broker, agent, native)
    assert "other domain" not in why(broker, agent, change_task(TASK, id="2", number=2, deadline=NOW + 1e4))
    assert "other domain" not in why(broker, agent, change_task(TASK, id="3", number=3, deadline=None))


def test_who_was_asked_in_vain_is_said() -> None:
    domain = late_beside(a_service(free=20.0))
    (request,) = [body for body in domain.sent if isinstance(body, Request)]
    domain.say(Offer(request.task, 1, 200.0, "b"))
    said = why_it_stays(domain)
    assert said.startswith(
        "no other domain has offered to end it sooner (b: would end it 3 min 12 s late); asked again"
    )


def late_beside(service: AdvertisedService) -> Domain:
    """Return a domain with a task 2 that is late here, beside a neighbour that advertises this."""
    domain = a_domain_with_b()
    domain.say(Advertisement((service,)))
    domain.submit(a_task(1, None, 100.0))  # has the only host
    domain.submit(a_wide_task(2))
    domain.pass_time(2.0)
    return domain


def why_it_stays(domain: Domain) -> str:
    agent = domain.broker.agent
    assert agent is not None
    found = explain_forwarding(domain.broker.core, agent, "2", domain.time)
    assert found is not None
    return found.waits_for[-1]


def test_a_task_about_which_nobody_was_asked_is_said_so() -> None:
    """It was said that nobody had made an offer, which sounded as if some had been asked."""
    service = a_service()
    for other in (replace(service, applications=("other",), commands=False), a_service(free=1e6)):
        said = why_it_stays(late_beside(other))
        assert said.startswith(
            "it is not offered to other domains: none is known that takes it and is expected to end it sooner; tried "
        )


def test_a_task_that_may_not_begin_yet_is_offered_from_then_on() -> None:
    broker, agent = a_domain(Peer("there"))
    said = why(broker, agent, change_task(TASK, begin=NOW + 121))
    assert said.endswith("it is not offered to other domains before the time from which it may begin, in 2 min")


def test_where_no_neighbour_is_given_tasks_a_late_one_says_so() -> None:
    broker, agent = a_domain(Peer("there", paused=True))
    assert why(broker, agent, TASK).endswith("not offered to other domains: forwarding is paused with each of them")


def test_without_neighbours_nothing_is_said_of_them() -> None:
    broker, agent = a_domain()
    assert "other domain" not in why(broker, agent, TASK)
    assert explain_forwarding(broker.core, agent, "absent", NOW) is None


def test_a_task_that_comes_after_others_stays_with_them() -> None:
    broker, agent = a_domain(Peer("there"))
    broker.handle(TaskSubmitted(NOW, TASK))
    said = why(broker, agent, change_task(TASK, id="2", number=2, after=("1",)))
    assert said.startswith("task 1 (t, queued), which it comes after")
    assert said.endswith("it is not offered to other domains before all that it comes after have completed")


def test_the_end_of_a_task_elsewhere_is_what_its_holder_expects() -> None:
    domain = a_domain_with_b(lease=30.0)
    (request,) = [body for body in domain.submit(a_wide_task()) if isinstance(body, Request)]
    domain.say(Offer(request.task, 1, 5.0, "b"))
    domain.say(Reserved(request.task, 1, 5.0, 10.0))
    agent = domain.broker.agent
    assert agent is not None
    deadline = domain.broker.core.tasks["1"].spec.deadline
    assert deadline is not None
    promised = explain_forwarding(domain.broker.core, agent, "1", domain.time)
    assert promised is not None
    assert (promised.state, promised.planned_start) == ("forwarded", None)
    assert promised.planned_end is not None
    assert promised.slack == deadline - promised.planned_end
    assert forwarded_ends(domain.broker.core, agent) == {"1": promised.planned_end}
    domain.say(Start(request.task, 1, 7))
    running = RemoteTaskStatus(request.task, 1, RemoteTaskState.RUNNING, "b", hosts=("x",), started=2.0, end=31.0)
    domain.say(Report((running,)))
    found = explain_forwarding(domain.broker.core, agent, "1", domain.time)
    assert found is not None
    assert (found.planned_start, found.planned_end) == (domain.time - 2.0, domain.time + 31.0)
    assert found.slack == deadline - (domain.time + 31.0) < 0
    assert forwarded_ends(domain.broker.core, agent) == {"1": domain.time + 31.0}
    (shown,) = forwarded_placements(CHIEF, domain.broker.core, {"1": 40.0})
    assert (shown.task, shown.peer, shown.end, shown.deadline) == ("1", "b", 40.0, deadline)
    assert forwarded_placements(Principal("stranger", Role.USER), domain.broker.core, {"1": 40.0}) == ()
