"""Several domains with their agents in virtual time, over a simulated network.

The daemon's own core, agent and letters are driven. Start at `Grid.run`; without agents each domain runs the requests
submitted to it. `KernelKnowledge` tells the agents run times on other hardware.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from cosched.agents import Agent, Broker, DomainView, LetterReceived, PeersChanged, SendLetter
from cosched.agents.protocol.letter_xml import read_letter, write_letter
from cosched.agents.protocol.letters import Commit, Request
from cosched.agents.tickets import describe_task
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import CancelRequested, TaskSubmitted, Tick
from cosched.coscheduler.handovers import spec_of
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.task import Task, TaskSpec
from cosched.simulation.kernels import kernel_profile
from cosched.simulation.placement_rules import DomainLoad, PlacementRule, chosen_domains
from cosched.simulation.simulated_domain import SimulatedDomain, SimulatedPlanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.agents import AgentSettings, Peer
    from cosched.agents.broker import AgentEvent
    from cosched.agents.protocol.letters import Letter
    from cosched.agents.statistics import AgentFigures
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Decision, Outcome
    from cosched.coscheduler.events import Event
    from cosched.coscheduler.handovers import TaskDocument
    from cosched.prediction.profile import Profile
    from cosched.simulation.network import SimulatedNetwork
    from cosched.simulation.simulated_domain import SimulatedRun

__all__ = ["Grid", "GridDomain", "GridSettings", "GridTask", "HostOutage", "KernelKnowledge", "host_names"]


class KernelKnowledge:
    """Knows run times of kernels, by name, on hardware that differs in speed alone."""

    def __init__(self, slowness: Mapping[str, float], profiles: Callable[[str], Profile] = kernel_profile) -> None:
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
        """Return a task's document with its kernel's name."""
        return describe_task(task, hosts)

    def profile(self, document: TaskDocument, hardware: str, hosts: int) -> Profile | None:
        """Return a task's times on other hardware; None where these hosts cannot run it."""
        key = (document.application, hardware, hosts)
        if key not in self._limited:
            times = self.on(document.application, hardware)
            possible = any(map(math.isfinite, times.seconds[:hosts]))
            self._limited[key] = times.limited(hosts) if possible else None
        return self._limited[key]


_NAMESPACE = UUID("5d5a2a38-7a56-4c0f-8c1c-2b4f0b6e7d11")
_TICK_SECONDS = 1.0  # between two ticks of an agent
_LONGEST_WAIT = 50_000.0  # seconds in which no task runs, once all requests and outages have come


@dataclass(frozen=True, slots=True)
class GridDomain:
    """A domain, its hosts and its agent's neighbours.

    Attributes:
        name: name of the domain.
        hosts: number, all of one class.
        hardware: name of the class.
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
        name: unique in the grid.
        kernel: name of the program.
        domain: the domain that it is submitted to.
        submitted: seconds.
        deadline: seconds.
    """

    name: str
    kernel: str
    domain: str
    submitted: float
    deadline: float


@dataclass(frozen=True, slots=True)
class HostOutage:
    """An outage of a domain's hosts and their jobs from `start` to `end`, in seconds.

    Its agent and its queue stay; a `NetworkPartition` cuts them off as well.
    """

    domain: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class GridSettings:
    """Settings of all domains of a grid.

    Attributes:
        policy: policy of each domain.
        agents: whether they hand tasks to one another.
        generations: generations of the genetic search at each change; None: no search.
        agent: settings of the agents; each gets a name and an instance of its own.
        noise: name of a task → true ÷ predicted run time.
        placement: rule that chooses the domain of a request.
        documents: whether letters are written as XML, validated by the schema and read again, as between daemons.
        outages: outages of domains' hosts.
        seed: seed of the searches and of arbitrary host counts.
    """

    policy: str
    agents: bool
    generations: int | None
    agent: AgentSettings
    noise: Callable[[str], float]
    placement: PlacementRule = PlacementRule.HOME
    documents: bool = False
    outages: tuple[HostOutage, ...] = ()
    seed: int = 1


def host_names(domain: GridDomain) -> list[str]:
    """Return the names of a domain's hosts."""
    return [f"{domain.name}-{number:02d}" for number in range(1, domain.hosts + 1)]


class Grid:
    """Runs requests in several domains.

    Attributes:
        domains: by name.
        network: carries the letters.
        settings: settings of all domains.
    """

    def __init__(
        self,
        domains: Sequence[GridDomain],
        knowledge: KernelKnowledge,
        settings: GridSettings,
        network: SimulatedNetwork,
    ) -> None:
        """Build a grid.

        Args:
            domains: one for each agent.
            knowledge: knowledge of run times.
            settings: settings of all domains.
            network: network between them; the grid uses its calendar.
        """
        self.network = network
        self.settings = settings
        self._calendar = network.calendar
        self._outstanding = 0
        self._draw = random.Random(settings.seed)  # noqa: S311  a repeatable draw, not a secret
        self._copies: dict[str, list[str]] = {}  # task → domains that it was submitted to
        self._first_start: dict[str, str] = {}  # task → domain where it started first
        self.domains = {
            domain.name: _AgentDomain(self, domain, knowledge, settings.seed + place)
            for place, domain in enumerate(domains)
        }

    def run(self, tasks: Sequence[GridTask]) -> dict[str, tuple[str, SimulatedRun]]:
        """Submit tasks at their times and go on until all have ended.

        Returns:
            Domain and run of each, by name.

        Raises:
            RuntimeError: some never run.
        """
        self._outstanding = len(tasks)
        for task in tasks:
            self._calendar.at(task.submitted, partial(self._submit, task))
        if self.settings.agents:
            for domain in self.domains.values():
                domain.begin()
        for outage in self.settings.outages:
            domain = self.domains[outage.domain]
            self._calendar.at(outage.start, partial(domain.set_up, up=False))
            self._calendar.at(outage.end, partial(domain.set_up, up=True))
        known = [task.submitted for task in tasks] + [outage.end for outage in self.settings.outages]
        self._go_on(max(known))
        found = {run.name: (name, run) for name, domain in self.domains.items() for run in domain.runs}
        if len(found) < len(tasks):
            raise RuntimeError(f"{len(tasks) - len(found)} tasks have never run")
        return found

    def _go_on(self, after: float) -> None:
        """Go on until all have ended, or nothing has run for too long: agents tick for ever."""
        until, before, busy = after + _LONGEST_WAIT, self._outstanding, True
        while self._outstanding and busy:
            while self._outstanding and self._calendar.step(until):
                pass
            busy = self._outstanding < before or any(domain.busy for domain in self.domains.values())
            until, before = until + _LONGEST_WAIT, self._outstanding

    @property
    def repeated(self) -> int:
        """Completed runs beyond one for each task."""
        runs = [run.name for domain in self.domains.values() for run in domain.runs]
        return len(runs) - len(set(runs))

    def figures(self) -> list[AgentFigures]:
        """Return the statistics of each agent."""
        agents = [domain.agent for domain in self.domains.values()]
        return [agent.figures() for agent in agents if agent is not None]

    def ended(self) -> None:
        """Note that one more task has run."""
        self._outstanding -= 1

    def started(self, name: str, where: str) -> None:
        """Record that a task starts in a domain, and cancel its copies in others."""
        copies = self._copies[name]
        if len(copies) == 1:
            return
        first = self._first_start.setdefault(name, where)
        for other in copies if first == where else [where]:
            if other != first:
                self.domains[other].cancel_copy(name)

    def _submit(self, task: GridTask) -> None:
        placement, loads = self.settings.placement, {}
        if placement is not PlacementRule.HOME:
            loads = {name: domain.load_for(task) for name, domain in self.domains.items()}
        chosen = chosen_domains(placement, task.domain, loads, self._draw)
        self._copies[task.name] = chosen
        for name in chosen:
            self.domains[name].submit(task)

    def send(self, letter: Letter) -> None:
        """Send a letter to its receiver."""
        size = 0
        if self.settings.documents:
            document = write_letter(letter)
            letter, size = read_letter(document), len(document)
        self.network.carry(letter.sender, letter.receiver, lambda: self.domains[letter.receiver].receive(letter), size)


class _AgentDomain(SimulatedDomain):
    """A domain with its agent, if the grid has agents."""

    def __init__(self, grid: Grid, domain: GridDomain, knowledge: KernelKnowledge, seed: int) -> None:
        instance = str(uuid5(_NAMESPACE, domain.name))
        settings = grid.settings
        searched = settings.policy == "genetic" and settings.generations is not None
        planner = SimulatedPlanner(settings.generations or 0, seed) if searched else None
        super().__init__(
            CoreSettings(instance, policy=settings.policy, seed=seed),
            host_names(domain),
            _true_seconds(settings.noise),
            planner,
            grid.network.calendar,
        )
        self._grid = grid
        self._domain = domain
        self._knowledge = knowledge
        self._names: dict[str, str] = {}  # of requests that were submitted here → identifiers
        agent = None
        if settings.agents:
            own = replace(settings.agent, name=domain.name, instance=instance)
            agent = Agent(own, DomainView(self.core, domain.hardware), knowledge, 1)
        self.agent = agent
        self._broker = Broker(self.core, agent)

    def begin(self) -> None:
        """Make the neighbours known and begin to tick."""
        self._tell(PeersChanged(self.time, self._domain.peers))
        self._tick()

    def submit(self, task: GridTask) -> None:
        """Take a request in."""
        self.calendar.at(self.time, partial(self._accept, task))

    def set_up(self, *, up: bool) -> None:
        """Take all hosts off, with the jobs on them, or give them back."""
        self.set_hosts(host_names(self._domain), up=up)

    def load_for(self, task: GridTask) -> DomainLoad:
        """Return the load, with the start that a request would have here."""
        load = len(self.core.tasks) / self._domain.hosts if self._domain.hosts else float("inf")
        return DomainLoad(load, partial(self._start_of, task))

    def cancel_copy(self, name: str) -> None:
        """Cancel a task that runs in another domain."""
        self.calendar.at(self.time, partial(self._cancel, name))

    def _start_of(self, task: GridTask) -> float:
        spot = predict_placement(self.core, self._task(task, 0), self.time)
        return float("inf") if spot is None else spot.start

    def _task(self, task: GridTask, number: int) -> Task:
        profile = self._knowledge.on(task.kernel, self._domain.hardware)
        spec = TaskSpec(task.name, task.kernel, (task.kernel,), deadline=task.deadline, best_effort=True)
        return Task(str(number), number, self.time, spec, profile=profile)

    def _start(self, attempt: Attempt, task: Task) -> None:
        super()._start(attempt, task)
        self._grid.started(task.spec.name, self._domain.name)

    def receive(self, letter: Letter) -> None:
        """Take a letter in; its task is evaluated on our hardware."""
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

    def _accept(self, task: GridTask) -> None:
        accepted = self._task(task, self.core.next_number)
        self._names[task.name] = accepted.id
        self._handle_event(TaskSubmitted(self.time, accepted))

    def _cancel(self, name: str) -> None:
        self._handle_event(CancelRequested(self.time, self._names[name], "it runs elsewhere"))

    def _evaluated(self, document: TaskDocument) -> Task:
        profile = self._knowledge.on(document.application, self._domain.hardware)
        return Task("", 0, 0.0, replace(spec_of(document, self.time), best_effort=True), profile=profile)

    def completed(self, run: SimulatedRun) -> None:
        super().completed(run)
        self._grid.ended()


def _true_seconds(noise: Callable[[str], float]) -> Callable[[Task, int], float]:
    def seconds(task: Task, count: int) -> float:
        assert task.profile is not None
        return task.profile.on(count) * noise(task.spec.name)

    return seconds
