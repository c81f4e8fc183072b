"""One domain's broker, and a neighbour "b" whose letters a test writes by hand."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from cosched.agents import (
    Agent,
    AgentSettings,
    Broker,
    DomainView,
    LetterReceived,
    Peer,
    PeersChanged,
    SendLetter,
    UserFiguresKnowledge,
)
from cosched.agents.agent_settings import AdvertisingSettings
from cosched.agents.letter_sequence import LetterSequence
from cosched.agents.protocol.advertisement import AdvertisedHostClass, AdvertisedService, AvailabilityStep
from cosched.agents.protocol.letters import Advertisement, Inquiry
from cosched.connector.hosts import Host
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import HostsObserved, TaskSubmitted, Tick
from cosched.coscheduler.handovers import TaskDocument
from cosched.prediction.profile import PredictionSource, Profile
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.agents.protocol.letters import Body
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.task import Task

NOW = 1000.0
INSTANCE = "9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e"
UUID = "0d2f3c6f-36a1-4a51-9a5b-9a1f5e0c8b1e"
DOCUMENT = TaskDocument("g", "g", "ann", 60.0, seconds=(20.0,))


def a_profile(*seconds: float) -> Profile:
    return Profile(seconds, PredictionSource.USER)


def a_task(number: int = 1, deadline: float | None = NOW + 10.0, *seconds: float, **changes: Any) -> Task:
    """Return one that takes 40 s on a host, where nothing else is said."""
    profile = a_profile(*(seconds or (40.0,)))
    return make_task(number, command=("/bin/a",), submitted=NOW, deadline=deadline, profile=profile, **changes)


def a_wide_task(number: int = 1) -> Task:
    """Return one that is late on one host, and in time on four."""
    return a_task(number, NOW + 10.0, 40.0, 20.0, 10.0, 5.0)


def a_guest(allowance: float = 60.0) -> Task:
    """Return what the shell makes of `DOCUMENT`."""
    return make_task(
        0, id="", name="g", application="g", command=("/bin/g",), deadline=NOW + allowance, profile=a_profile(20.0)
    )


def a_service(domain: str = "b", *, free: float = 0.0, hosts: int = 4) -> AdvertisedService:
    return AdvertisedService(domain, 0.0, 0, (AdvertisedHostClass("fast", (AvailabilityStep(free, hosts),)),))


@dataclass
class Domain:
    """A domain of its own with so many hosts; `sent` and the records are of the last event."""

    broker: Broker
    links: dict[str, LetterSequence]
    time: float = NOW
    outcome: Outcome = field(init=False)

    def happen(self, event: Any) -> list[Body]:
        self.outcome = self.broker.handle(event)
        return self.sent

    @property
    def sent(self) -> list[Body]:
        return [one.letter.body for one in self.outcome.decisions if isinstance(one, SendLetter)]

    @property
    def started(self) -> list[str]:
        return [one.task.id for one in self.outcome.decisions if isinstance(one, DispatchAttempt)]

    def said_to(self, peer: str) -> list[Body]:
        """Return what was sent to a neighbour."""
        sends = [one.letter for one in self.outcome.decisions if isinstance(one, SendLetter)]
        return [letter.body for letter in sends if letter.receiver == peer]

    def say(self, body: Body, task: Task | None = None, fault: str = "", by: str = "b") -> list[Body]:
        """Let b say something, or another neighbour."""
        return self.happen(LetterReceived(self.time, self.links[by].write(body), task, fault))

    def submit(self, task: Task) -> list[Body]:
        return self.happen(TaskSubmitted(self.time, task))

    def pass_time(self, seconds: float) -> list[Body]:
        self.time += seconds
        return self.happen(Tick(self.time))

    def state(self, task: str) -> str:
        found = self.broker.core.tasks.get(task)
        return "gone" if found is None else str(found.status.state)


def some_settings(name: str, instance: str, **changes: Any) -> AgentSettings:
    """Return an agent's settings with these fields changed, those of its advertising too."""
    names = {field.name for field in fields(AdvertisingSettings)}
    advertising = AdvertisingSettings(**{key: value for key, value in changes.items() if key in names})
    others = {key: value for key, value in changes.items() if key not in names}
    return AgentSettings(name, instance, advertising=advertising, **others)


def a_link(name: str) -> LetterSequence:
    """Return the side of a neighbour's from which it writes to a."""
    link = LetterSequence(name, "a", 1)
    link.life = 1
    return link


def a_domain(hosts: int = 1, others: Sequence[Peer] = (), **changes: Any) -> Domain:
    """Return the domain a that has heard of b's four free hosts, and of its other neighbours nothing."""
    core = Coscheduler(CoreSettings(INSTANCE, staging=0.0, retry=1.0))
    settings = some_settings("a", INSTANCE, **changes)
    agent = Agent(settings, DomainView(core, "fast"), UserFiguresKnowledge(), 1)
    peers = (Peer("b"), *others)
    domain = Domain(Broker(core, agent), {peer.name: a_link(peer.name) for peer in peers})
    domain.happen(PeersChanged(NOW, peers))
    domain.happen(HostsObserved(NOW, tuple(Host(f"h{number}") for number in range(hosts))))
    domain.say(Advertisement((a_service(),)))
    for peer in others:
        domain.say(Inquiry(), by=peer.name)  # its life is known by that
    return domain
