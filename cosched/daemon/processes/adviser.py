"""The adviser simulates other agent settings in the background and advises or adopts the best.

Start at `Adviser.once`; `adviser_snapshot` makes the snapshot that is simulated.
"""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import structlog

from cosched.agents import AdvertisingChanged
from cosched.agents.advice import AdviserSnapshot, ObservedDomain, ObservedTask
from cosched.agents.agent_settings import AdvertisingBounds, PeerRole
from cosched.api.documents import AdvertisingView, AdviceView, NetworkView, OutlookView
from cosched.app.core_access import CoreClient
from cosched.daemon.processes.advising import AdviceRequest
from cosched.errors import SystemFault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.agents import Peer, TaskKnowledge
    from cosched.agents.advice import AdvertisingOutcome, Advice
    from cosched.agents.agent import Agent
    from cosched.agents.agent_settings import AdvertisingSettings
    from cosched.agents.discovery.capability_tables import CapabilityEntry
    from cosched.agents.protocol.advertisement import AdvertisedService
    from cosched.coscheduler.core import Coscheduler
    from cosched.coscheduler.task import Task
    from cosched.daemon.config.sections import AgentSection
    from cosched.daemon.inbox import Inbox
    from cosched.store.store import Store

__all__ = [
    "FEWEST_TASKS",
    "Adviser",
    "LatestAdvice",
    "NetworkSurvey",
    "adviser_snapshot",
    "network_view",
    "survey_network",
]

FEWEST_TASKS = 10
"""Smallest number of tasks for advice: fewer say little about later ones."""

_log = structlog.get_logger("cosched.agents")
_TASKS = 200  # newest tasks that are looked at
_SECONDS = 60.0  # of processor time for one advice
_NICE = 19  # of its process: it takes idle processor time alone
_WINDOW = 3600.0  # seconds: of older tasks nothing is simulated
_COMPARED = 20  # tasks by whose models hardware is compared


@dataclass(frozen=True, slots=True)
class NetworkSurvey:
    """The network as our domain knows it at one moment.

    Attributes:
        peers: usable neighbours by name.
        entries: the known services of the domains.
        hosts: number of our own.
    """

    peers: Mapping[str, Peer]
    entries: Sequence[CapabilityEntry]
    hosts: int


def survey_network(agent: Agent, core: Coscheduler, time: float) -> NetworkSurvey:
    """Return the view of the network; on the core's thread only."""
    return NetworkSurvey(agent.usable(), agent.entries(time), len(core.domain.hosts))


def adviser_snapshot(
    agent: Agent, survey: NetworkSurvey, tasks: Sequence[Task], knowledge: TaskKnowledge, time: float
) -> AdviserSnapshot | None:
    """Return the network to simulate; None with too few tasks, or without neighbours.

    Args:
        agent: ours.
        survey: see `survey_network`.
        tasks: the newest first.
        knowledge: how long tasks take on other hardware.
        time: now, epoch seconds.
    """
    peers, entries, hosts = survey.peers, survey.entries, survey.hosts
    own = [
        task
        for task in reversed(tasks)
        if not task.origin and task.spec.deadline is not None and task.profile is not None
    ]
    own = [task for task in own if task.submitted >= own[-1].submitted - _WINDOW]
    others = tuple(
        _observed(entry, peers, own, knowledge, hosts, time)
        for entry in entries
        if entry.via in peers and any(each.hosts for each in entry.service.classes)
    )
    if len(own) < FEWEST_TASKS or not others or not hosts:
        return None
    began = own[0].submitted
    seen = tuple(
        ObservedTask(task.submitted - began, task.spec.deadline - task.submitted, replace(task.profile, classes=()))
        for task in own
        if task.spec.deadline is not None and task.profile is not None
    )
    return AdviserSnapshot(agent.settings, hosts, seen, others)


def _observed(
    entry: CapabilityEntry,
    peers: Mapping[str, Peer],
    tasks: Sequence[Task],
    knowledge: TaskKnowledge,
    hosts: int,
    time: float,
) -> ObservedDomain:
    service = entry.now(time)
    largest = max(service.classes, key=lambda each: each.hosts)
    role = peers[entry.via].role if service.domain == entry.via else PeerRole.NEIGHBOUR
    slowness = _slowness(tasks, knowledge, largest.hardware, largest.hosts, hosts)
    return ObservedDomain(
        service.domain,
        entry.via,
        role,
        sum(each.hosts for each in service.classes),
        largest.hardware,
        slowness,
        _busy(service),
    )


def _busy(service: AdvertisedService) -> float:
    """Return the part of its hosts that has tasks; of hosts that tasks share, of their cores, if they say any."""
    waits = [wait for each in service.classes for wait in each.waits()]
    amount = sum(count for _, count in waits)
    return sum(count for after, count in waits if after > service.age) / amount if amount else 0.0


def _slowness(tasks: Sequence[Task], knowledge: TaskKnowledge, hardware: str, there: int, here: int) -> float:
    """Return run time on other hardware ÷ ours, 1 where it is unknown."""
    ratios = []
    for task in tasks[-_COMPARED:]:
        document = knowledge.document(task, here)
        profile = None if document is None else knowledge.profile(document, hardware, min(there, here))
        if profile is not None and task.profile is not None and math.isfinite(profile.shortest):
            ours = task.profile.limited(min(there, here)).shortest
            ratios.append(profile.shortest / ours)
    return median(ratios) if ratios else 1.0


@dataclass(frozen=True, slots=True)
class LatestAdvice:
    """Return the last advice.

    Attributes:
        time: when, epoch seconds.
        advice: the answer.
        adopted: whether the agent has taken it up.
    """

    time: float
    advice: Advice
    adopted: bool


class Adviser(threading.Thread):
    """Simulates other settings now and then in a process of its own.

    The agent and its negotiations never wait for it.

    Attributes:
        latest: the last advice; None before the first.
        fault: why there is no newer advice; empty where there is none the matter.
    """

    def __init__(
        self, section: AgentSection, agent: Agent, inbox: Inbox, store: Store, knowledge: TaskKnowledge
    ) -> None:
        """Set up.

        Args:
            section: says how often, within which bounds, and whether to adopt.
            agent: ours; it is read on the engine's thread.
            inbox: inbox of the engine; gets adopted advice.
            store: has the tasks.
            knowledge: how long tasks take on other hardware.
        """
        super().__init__(name="adviser", daemon=True)
        self._section = section
        self._bounds = AdvertisingBounds(
            section.advise_shortest, section.advise_longest, section.advise_scope, section.advise_lifetime
        )
        self._agent = agent
        self._inbox = inbox
        self._store = store
        self._knowledge = knowledge
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.latest: LatestAdvice | None = None
        self.fault = ""

    @property
    def mode(self) -> str:
        """The adviser's mode: off, advise or adopt."""
        return self._section.adviser

    def start(self) -> None:
        """Begin, unless no advice is wanted."""
        if self._section.adviser != "off":
            super().start()

    def stop(self) -> None:
        """End, with the process that is under way."""
        self._stopped.set()
        with self._guard:
            if self._process is not None:
                self._process.kill()
        if self.ident is not None:
            self.join()

    def run(self) -> None:
        """Ask for advice every so often until `stop`."""
        while not self._stopped.wait(self._section.advise_every):
            try:
                self.once()
            except (SystemFault, OSError) as error:
                self.fault = f"no advice: {error}"
                _log.warning("adviser", fault=self.fault)

    def once(self) -> None:
        """Ask for advice now, and adopt it where that is wished for.

        Raises:
            SystemFault: the engine is busy, the simulation came to nothing, or the database cannot be read.
            OSError: the process cannot be started.
        """
        survey = CoreClient(self._inbox).ask(partial(survey_network, self._agent))
        now = self._inbox.now()
        snapshot = adviser_snapshot(self._agent, survey, self._store.tasks(limit=_TASKS), self._knowledge, now)
        if snapshot is None:
            self.fault = (
                f"no advice yet: it takes {FEWEST_TASKS} tasks with deadlines, and a neighbour that was heard of"
            )
            return
        advice = self._simulate(AdviceRequest(snapshot, self._bounds, _SECONDS))
        if advice is None:
            return
        adopts = advice.changes and self._section.adviser == "adopt" and not self._stopped.is_set()
        if adopts:
            self._inbox.post(AdvertisingChanged(self._inbox.now(), advice.best))
        self.fault = ""
        self.latest = LatestAdvice(self._inbox.now(), advice, adopts)
        _log.info(
            "advice",
            present=str(advice.present),
            best=str(advice.best),
            adopted=adopts,
            tried=advice.tried,
            late=f"{advice.present_outlook.late:.3f} -> {advice.best_outlook.late:.3f}",
        )

    def _simulate(self, request: AdviceRequest) -> Advice | None:
        """Return the answer; None where `stop` was called meanwhile."""
        command = [sys.executable, "-P", "-m", "cosched.daemon.processes.advising", str(_NICE)]
        with self._guard:
            if self._stopped.is_set():
                return None
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        output, _ = self._process.communicate(pickle.dumps(request))
        if self._stopped.is_set():
            return None
        if self._process.returncode:
            raise SystemFault(f"the simulation ended with {self._process.returncode}: the log above says why")
        found: Advice = pickle.loads(output)  # noqa: S301  from our own child
        return found


def network_view(agent: Agent, adviser: Adviser) -> NetworkView:
    """Return what an agent has done, and what its adviser found last."""
    figures = agent.figures()
    latest = adviser.latest
    return NetworkView(
        **asdict(figures),
        letters_each=figures.letters_each,
        spreading=figures.spreading,
        advertising=_advertising(agent.settings.advertising),
        adviser=adviser.mode,
        advice=None if latest is None else _advice(latest),
        fault=adviser.fault,
    )


def _advice(counsel: LatestAdvice) -> AdviceView:
    advice = counsel.advice
    return AdviceView(
        time=counsel.time,
        present=_advertising(advice.present),
        present_outlook=_outlook(advice.present_outlook),
        best=_advertising(advice.best),
        best_outlook=_outlook(advice.best_outlook),
        tried=advice.tried,
        tasks=advice.tasks,
        adopted=counsel.adopted,
    )


def _advertising(way: AdvertisingSettings) -> AdvertisingView:
    return AdvertisingView(**asdict(way))


def _outlook(outlook: AdvertisingOutcome) -> OutlookView:
    return OutlookView(**asdict(outlook))
