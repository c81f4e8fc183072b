"""Several domains with their agents in virtual time, over a simulated network.

Start at `Grid.run`; without agents each domain works off what is submitted to it. `KernelKnowledge` tells the agents
run times on other hardware.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cosched.agents import Agent, Broker, DomainView, LetterReceived, PeersChanged, SendLetter
from cosched.agents.protocol.messages import Commit, Request
from cosched.agents.protocol.xml_documents import read_letter, write_letter
from cosched.agents.tickets import describe_task
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import CancelRequested, TaskSubmitted, Tick
from cosched.coscheduler.task import Task
from cosched.coscheduler.what_if import predict_placement
from cosched.simulation.kernels import kernel_profile
from cosched.simulation.placement_rules import DomainLoad, PlacementRule, chosen_domains
from cosched.simulation.simulated_domain import SimulatedDomain, SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.agents import AgentSettings, Peer
    from cosched.agents.broker import AgentEvent
    from cosched.agents.protocol.messages import Letter
    from cosched.agents.statistics import AgentFigures
    from cosched.coscheduler.changes import Decision, Outcome
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.handovers import TaskDocument
    from cosched.coscheduler.task import Attempt
    from cosched.prediction.profile import Profile
    from cosched.simulation.network import SimulatedNetwork
    from cosched.simulation.simulated_domain import Calendar, SimulatedRun

__all__ = ["Grid", "GridDomain", "GridSettings", "GridTask", "HostOutage", "KernelKnowledge", "host_names"]

# ── What the agents of a simulated grid know of tasks: kernels by name, on hardware that differs in speed alone.


class KernelKnowledge:
    """Knows how long the kernels take on every class of hardware."""

    def __init__(self, slowness: Mapping[str, float], profiles: Callable[[str], Profile]) -> None:
        """Set up.

        Args:
            slowness: by class of hardware: run time ÷ that on hosts of slowness 1.
            profiles: run times of a kernel on hosts of slowness 1, by its name.
        """
        self._slowness = slowness
        self._profiles = profiles
        self._limited: dict[tuple[str, str, int], Profile | None] = {}
        self._known: dict[tuple[str, str], Profile] = {}

    def on(self, kernel: str, hardware: str) -> Profile:
        """Return the kernel's times on a class of hardware."""
        key = (kernel, hardware)
        if key not in self._known:
            self._known[key] = self._profiles(kernel).scaled(self._slowness[hardware])
        return self._known[key]

    def document(self, task: Task, hosts: int) -> TaskDocument:
        """Describe a task by its kernel's name; see `Knowledge`."""
        return describe_task(task, hosts)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return a task's times elsewhere, None where none of so many hosts can run it; see `Knowledge`."""
        key = (document.application, hardware, hosts)
        if key not in self._limited:
            times = self.on(document.application, hardware)
            possible = any(map(math.isfinite, times.seconds[:hosts]))
            self._limited[key] = times.limited(hosts) if possible else None
        return self._limited[key]


# ── Several domains with their agents in virtual time: the daemon's own core, agent and letters over a simulated
# network.
#
# Without agents the domains do not know of one another, and each works off what is submitted to it.


_NAMESPACE = UUID("5d5a2a38-7a56-4c0f-8c1c-2b4f0b6e7d11")
_TICK_SECONDS = 1.0  # seconds between two looks of an agent
_LONGEST_WAIT = 50_000.0  # seconds after the last request


@dataclass(frozen=True, slots=True)
class GridDomain:
    """A domain: its hosts and how they compare, and whom its agent knows.

    Attributes:
        name: of the domain.
        hosts: how many, all alike.
        hardware: name of their class.
        peers: neighbours of its agent.
    """

    name: str
    hosts: int
    hardware: str
    peers: tuple[Peer, ...] = ()


@dataclass(frozen=True, slots=True)
class GridTask:
    """One request.

    Attributes:
        name: its own in the whole grid.
        kernel: what it runs.
        site: the domain that it is submitted to.
        submitted: seconds.
        deadline: seconds.
    """

    name: str
    kernel: str
    site: str
    submitted: float
    deadline: float


@dataclass(frozen=True, slots=True)
class HostOutage:
    """A domain's hosts go down at `start`, with what runs on them, and come back at `end`; seconds.

    Its agent and its queue stay: who leaves the network as well is cut off by a `Cut`.
    """

    site: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class GridSettings:
    """How the domains of a grid work.

    Attributes:
        policy: of each domain.
        agents: whether they hand tasks to one another.
        generations: of the genetic search at each change; None: there is no search.
        agent: settings of the agents; each gets a name and an instance of its own.
        noise: what a task really takes ÷ what was predicted.
        placement: which domains a request is submitted to: see `placement`.
        documents: whether letters are written as XML, validated by the schema and read again, as between daemons.
        absences: of domains.
    """

    policy: str
    agents: bool
    generations: int | None
    agent: AgentSettings
    noise: Callable[[str], float]
    placement: PlacementRule = PlacementRule.HOME
    documents: bool = False
    absences: tuple[HostOutage, ...] = ()


def host_names(site: GridDomain) -> list[str]:
    """Return the names of a domain's hosts."""
    return [f"{site.name}-{number:02d}" for number in range(1, site.hosts + 1)]


class Grid:
    """The domains.

    Attributes:
        domains: by name.
        network: carries the letters.
    """

    def __init__(
        self,
        sites: Sequence[GridDomain],
        slowness: Mapping[str, float],
        middleware: GridSettings,
        network: SimulatedNetwork,
        calendar: Calendar,
        seed: int,
        profiles: Callable[[str], Profile] = kernel_profile,
    ) -> None:
        """Build a grid.

        Args:
            sites: the domains.
            slowness: by class of hardware: run time ÷ the kernels' published times.
            middleware: how they work.
            network: between them, in the same calendar.
            calendar: the world's.
            seed: of the searches and of arbitrary host counts.
            profiles: run times of a kernel on hosts of slowness 1, by its name.
        """
        self.network = network
        self._calendar = calendar
        knowledge = KernelKnowledge(slowness, profiles)
        self._middleware = middleware
        self._outstanding = 0
        self._draw = random.Random(seed)  # noqa: S311  a repeatable draw, not a secret
        self._copies: dict[str, list[str]] = {}  # task → domains that it was submitted to
        self._begun: dict[str, str] = {}  # task → where it began first
        self.domains = {
            site.name: _AgentDomain(self, site, knowledge, middleware, calendar, seed + place)
            for place, site in enumerate(sites)
        }

    def run(self, tasks: Sequence[GridTask]) -> dict[str, tuple[str, SimulatedRun]]:
        """Submit tasks at their times and go on until all have run.

        Returns:
            Where and how each ran, by name.

        Raises:
            RuntimeError: some never do.
        """
        self._outstanding = len(tasks)
        for task in tasks:
            self._calendar.at(task.submitted, partial(self._submit, task))
        if self._middleware.agents:
            for domain in self.domains.values():
                domain.begin()
        for absence in self._middleware.absences:
            domain = self.domains[absence.site]
            self._calendar.at(absence.start, partial(domain.set_up, up=False))
            self._calendar.at(absence.end, partial(domain.set_up, up=True))
        until = max(task.submitted for task in tasks) + _LONGEST_WAIT
        while self._outstanding and self._calendar.step(until):
            pass
        found = {run.name: (name, run) for name, domain in self.domains.items() for run in domain.runs}
        if len(found) < len(tasks):
            raise RuntimeError(f"{len(tasks) - len(found)} tasks have never run")
        return found

    @property
    def repeated(self) -> int:
        """How many runs came to their end beyond one for each task."""
        runs = [run.name for domain in self.domains.values() for run in domain.runs]
        return len(runs) - len(set(runs))

    def figures(self) -> list[AgentFigures]:
        """Return what each agent has counted."""
        agents = [domain.agent for domain in self.domains.values()]
        return [agent.figures() for agent in agents if agent is not None]

    def ended(self) -> None:
        """One more task has run."""
        self._outstanding -= 1

    def started(self, name: str, where: str) -> None:
        """A task begins in a domain: where copies of it were submitted to several, all but the first are called off."""
        copies = self._copies[name]
        if len(copies) == 1:
            return
        first = self._begun.setdefault(name, where)
        for other in copies if first == where else [where]:
            if other != first:
                self.domains[other].call_off(name)

    def _submit(self, task: GridTask) -> None:
        placement, spots = self._middleware.placement, {}
        if placement is not PlacementRule.HOME:
            spots = {name: domain.outlook(task) for name, domain in self.domains.items()}
        chosen = chosen_domains(placement, task.site, spots, self._draw)
        self._copies[task.name] = chosen
        for name in chosen:
            self.domains[name].submit(task)

    def send(self, letter: Letter) -> None:
        """Bring a letter to its receiver."""
        if self._middleware.documents:
            document = write_letter(letter)
            self.network.bytes += len(document)
            letter = read_letter(document)
        self.network.carry(letter.sender, letter.receiver, lambda: self.domains[letter.receiver].receive(letter))


class _AgentDomain(SimulatedDomain):
    """A domain with its agent."""

    def __init__(
        self,
        grid: Grid,
        site: GridDomain,
        knowledge: KernelKnowledge,
        middleware: GridSettings,
        calendar: Calendar,
        seed: int,
    ) -> None:
        instance = str(uuid5(_NAMESPACE, site.name))
        settings = CoreSettings(instance, policy=middleware.policy, seed=seed)
        searched = middleware.policy == "genetic" and middleware.generations is not None
        planner = SimulatedPlanner(middleware.generations or 0, seed) if searched else None
        super().__init__(settings, host_names(site), _actual_seconds(middleware.noise), planner, calendar)
        self._grid = grid
        self._site = site
        self._knowledge = knowledge
        self._numbers = 0
        self._names: dict[str, str] = {}  # of requests that were submitted here → identifiers
        agent = None
        if middleware.agents:
            own = replace(middleware.agent, name=site.name, instance=instance)
            agent = Agent(own, DomainView(self.core, site.hardware), knowledge, 1, self._number)
        self.agent = agent
        self._broker = Broker(self.core, agent)

    def begin(self) -> None:
        """Make the neighbours known and let time go by."""
        self._tell(PeersChanged(self.time, self._site.peers))
        self._tick()

    def submit(self, task: GridTask) -> None:
        """Take a request in."""
        accepted = self._task(task, self._number())
        self._names[task.name] = accepted.id
        self.post(TaskSubmitted(self.time, accepted))

    def set_up(self, *, up: bool) -> None:
        """Take all hosts off, with what runs on them, or give them back."""
        self.set_hosts(host_names(self._site), up=up)

    def outlook(self, task: GridTask) -> DomainLoad:
        """Say how a request would fare here."""
        load = len(self.core.tasks) / self._site.hosts if self._site.hosts else float("inf")
        return DomainLoad(load, partial(self._start_of, task))

    def call_off(self, name: str) -> None:
        """A task runs in another domain."""
        self.post(CancelRequested(self.time, self._names[name], "it runs elsewhere"))

    def _start_of(self, task: GridTask) -> float:
        spot = predict_placement(self.core, self._task(task, 0), self.time)
        return float("inf") if spot is None else spot.start

    def _task(self, task: GridTask, number: int) -> Task:
        profile = self._knowledge.on(task.kernel, self._site.hardware)
        return Task(
            id=str(number),
            number=number,
            name=task.name,
            application=task.kernel,
            command=(task.kernel,),
            submitted=self.time,
            deadline=task.deadline,
            profile=profile,
            best_effort=True,
        )

    def _start(self, attempt: Attempt, task: Task) -> None:
        super()._start(attempt, task)
        self._grid.started(task.name, self._site.name)

    def receive(self, letter: Letter) -> None:
        """Take a letter in; a task that comes with it is evaluated on our hardware."""
        task = self._evaluated(letter.body.document) if isinstance(letter.body, Request | Commit) else None
        self._tell(LetterReceived(self.time, letter, task))

    def handle(self, event: Event) -> Iterable[Decision]:
        return self._decided(self._broker.handle(event))

    def _tell(self, event: AgentEvent) -> None:
        self.carry_out(self._decided(self._broker.handle(event)))

    def _decided(self, outcome: Outcome) -> list[Decision]:
        """Send the letters; return the decisions of the core."""
        decisions: list[Decision] = []
        for decision in outcome.decisions:
            if isinstance(decision, SendLetter):
                self._grid.send(decision.letter)
            else:
                decisions.append(decision)
        return decisions

    def _tick(self) -> None:
        self.post(Tick(self.time))
        self.calendar.at(self.time + _TICK_SECONDS, self._tick)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _evaluated(self, document: TaskDocument) -> Task:
        profile = self._knowledge.on(document.application, self._site.hardware)
        return Task(
            "",
            0,
            document.name,
            document.application,
            document.command,
            0.0,
            profile=profile,
            deadline=self.time + document.deadline,
            best_effort=True,
        )

    def completed(self, run: SimulatedRun) -> None:
        super().completed(run)
        self._grid.ended()


def _actual_seconds(noise: Callable[[str], float]) -> Callable[[Task, int], float]:
    def seconds(task: Task, count: int) -> float:
        assert task.profile is not None
        return task.profile.on(count) * noise(task.name)

    return seconds
