"""Several domains in virtual time over a network that loses, repeats, delays and cuts, and nodes that crash.

Each node has the real broker, a disk (what was written down survives), and a resource manager whose jobs run on while
the node is down. `history` is kept by the managers alone: it knows nothing of what agents believe.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from cosched.agents import (
    Agent,
    Broker,
    DomainView,
    LetterReceived,
    Peer,
    PeersChanged,
    SendLetter,
    UserFiguresKnowledge,
)
from cosched.agents.events import LetterFailed
from cosched.agents.protocol.letters import Commit, Request
from cosched.connector.hosts import Host
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import CancelAttempt, Changes, DispatchAttempt, LocateAttempt, Outcome
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptSubmitted,
    HostsObserved,
    JobReported,
    Restored,
    SavedState,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.handovers import GuestState
from cosched.coscheduler.recording.lines import RecordingWriter
from cosched.coscheduler.task import Task, TaskState
from cosched.errors import UserError
from cosched.prediction.profile import PredictionSource, Profile
from tests.agents.makers import some_settings
from tests.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cosched.agents.protocol.letters import Letter
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.handovers import TaskDocument

START = 100_000.0
_NAMESPACE = UUID("9a1f5e0c-36a1-4a51-9a5b-0d2f3c6f8b1e")


@dataclass
class Job:
    """What a manager runs; `started` None: fenced before it came."""

    attempt: Attempt | None
    name: str
    started: float | None
    ends: float
    over: JobReport | None = None


@dataclass
class Disk:
    """What survives a crash."""

    written: Changes = field(default_factory=Changes)
    lives: int = 0


@dataclass
class Faults:
    """How bad the network is and how often nodes crash; probabilities of a letter, seconds."""

    loss: float = 0.0
    twice: float = 0.0
    delay: float = 0.05
    late: float = 0.0


class Node:
    def __init__(
        self, grid: Grid, name: str, hosts: int, speed: float, neighbours: Sequence[Peer], **changes: Any
    ) -> None:
        self.grid, self.name, self.speed = grid, name, speed
        self.hosts = tuple(Host(f"{name}{number}") for number in range(hosts))
        self.neighbours = tuple(neighbours)
        self.instance = str(uuid5(_NAMESPACE, name))
        self.changes = changes
        self.disk = Disk()
        self.jobs: dict[str, Job] = {}
        self.broker: Broker | None = None
        self.recording: list[str] = []  # of all lives
        self.skew = 0.0  # seconds by which its clock is ahead
        self.refuses = ""  # why it runs no task of others
        self.manager_refuses = ""  # why its manager takes no job

    def boot(self) -> None:
        self.disk.lives += 1
        core = Coscheduler(CoreSettings(self.instance, staging=0.0, retry=1.0, retry_longest=8.0))
        settings = some_settings(self.name, self.instance, **{"lease": 20.0, **self.changes})
        agent = Agent(settings, DomainView(core, self.name), UserFiguresKnowledge(), self.disk.lives)
        writer = RecordingWriter()
        self.recording.append(writer.start(core.settings, self.now, core.snapshot()))
        self.broker = Broker(core, agent, lambda event, outcome: self.recording.append(writer.handled(event, outcome)))
        self.carry_out(self.broker.handle(Restored(self.now, self.saved())))
        self.happen(PeersChanged(self.now, self.neighbours))
        self.happen(HostsObserved(self.now, self.hosts))

    def saved(self) -> SavedState:
        written = self.disk.written
        live = [task for task in written.tasks.values() if not task.status.state.final]
        names = {task.id for task in live}
        guests = [guest for guest in written.guests.values() if guest.state is not GuestState.SETTLED]
        ended = {g.task: written.tasks[g.task] for g in guests if g.state is GuestState.ENDED}
        attempts = [a for a in written.attempts.values() if a.state.live and a.task in names]
        return SavedState(
            tasks=tuple(live),
            attempts=tuple(attempts),
            handovers=tuple(h for h in written.handovers.values() if h.task in names),
            guests=tuple(guests),
            ended=ended,
            last_number=max((task.number for task in written.tasks.values()), default=0),
        )

    def begin_anew(self, broker: Broker) -> None:
        """Do what the daemon does after a mistake; neighbours and network go on."""
        self.disk.lives += 1
        saved = replace(self.saved(), plan=broker.core.plan, life=self.disk.lives)
        self.carry_out(broker.handle(Restored(self.now, saved)))
        self.happen(HostsObserved(self.now, self.hosts))

    @property
    def idle(self) -> bool:
        """Whether nothing is left to happen to what it has written down."""
        guests = all(guest.state is GuestState.SETTLED for guest in self.disk.written.guests.values())
        handovers = not any(handover.state.live for handover in self.disk.written.handovers.values())
        return guests and handovers and all(task.status.state.final for task in self.disk.written.tasks.values())

    @property
    def now(self) -> float:
        return self.grid.time + self.skew

    def happen(self, event: Any) -> None:
        if self.broker is None:
            return
        if self.grid.crash_now():
            self.broker = None  # before anything is written
            return
        broker = self.broker
        outcome = broker.handle(event)
        if self.grid.mistake_now():
            self.begin_anew(broker)  # nothing of the outcome is written or done
            event = LetterFailed(self.now, event.letter, "a mistake") if isinstance(event, LetterReceived) else event
            self.happen(event)
            return
        self.carry_out(outcome)

    def carry_out(self, outcome: Outcome) -> None:
        self.disk.written |= outcome.changes
        for decision in outcome.decisions:
            if self.grid.crash_now():
                self.broker = None  # in the middle of acting
                return
            self.act(decision)

    def act(self, decision: Any) -> None:
        match decision:
            case SendLetter(letter):
                self.grid.send(letter)
            case DispatchAttempt(attempt, _) if self.manager_refuses:
                self.later(0.0, lambda: SubmitFailed(self.now, attempt.uuid, self.manager_refuses, transient=False))
            case DispatchAttempt(attempt, task):
                if attempt.uuid not in self.jobs:
                    assert task.profile is not None
                    job = Job(attempt, task.spec.name, self.grid.time, self.grid.time + task.profile.on(attempt.count))
                    self.jobs[attempt.uuid] = job
                    self.later(0.0, lambda: AttemptSubmitted(self.now, attempt.uuid, "1"))
                    self.later(0.0, lambda: self.report(attempt.uuid))
                    self.later(job.ends - self.grid.time, lambda: self.complete(attempt.uuid))
            case CancelAttempt(uuid):
                job = self.jobs.setdefault(uuid, Job(None, "", None, 0.0))
                job.over = job.over or JobReport(uuid, JobState.REMOVED)
            case LocateAttempt(uuid, fence):
                if uuid in self.jobs:
                    self.later(0.1, lambda: self.report(uuid))
                elif fence:
                    self.later(0.1, lambda: AttemptAbsent(self.now, uuid))
                else:
                    self.later(0.1, lambda: self.report_missing(uuid))
            case _:
                pass

    def later(self, seconds: float, make: Callable[[], Any]) -> None:
        self.grid.at(self.grid.time + seconds, lambda: self.happen(event) if (event := make()) is not None else None)

    def report(self, uuid: str) -> JobReported:
        job = self.jobs[uuid]
        if job.over is not None:
            return JobReported(self.now, job.over)
        assert job.started is not None
        return JobReported(self.now, JobReport(uuid, JobState.RUNNING, started=job.started + self.skew))

    def report_missing(self, uuid: str) -> Any:
        from cosched.coscheduler.events import AttemptMissing

        return AttemptMissing(self.now, uuid) if uuid not in self.jobs else self.report(uuid)

    def complete(self, uuid: str) -> Any:
        job = self.jobs[uuid]
        assert job.started is not None
        if job.over is None:
            self.grid.history.append((job.name, self.name, job.started, job.ends))
            start, end = job.started + self.skew, job.ends + self.skew
            job.over = JobReport(uuid, JobState.COMPLETED, started=start, finished=end, exit_code=0)
        return JobReported(self.now, job.over)

    def submit(self, name: str, seconds: Sequence[float], allowance: float) -> None:
        """Accept a task; it is on disk when this returns, or was never accepted."""
        if self.broker is None:
            return
        number = self.broker.core.next_number
        task = make_task(
            number,
            name=name,
            application=name,
            command=(name,),
            submitted=self.now,
            deadline=self.now + allowance,
            profile=Profile(tuple(value / self.speed for value in seconds), PredictionSource.USER),
            parameters={"work": repr(list(seconds))},
        )
        self.disk.written |= Changes({task.id: task})
        self.grid.accepted[name] = (self.name, task.id)
        self.carry_out(self.broker.handle(TaskSubmitted(self.now, task)))

    def evaluated(self, document: TaskDocument) -> Task:
        """Return the task that a document describes; `UserError`: it will not run here."""
        if self.refuses:
            raise UserError(self.refuses)
        work = next(p.value for p in document.parameters if p.name == "work")
        seconds = tuple(float(value) / self.speed for value in work.strip("[]").split(","))
        return make_task(
            0,
            id="",
            name=document.name,
            application=document.application,
            command=document.command,
            deadline=self.now + document.deadline,
            profile=Profile(seconds[: len(self.hosts)], PredictionSource.USER),
            parameters={"work": work},
        )


class Grid:
    def __init__(self, seed: int, faults: Faults | None = None) -> None:
        self.random = random.Random(seed)
        self.faults = faults or Faults()
        self.time = START
        self.nodes: dict[str, Node] = {}
        self.accepted: dict[str, tuple[str, str]] = {}
        self.history: list[tuple[str, str, float, float]] = []
        self.cut: set[frozenset[str]] = set()
        self.crash = 0.0
        self.mistake = 0.0
        self.letters = 0
        self.done: Counter[str] = Counter()  # faults of each kind
        self._calendar: list[tuple[float, int, Callable[[], None]]] = []
        self._turn = itertools.count()

    def add(self, name: str, hosts: int, speed: float, neighbours: Sequence[Peer], **changes: Any) -> Node:
        node = self.nodes[name] = Node(self, name, hosts, speed, neighbours, **changes)
        node.boot()
        return node

    def at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._calendar, (time, next(self._turn), action))

    def mistake_now(self) -> bool:
        return self._drawn("mistake of the core", self.mistake)

    def crash_now(self) -> bool:
        return self._drawn("daemon killed", self.crash)

    def _drawn(self, kind: str, share: float) -> bool:
        """Draw whether a fault comes, and count it."""
        comes = share > 0 and self.random.random() < share
        self.done[kind] += comes
        return comes

    def send(self, letter: Letter) -> None:
        self.letters += 1
        faults = self.faults
        for _ in range(1 + self._drawn("letter repeated", faults.twice)):
            if self._drawn("letter lost", faults.loss):
                continue
            delay = self.random.uniform(0.2, 1.0) * faults.delay
            if self._drawn("letter late", faults.late):
                delay += self.random.uniform(0.0, 90.0)
            self.at(self.time + delay, lambda: self.deliver(letter))

    def deliver(self, letter: Letter) -> None:
        node = self.nodes.get(letter.receiver)
        if node is None or node.broker is None:
            return
        if frozenset((letter.sender, letter.receiver)) in self.cut:
            self.done["letter cut off"] += 1
            return
        task, fault = None, ""
        if isinstance(letter.body, Request | Commit):
            try:
                task = node.evaluated(letter.body.document)
            except UserError as error:
                fault = str(error)
        node.happen(LetterReceived(node.now, letter, task, fault))

    def run(self, until: float) -> None:
        """Go on until a time, with a tick for every node each second."""
        second = int(self.time)
        while self.time < until:
            second += 1
            while self._calendar and self._calendar[0][0] <= second:
                self.time, _, action = heapq.heappop(self._calendar)
                action()
            self.time = float(second)
            for node in self.nodes.values():
                if node.broker is not None and node.broker.core is not None:
                    node.happen(Tick(node.now))

    def settle(self, at_most: float) -> None:
        """Go on until no task lives anywhere and no record is open, or until so many seconds have passed."""
        until = self.time + at_most
        while self.time < until and not all(node.idle for node in self.nodes.values()):
            self.run(self.time + 5.0)

    def heal(self) -> None:
        """End all faults."""
        self.crash = self.mistake = 0.0
        self.faults = Faults()
        self.cut.clear()
        for node in self.nodes.values():
            if node.broker is None:
                node.boot()

    def state_of(self, name: str) -> TaskState:
        node, task = self.accepted[name]
        return self.nodes[node].disk.written.tasks[task].status.state

    def faults_of_history(self) -> list[str]:
        """Say what went wrong: each accepted task must have run to its end exactly once, and be known as completed."""
        runs: dict[str, list[str]] = {}
        for name, where, _, _ in self.history:
            runs.setdefault(name, []).append(where)
        found = [f"{name} ran {len(where)} times: {where}" for name, where in runs.items() if len(where) != 1]
        found += [f"{name} never ran ({self.state_of(name)})" for name in self.accepted if name not in runs]
        found += [
            f"{name} is {self.state_of(name)}"
            for name in self.accepted
            if self.state_of(name) is not TaskState.COMPLETED
        ]
        for node in self.nodes.values():
            starts = [job.name for job in node.jobs.values() if job.started is not None]
            found += [
                f"{name} began {starts.count(name)} times in {node.name}"
                for name in set(starts)
                if starts.count(name) > 1
            ]
        found += [f"{node.name} has open records" for node in self.nodes.values() if not node.idle]
        return found
