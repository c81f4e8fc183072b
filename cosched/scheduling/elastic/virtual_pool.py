"""A pool of hosts with elastic tasks in virtual time: an elastic policy decides at each event.

Start at `run_elastic`. A task on w hosts does 1/t(w) of itself in a second. Hosts that are to leave a task are free
after its drain, and what they were taken for begins then. Each growth and each shrinking costs the task its seconds.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cosched.scheduling.elastic.tasks import ElasticPool, ElasticProgress, PoolMemory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from cosched.scheduling.elastic.tasks import Allocation, ElasticParameters, ElasticTask, RunningTask

__all__ = ["ElasticRun", "Reshaping", "run_elastic"]

_NOTHING = 1e-12  # less of a task than rounding leaves


@dataclass(frozen=True, slots=True)
class ElasticRun:
    """A task that has ended. Times are seconds.

    Attributes:
        task: the task.
        started: when it first ran.
        finished: when it ended.
        waited: how long it waited in all, after it had been suspended, too.
        host_seconds: the sum over time of the hosts that it had.
        resizes: how often its hosts changed after its start.
        widths: (from when on, number of hosts) in order; 0 while it is suspended.
    """

    task: ElasticTask
    started: float
    finished: float
    waited: float
    host_seconds: float
    resizes: int
    widths: tuple[tuple[float, int], ...]


class Reshaping(Protocol):
    """Says at each event how many hosts each task has, as `ElasticPolicy` does."""

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Return the allocation from now on."""
        ...


def run_elastic(
    tasks: Iterable[ElasticTask],
    hosts: int,
    policy: Reshaping,
    parameters: ElasticParameters,
    after: Mapping[str, Sequence[str]] | None = None,
    window: int | None = None,
    running: Mapping[str, RunningTask] | None = None,
) -> list[ElasticRun]:
    """Run tasks as they come until all have ended.

    Args:
        tasks: in any order; none needs more than the hosts at its least.
        hosts: number of hosts.
        policy: decides at each arrival, each end, each time that hosts have been drained, and when it wants to.
        parameters: of the policy.
        after: tasks that must have ended before a task comes, by its name.
        window: the policy sees so many waiting tasks, the first by name; None: all.
        running: tasks that have hosts when they come, by name; which hosts is of no account.

    Returns:
        The runs in order of their ends.

    Raises:
        ValueError: a task needs more hosts than there are, or the policy gives what it must not.
        RuntimeError: the policy starts nothing although nothing runs.
    """
    queue = _ComingTasks(tasks, hosts, after or {}, window)
    return _VirtualPool(queue, hosts, policy, parameters).run(running or {})


class _ComingTasks:
    """Tasks that have not come to the policy's sight; arguments as in `run_elastic`."""

    def __init__(
        self, tasks: Iterable[ElasticTask], hosts: int, after: Mapping[str, Sequence[str]], window: int | None
    ) -> None:
        self._coming = sorted(tasks, key=lambda task: (task.submitted, task.id), reverse=True)
        for task in self._coming:
            if task.least > hosts:
                raise ValueError(f"task {task.id} needs {task.least} of {hosts} hosts")
        self._missing = {name: set(others) for name, others in after.items() if others}  # that have not ended
        self._followers: dict[str, list[str]] = defaultdict(list)
        for name, others in self._missing.items():
            for other in others:
                self._followers[other].append(name)
        self._held: dict[str, ElasticTask] = {}  # their time has come, but not all before them have ended
        self._ready: list[tuple[str, ElasticTask]] = []
        self._window = window

    @property
    def left(self) -> int:
        """Number of tasks that have not come."""
        return len(self._coming) + len(self._held) + len(self._ready)

    @property
    def next(self) -> float:
        """When the next task's time comes; infinite where none is left."""
        return self._coming[-1].submitted if self._coming else math.inf

    def ended(self, name: str) -> None:
        """Note that a task has ended."""
        for follower in self._followers.pop(name, ()):
            missing = self._missing[follower]
            missing.discard(name)
            if not missing and follower in self._held:
                heapq.heappush(self._ready, (follower, self._held.pop(follower)))

    def come(self, time: float, waiting: Mapping[str, ElasticProgress]) -> Iterator[ElasticTask]:
        """Give out the tasks that come now; whoever takes them adds them to those that wait."""
        while self._coming and self._coming[-1].submitted <= time:
            task = self._coming.pop()
            if self._missing.get(task.id):
                self._held[task.id] = task
            else:
                heapq.heappush(self._ready, (task.id, task))
        while self._ready and (self._window is None or len(waiting) < self._window or self._ready[0][0] < max(waiting)):
            yield heapq.heappop(self._ready)[1]


class _Job:
    """A task's life in the pool.

    Attributes:
        task: the task.
        granted: hosts that the policy lets it have.
        working: hosts that work for it.
        collected: hosts that stand by until all that were granted are there.
        began: when it first ran.
        waited: seconds that it waited before `queued`.
        queued: when it last came to the queue.
        host_seconds: as in `ElasticRun`.
        resizes: as in `ElasticRun`.
        widths: as in `ElasticRun`.
    """

    def __init__(self, task: ElasticTask) -> None:
        self.task = task
        self.granted = 0
        self.working = 0
        self.collected = 0
        self.began: float | None = None
        self.waited = 0.0
        self.queued = task.submitted
        self.host_seconds = 0.0
        self.resizes = 0
        self.widths: list[tuple[float, int]] = []
        self._left = 1.0
        self._since = 0.0  # when `_left` was true
        self._paused_until = 0.0
        self._before = self._changeable  # before the last change

    @property
    def _changeable(self) -> tuple[int, float | None, float, float, int, float]:
        """What a change of its hosts changes, but for what is left."""
        return self.working, self.began, self.waited, self.queued, self.resizes, self._paused_until

    def grant(self, hosts: int) -> None:
        """Let it have so many hosts, as soon as they are there; a moldable task keeps those that it begins with."""
        if self.task.moldable and not self.granted:
            self.task = self.task.kept_on(hosts)
        self.granted = hosts

    def go_on(self, hosts: int, left: float) -> None:
        """Let it have run until it comes, on so many hosts, which it has."""
        self.grant(hosts)
        self.working, self.began, self._left = hosts, self.task.submitted, left
        self._since = self.task.submitted
        self.widths.append((self._since, hosts))
        self._before = self._changeable

    def left_at(self, time: float) -> float:
        """Return the part that is still to do."""
        if not self.working:
            return self._left
        worked = max(0.0, time - max(self._since, self._paused_until))
        return max(self._left - worked / self.task.on(self.working), 0.0)

    @property
    def end(self) -> float:
        """Its end on the hosts that work for it; infinite where none does."""
        if not self.working:
            return math.inf
        return max(self._since, self._paused_until) + self._left * self.task.on(self.working)

    def work_on(self, hosts: int, time: float) -> None:
        """Let so many hosts work from now on; a change costs its seconds, but for the first start.

        Changes at one time are one: hosts that come at last while others are already granted, or given up again.
        """
        self.host_seconds += self.working * (time - self._since)
        if self.widths and self.widths[-1][0] == time:
            self.widths.pop()
            self.working, self.began, self.waited, self.queued, self.resizes, self._paused_until = self._before
            if hosts == self.working:
                if hosts and not self.widths:  # it ran before it came, and goes on as it did
                    self.widths.append((time, hosts))
                return
        self._before = self._changeable
        self._left, self._since = self.left_at(time), time
        if self.began is None:
            self.began = time
        else:
            self.resizes += 1
            cost = self.task.grow_cost if hosts > self.working else self.task.shrink_cost
            self._paused_until = max(self._paused_until, time) + cost
        if not self.working:
            self.waited += time - self.queued
        if not hosts:
            self.queued = time
            self._paused_until = 0.0
        self.working = hosts
        self.widths.append((time, hosts))

    def progress(self, time: float) -> ElasticProgress:
        """Return what a policy sees."""
        pause = max(0.0, self._paused_until - time) if self.working else 0.0
        queued = self.queued - self.waited
        return ElasticProgress(self.task, self.left_at(time), self.granted, pause, queued, self.began)

    def ended(self, time: float) -> ElasticRun:
        """Return its run, which ends now."""
        assert self.began is not None
        self.host_seconds += self.working * (time - self._since)
        return ElasticRun(self.task, self.began, time, self.waited, self.host_seconds, self.resizes, tuple(self.widths))


class _VirtualPool:
    """The pool's loop; `run` is called once."""

    def __init__(self, queue: _ComingTasks, hosts: int, policy: Reshaping, parameters: ElasticParameters) -> None:
        self._hosts = hosts
        self._policy = policy
        self._parameters = parameters
        self._queue = queue
        self._jobs: dict[str, _Job] = {}
        self._waiting: dict[str, ElasticProgress] = {}
        self._granted: dict[str, _Job] = {}  # in the order in which they got hosts
        self._free = hosts
        self._draining: list[tuple[float, int]] = []  # when, how many
        self._memory = PoolMemory()
        self._again = math.inf
        self._events = 0

    def run(self, running: Mapping[str, RunningTask]) -> list[ElasticRun]:
        """Return the runs by their ends."""
        runs: list[ElasticRun] = []
        while self._queue.left or self._jobs:
            time = self._next()
            if math.isinf(time):
                raise RuntimeError(f"none of {len(self._jobs) + self._queue.left} waiting tasks is started")
            while self._draining and self._draining[0][0] <= time:
                self._free += heapq.heappop(self._draining)[1]
            runs += self._end_jobs(time)
            for task in self._queue.come(time, self._waiting):
                job = self._jobs[task.id] = _Job(task)
                if task.id in running:
                    job.go_on(len(running[task.id].hosts), running[task.id].left)
                    self._granted[task.id] = job
                    self._free -= job.granted
                else:
                    self._waiting[task.id] = job.progress(time)
            self._deliver(time)
            pool = self._state(time)
            allocation = self._policy.reshape(pool, self._parameters)
            allocation.check(pool)
            self._memory, self._again = allocation.memory, allocation.again
            self._apply(allocation, time)
            self._deliver(time)
        return runs

    def _next(self) -> float:
        ends = [job.end for job in self._granted.values()]
        return min(*ends, self._queue.next, self._draining[0][0] if self._draining else math.inf, self._again)

    def _end_jobs(self, time: float) -> Sequence[ElasticRun]:
        ended = [job for job in self._granted.values() if job.end <= time or job.left_at(time) < _NOTHING]
        for job in ended:
            self._free += job.working + job.collected
            del self._granted[job.task.id], self._jobs[job.task.id]
            self._queue.ended(job.task.id)
        return [job.ended(time) for job in ended]

    def _state(self, time: float) -> ElasticPool:
        self._events += 1
        running = tuple(job.progress(time) for job in self._granted.values())
        draining = sum(hosts for _, hosts in self._draining)
        waiting = tuple(self._waiting.values())
        return ElasticPool(time, self._hosts, waiting, running, self._memory, self._events, draining)

    def _apply(self, allocation: Allocation, time: float) -> None:
        """Take hosts away first; what is given is delivered as hosts become free."""
        for name, job in list(self._granted.items()):
            hosts = allocation.hosts.get(name, 0)
            if hosts < job.granted:
                self._shrink(job, hosts, time)
        for name, hosts in allocation.hosts.items():
            job = self._jobs[name]
            if hosts > job.granted:
                job.grant(hosts)
                self._granted[name] = job
                self._waiting.pop(name, None)

    def _shrink(self, job: _Job, hosts: int, time: float) -> None:
        job.granted = hosts
        self._free += job.collected
        job.collected = 0
        leaving = job.working - hosts
        if leaving > 0:
            job.work_on(hosts, time)
            if job.task.drain:
                heapq.heappush(self._draining, (time + job.task.drain, leaving))
            else:
                self._free += leaving
        if not hosts:
            del self._granted[job.task.id]
            self._waiting[job.task.id] = job.progress(time)
            self._waiting = dict(sorted(self._waiting.items(), key=lambda item: _arrival(item[1])))

    def _deliver(self, time: float) -> None:
        """Hand free hosts to the tasks they were granted to, first those that start; they work once all are there."""
        for job in sorted(self._granted.values(), key=lambda job: job.working > 0):
            missing = job.granted - job.working - job.collected
            if missing > 0:
                part = min(missing, self._free)
                job.collected += part
                self._free -= part
                if part == missing:
                    job.collected = 0
                    job.work_on(job.granted, time)


def _arrival(progress: ElasticProgress) -> tuple[float, str]:
    return progress.task.submitted, progress.task.id
