"""Daemons that die between any two steps, and a resource manager that outlives them. One thread, virtual time.

Engine, manager and store are the real ones; their threads are not started: a test takes their steps one by one, so that
every interleaving and every crash can be had again.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import event

from cosched.connector.hosts import Host
from cosched.connector.interface import Connector, ConnectorError
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import KeyedSubmission
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.core_settings import CoreSettings
from cosched.coscheduler.events import CancelRequested, HostsObserved, JobReported, Tick
from cosched.daemon.effects import Effects
from cosched.daemon.inbox import Inbox, InboxItem
from cosched.daemon.manager.resource_manager import ManagerTimes, ResourceManager
from cosched.store.database import StoreFault, open_engine
from cosched.store.store import Store
from tests.daemon.makers import engine_of
from tests.store.new_database import new_database
from tests.tasks import change_task

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    import pytest
    from sqlalchemy import Engine as SqlEngine

    from cosched.connector.jobs import Launch
    from cosched.coscheduler.changes import Changes
    from cosched.coscheduler.task import Task
    from cosched.daemon.clock import Clock

GRACE = 3.0
ALIVE = (JobState.QUEUED, JobState.RUNNING, JobState.EVICTED)  # evicted: it may begin again by itself


@cache
def _opened(url: str) -> SqlEngine:
    """Open a database for all lives: a closed store leaves no connection, and the statements that were compiled."""
    engine = open_engine(url)
    engine.dispose()
    event.listen(engine, "connect", _without_syncing)  # daemons die here, machines do not
    return engine


def _without_syncing(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF").close()


class CrashError(BaseException):
    """The daemon ends here, as by SIGKILL: nothing in it may catch this."""


@dataclass
class World:
    """What no crash of the daemon touches: time, faults and where it is to crash.

    Attributes:
        time: seconds since the epoch, and the monotonic clock.
        reached: the steps passed so far, by name.
        crash: called at every step; raises `CrashError` where the daemon ends.
        manager_answers: False while the manager cannot be reached.
        loses_answers: True while a submit succeeds and its answer is lost.
        store_writes: False while the database cannot be written.
    """

    time: float = 1000.0
    reached: list[str] = field(default_factory=list)
    crash: Callable[[World], None] = lambda _world: None
    manager_answers: bool = True
    loses_answers: bool = False
    store_writes: bool = True

    def reach(self, step: str) -> None:
        self.reached.append(step)
        self.crash(self)

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        """Sleep as the engine does between two tries to write; the database can be written again after a few."""
        self.time += seconds
        if self.reached[-3:] == ["store fault"] * 3:
            self.store_writes = True

    @contextmanager
    def in_force(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
        """Let the engine and the manager live in this world's time."""
        with monkeypatch.context() as patch:
            fake = SimpleNamespace(monotonic=self.monotonic, sleep=self.sleep)
            for module in ("engine", "manager.resource_manager", "manager.action_queue", "manager.attempt_lookups"):
                patch.setattr(f"cosched.daemon.{module}.time", fake)
            patch.setattr("cosched.store.store.open_engine", _opened)
            yield self


def is_worker(launch: Launch) -> bool:
    """Return whether a launch is of a worker of an elastic task."""
    return "COSCHED_WORKER" in launch.environment


class Pool:
    """A resource manager that keeps its jobs, and looks for what must never be.

    Attributes:
        shows_fences: whether an attempt that was cancelled before it arrived is shown as removed, or not at all.
        completed: how often each task truly ran from start to end.
        room: how many jobs it has at most; it refuses what is more.
    """

    def __init__(self, hosts: int, *, shows_fences: bool) -> None:
        self.hosts = {f"h{number}": Host(f"h{number}") for number in range(1, hosts + 1)}
        self.shows_fences = shows_fences
        self.launches: dict[str, Launch] = {}
        self.jobs: dict[str, JobReport] = {}
        self.fenced: set[str] = set()
        self.log: list[JobReport] = []
        self.completed: Counter[str] = Counter()
        self.room = 99

    def submit(self, launch: Launch) -> None:
        if launch.attempt in self.fenced:
            raise ConnectorError("it was cancelled before", transient=False)
        if launch.attempt in self.jobs:
            return
        if len(self.alive()) >= self.room:
            raise ConnectorError("too many jobs", transient=True, refused=True)
        assert not self.completed[launch.task], f"task {launch.task} is run again after it completed"
        for uuid in self.alive():
            other = self.launches[uuid]
            alone = not (is_worker(other) or is_worker(launch))
            assert other.task != launch.task or not alone, f"task {launch.task} has two live attempts"
            assert not set(other.hosts) & set(launch.hosts), "a host has two live attempts"
        self.launches[launch.attempt] = launch
        self._becomes(launch.attempt, JobState.QUEUED)

    def cancel(self, uuid: str) -> None:
        self.fenced.add(uuid)
        if uuid in self.alive() or (uuid not in self.jobs and self.shows_fences):
            self._becomes(uuid, JobState.REMOVED)

    def alive(self) -> list[str]:
        return [uuid for uuid, report in self.jobs.items() if report.state in ALIVE]

    def advance(self, uuid: str, time: float) -> None:
        """A job begins, one that runs ends, or one that lost its host waits for it again."""
        if not all(self.hosts[name].up for name in self.launches[uuid].hosts):
            return
        if self.jobs[uuid].state is JobState.EVICTED:
            self._becomes(uuid, JobState.QUEUED)
        elif self.jobs[uuid].state is JobState.QUEUED:
            self._becomes(uuid, JobState.RUNNING, started=time)
        else:
            self.completed[self.launches[uuid].task] += not is_worker(self.launches[uuid])
            self._becomes(uuid, JobState.COMPLETED, started=time - 1.0, finished=time, exit_code=0)

    def checkpoint(self, uuid: str, time: float) -> None:
        """The program of a job saves what it has, and ends with the code that says so."""
        self._becomes(uuid, JobState.FAILED, started=self.jobs[uuid].started, finished=time, exit_code=85)

    def take_host(self, name: str) -> None:
        self.hosts[name] = Host(name, up=False)
        for uuid in self.alive():
            if name in self.launches[uuid].hosts and self.jobs[uuid].state is JobState.RUNNING:
                self._becomes(uuid, JobState.EVICTED, reason=f"{name} is gone")

    def give_host(self, name: str) -> None:
        self.hosts[name] = Host(name)

    def _becomes(self, uuid: str, state: JobState, **fields: Any) -> None:
        self.jobs[uuid] = JobReport(uuid, state, job=uuid[:4], **fields)
        self.log.append(self.jobs[uuid])


class PoolConnector(Connector):
    """The pool as one daemon reaches it; dies with the daemon."""

    name = "pool"

    def __init__(self, pool: Pool, world: World, store: Store) -> None:
        self._pool = pool
        self._world = world
        self._store = store

    def submit(self, launch: Launch) -> str:
        known = {attempt.uuid: attempt for attempt in self._store.attempts(launch.task)}
        assert known[launch.attempt].state.live, "submitted before it was written down, or after its end was"
        with self._call("submit"):
            self._pool.submit(launch)
            if self._world.loses_answers:
                raise ConnectorError("timed out", transient=True)
        return launch.attempt[:4]

    def cancel(self, attempt: str) -> None:
        with self._call("cancel"):
            self._pool.cancel(attempt)

    def find(self, attempt: str) -> JobReport | None:
        with self._call("find"):
            return self._pool.jobs.get(attempt)

    def hosts(self) -> list[Host]:
        return list(self._pool.hosts.values())

    def status(self, attempts: Sequence[str]) -> dict[str, JobReport]:
        return {uuid: self._pool.jobs.get(uuid, JobReport(uuid, JobState.UNKNOWN)) for uuid in attempts}

    def events(self, timeout: float) -> list[JobReport]:
        return []

    def output(self, *_part: object) -> None:
        return None

    def close(self) -> None:
        return None

    @contextmanager
    def _call(self, verb: str) -> Iterator[None]:
        self._world.reach(f"before {verb}")
        if not self._world.manager_answers:
            raise ConnectorError("the manager does not answer", transient=True)
        yield
        self._world.reach(f"after {verb}")


class FragileStore(Store):
    """The real store, in a world where databases cannot always be written."""

    def __init__(self, url: str, world: World) -> None:
        super().__init__(url)
        self._world = world

    def commit(self, changes: Changes) -> None:
        if not self._world.store_writes:
            self._world.reached.append("store fault")
            raise StoreFault("the database is locked by another program")
        self._world.reach("before commit")
        super().commit(changes)
        self._world.reach("after commit")


class Life:
    """One daemon from its start to its death, without a search: tasks leave as soon as they can."""

    def __init__(
        self, folder: Path, pool: Pool, world: World, *, hears_all_again: bool = True, **settings: Any
    ) -> None:
        self.pool = pool
        self.world = world
        self.store = FragileStore(new_database(folder), world)
        self._core = Coscheduler(CoreSettings(self.store.instance, staging=0.0, attempts=1000, **settings))
        self.inbox = Inbox(cast("Clock", world))
        self.manager = ResourceManager(
            PoolConnector(pool, world, self.store),
            self.inbox.post,
            cast("Clock", world),
            list,
            ManagerTimes(GRACE),
        )
        self.engine = engine_of(self._core, self.store, self.inbox, Effects(self.manager))
        self._heard = 0 if hears_all_again else len(pool.log)
        self._hosts: tuple[Host, ...] = ()
        self._answers: dict[str, Future[tuple[Task, ...]]] = {}  # to submissions, by key
        self.engine.restore()

    def close(self) -> None:
        self.store.close()

    def enabled(self) -> dict[str, Callable[[], None]]:
        """Return the steps that its threads could take now, by name."""
        steps: dict[str, Callable[[], None]] = {}
        if not self.inbox.empty():
            steps["engine"] = lambda: self.engine.serve(self.engine.take())
        if self.manager.actions.due():
            steps["action"] = self.manager.actions.run_next
        if self.world.manager_answers and self._heard < len(self.pool.log):
            steps["event"] = self._listen
        if self.world.manager_answers and self._hosts != tuple(self.pool.hosts.values()):
            steps["hosts"] = self._watch
        return steps

    def tick(self) -> None:
        self.world.time += 0.5
        self.engine.serve([InboxItem(event=Tick(self.world.time))])

    def settle(self) -> None:
        """Do all that can be done now."""
        while steps := self.enabled():
            next(iter(steps.values()))()

    def submit(self, tasks: Sequence[Task], key: str) -> None:
        """Submit once, as the services do: a key that is known, or on its way, is not taken in again."""
        answer = self._answers.get(key)
        if (answer is None or (answer.done() and answer.exception())) and self.store.by_key(key) is None:
            self._answers[key] = self.inbox.accept(tasks, KeyedSubmission(key, "digest", (), self.world.time))

    def cancel(self, task: str) -> None:
        answer = self.inbox.apply(CancelRequested(self.world.time, task))
        self.settle()
        answer.result(0)

    def over(self) -> bool:
        return not self._core.tasks and not self.enabled()

    def _listen(self) -> None:
        self._heard += 1
        self.inbox.post(JobReported(self.world.time, self.pool.log[self._heard - 1]))

    def _watch(self) -> None:
        self._hosts = tuple(self.pool.hosts.values())
        self.inbox.post(HostsObserved(self.world.time, self._hosts))


def live_to_the_end(begin: Callable[[], Life], live: Callable[[Life], None]) -> int:
    """Let one daemon after the other live until one comes to the end; return how many there were.

    Args:
        begin: starts one; it may die of that already.
        live: what each lives through.
    """
    lives = 0
    while True:
        lives += 1
        life = None
        try:
            life = begin()
            live(life)
        except CrashError:
            continue
        else:
            return lives
        finally:
            if life is not None:
                life.close()


def a_request(seconds: Sequence[float] | None, count: int = 1) -> Task:
    """Return a task without a number."""
    from tests.coscheduler.makers import a_task

    return change_task(a_task(0, seconds), id="", count=count, correction="")
