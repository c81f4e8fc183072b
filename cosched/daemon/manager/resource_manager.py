"""The manager runs a connector behind threads, so that a slow one delays nothing else.

One thread acts in order, so that a cancel never overtakes its submit; one listens for job events; one watches hosts.
Where many attempts are looked for, one question asks for all.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from cosched.connector.interface import ConnectorError
from cosched.connector.jobs import JobState, Launch
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    Event,
    HostsObserved,
    JobReported,
    SubmitFailed,
)
from cosched.daemon.manager.action_queue import ActionQueue
from cosched.daemon.manager.attempt_lookups import AttemptLookups
from cosched.daemon.manager.connector_guard import GuardedConnector
from cosched.errors import CoschedError
from cosched.shared_values import shared_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cosched.connector.hosts import Host
    from cosched.connector.interface import AdoptsJobs, Connector
    from cosched.connector.jobs import LaunchMode, Output
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task
    from cosched.daemon.clock import Clock
    from cosched.prediction.loads.host_load import HostLoad

__all__ = ["ManagerTimes", "ResourceManager"]

_log = structlog.get_logger("cosched.manager")

_FIND_AGAIN = 0.5  # seconds between looks for an attempt during the grace
_UNREACHABLE_AGAIN = 2.0  # seconds between tries where the manager does not answer
_SPARED = 10.0  # seconds within which the core has taken the answer that an attempt has begun
_AT_ONCE = 200  # attempts that are submitted together at most: nothing else can be done meanwhile
_UNTRIED = 180.0  # seconds after which a submit would have been tried again, had any task waited
_LISTEN = 1.0  # seconds that one call for events may wait


@dataclass(frozen=True, slots=True)
class ManagerTimes:
    """Intervals of the manager's looks, in seconds.

    Attributes:
        grace: after which an attempt that neither queue nor history knows counts as lost.
        watch: pause between looks at the hosts.
        status: pause between questions for the status of all live attempts; events tell sooner.
        silence: after which a submitted attempt without any event is asked for: beside a restored database it may have
            ended before.
    """

    grace: float
    watch: float = 1.0
    status: float = 60.0
    silence: float = 5.0


def _dedicated(_hosts: Sequence[Host], _time: float) -> Mapping[str, HostLoad]:
    return {}


class ResourceManager:
    """Carries out decisions and reports what happens.

    Attributes:
        actions: calls of the connector that are still to be made, in order.
        fault: why the manager cannot be reached; empty while it answers.
        remarks: what its administrator should look at although it works, a line for each.
    """

    def __init__(
        self,
        connector: Connector,
        post: Callable[[Event], None],
        clock: Clock,
        live: Callable[[], list[str]],
        times: ManagerTimes,
        look_at_loads: Callable[[Sequence[Host], float], Mapping[str, HostLoad]] = _dedicated,
        *,
        hardware: str = "",
    ) -> None:
        """Set up; nothing is called before `start`.

        Args:
            connector: the domain's resource manager.
            post: takes events.
            clock: for their times.
            live: returns the UUIDs of the live attempts that the manager has been given.
            times: when to look again.
            look_at_loads: takes in each look at the hosts and its time, and returns what their owners are expected to
                take of them.
            hardware: class of the hosts for which the manager names none; empty where it is not known.
        """
        self._hardware = hardware
        self._look_at_loads = look_at_loads
        self._connector = GuardedConnector(connector)
        self._post = post
        self._clock = clock
        self._live = live
        self._times = times
        self.actions = ActionQueue()
        self._launches: deque[Launch] = deque()
        self._locating: dict[str, bool] = {}  # attempt that is looked for → may be fenced
        self._locating_guard = threading.Lock()
        self._lookups = AttemptLookups(self._connector, self._pending_lookups)
        self._missing: dict[str, float] = {}  # attempt → monotonic time of the first look in a row that found nothing
        self._spared: dict[str, float] = {}  # attempt that had begun → monotonic time until which it is not called back
        self._silent: dict[str, float] = {}  # attempt → monotonic time of its submission, until it is heard of
        self._hosts: tuple[Host, ...] = ()
        self._loads: Mapping[str, HostLoad] = {}
        self._looking = threading.Lock()
        self._looked: float | None = None  # monotonic time of the last look at the hosts that was answered
        self._warned: dict[str, str] = {}  # verb → its last fault, while it lasts
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self.actions.run, name="manager-actions", daemon=True),
            threading.Thread(target=self._listen, name="manager-events", daemon=True),
            threading.Thread(target=self._watch, name="manager-hosts", daemon=True),
        ]
        self._hosts_fault = "it has not answered yet"
        self._submit_fault = "", 0.0  # of the last submit that came to nothing, and its monotonic time
        self.remarks: tuple[str, ...] = ()

    def start(self) -> None:
        """Begin to act, to listen and to watch."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Finish the action under way and end; jobs go on."""
        self._stopped.set()
        self.actions.stop()
        for thread in self._threads:
            thread.join(timeout=2 * _LISTEN)
        with contextlib.suppress(CoschedError):  # the log has it, and the daemon ends all the same
            self._connector.close()

    def submit(self, dispatches: Iterable[tuple[Attempt, Task]]) -> None:
        """Submit attempts, those of one call together."""
        classes = {host.name: host.host_class or self._hardware for host in self._hosts}
        launches = [_launch(attempt, task, classes) for attempt, task in dispatches]
        self._launches.extend(launches)
        for _ in launches:  # one action for each, after which it is submitted at the latest: no cancel overtakes it
            self.actions.put(self._submit)

    def cancel(self, uuid: str, adopted: str = "") -> None:
        """Cancel an attempt, so that it does not run now or later.

        Of a user's own job, whose key is given, only the gate is closed.
        """
        self.actions.put(partial(self._retract, uuid, adopted) if adopted else partial(self._cancel, uuid))

    def call_back(self, uuid: str) -> None:
        """Cancel an attempt unless it has begun, as far as the connector can tell."""
        self.actions.put(partial(self._call_back, uuid))

    def adopts(self) -> AdoptsJobs:
        """Return the connector, where users' own jobs can wait for cosched.

        Raises:
            UserError: they cannot.
        """
        return self._connector.adopts()

    @property
    def fault(self) -> str:
        """Why the manager does not do what it is asked; empty where it does. Any thread may ask.

        A submit that came to nothing counts until one is taken, or should have been tried again long ago.
        """
        fault, since = self._submit_fault
        not_taken = f"it takes no jobs: {fault}" if fault and time.monotonic() < since + _UNTRIED else ""
        return self._hosts_fault or not_taken

    @property
    def home(self) -> str:
        """Return which manager it is, and where its jobs are: what a daemon with live jobs must have again."""
        return self._connector.home

    def check_task(self, owner: str, launch: LaunchMode) -> None:
        """Refuse tasks of an owner, launched so, that would be refused whenever they start; any thread may call it.

        Raises:
            UserError: says what would be taken.
        """
        self._connector.check_task(owner, launch)

    @property
    def mail(self) -> GuardedConnector:
        """The connector, to carry mail; each of its methods may be called from any thread."""
        return self._connector

    def output(self, uuid: str, stream: str, rank: int, offset: int, limit: int) -> Output | None:
        """Return part of an attempt's output; see `Connector.output`. Any thread may call it."""
        return self._connector.output(uuid, stream, rank, offset, limit)

    def calls(self) -> Mapping[str, int]:
        """Return counts of calls, by verb; empty where the connector does not count."""
        return self._connector.calls()

    def looked_ago(self) -> float | None:
        """Return for how many seconds the hosts have not been seen; None before the first time."""
        return None if self._looked is None else time.monotonic() - self._looked

    def locate(self, uuid: str, *, fence: bool) -> None:
        """Find out what became of an attempt; one search for each at a time.

        Args:
            uuid: the attempt.
            fence: whether it is recorded that it must not run.
        """
        with self._locating_guard:
            begun = uuid in self._locating
            self._locating[uuid] = fence or self._locating.get(uuid, False)
        if not begun:
            self.actions.put(partial(self._locate, uuid))

    def diagnose(self, uuid: str) -> None:
        """Find out why an attempt in the manager's queue has not begun."""
        self.actions.put(partial(self._diagnose, uuid))

    def _submit(self) -> None:
        """Submit all launches that wait; those with hosts first, which stay idle meanwhile."""
        launches = [self._launches.popleft() for _ in range(min(len(self._launches), _AT_ONCE))]
        for pinned in (True, False):
            together = [launch for launch in launches if bool(launch.hosts) is pinned]
            if together:
                self._submit_many(together)

    def _submit_many(self, launches: Sequence[Launch]) -> None:
        outcomes = self._connector.submit_many(launches)
        for launch in launches:
            outcome = outcomes[launch.attempt]
            if isinstance(outcome, CoschedError):
                transient = isinstance(outcome, ConnectorError) and outcome.transient
                _log.warning(
                    "submit", task=launch.task, attempt=launch.attempt, fault=str(outcome), transient=transient
                )
                refused = isinstance(outcome, ConnectorError) and outcome.refused
                if transient and not refused:
                    self._submit_fault = str(outcome), time.monotonic()
                self._post(SubmitFailed(self._clock.now(), launch.attempt, str(outcome), transient, refused))
            else:
                self._silent[launch.attempt], self._submit_fault = time.monotonic(), ("", 0.0)
                self._post(AttemptSubmitted(self._clock.now(), launch.attempt, outcome))

    def _cancel(self, uuid: str) -> None:
        self._lookups.forget(uuid)
        try:
            self._connector.cancel(uuid)
            self._warned.pop("cancel", None)
        except CoschedError as error:
            self._warn("cancel", error)  # the core asks again

    def _call_back(self, uuid: str) -> None:
        self._lookups.forget(uuid)
        if time.monotonic() < self._spared.get(uuid, 0.0):
            return  # the core had not taken the answer yet; to remove it now would contradict that
        try:
            if not self._connector.call_back(uuid):
                _log.info("not called back: it has begun", attempt=uuid)
                self._spared = {name: end for name, end in self._spared.items() if time.monotonic() < end}
                self._spared[uuid] = time.monotonic() + _SPARED
                self._post(AttemptBegun(self._clock.now(), uuid))
            self._warned.pop("cancel", None)
        except CoschedError as error:
            self._warn("cancel", error)  # the core asks again

    def _retract(self, uuid: str, key: str) -> None:
        self._lookups.forget(uuid)
        try:
            if self._connector.retract(uuid, key):  # no submission of it is under way: this thread makes them all
                self._post(AttemptAbsent(self._clock.now(), uuid))
            self._warned.pop("retract", None)
        except CoschedError as error:
            self._warn("retract", error)  # the core asks again

    def _locate(self, uuid: str) -> None:
        pause = _FIND_AGAIN
        try:
            answer = self._find(uuid)
            self._warned.pop("find", None)
        except CoschedError as error:
            self._warn("find", error)
            answer, pause = None, _UNREACHABLE_AGAIN
        if answer is None:
            self.actions.put(partial(self._locate, uuid), pause)
            return
        with self._locating_guard:
            del self._locating[uuid]
        self._post(answer)

    def _diagnose(self, uuid: str) -> None:
        try:
            report = self._connector.find(uuid)
            diagnosis = (
                None if report is None or report.state is not JobState.QUEUED else self._connector.diagnose(uuid)
            )
            self._warned.pop("diagnose", None)
        except CoschedError as error:
            self._warn("diagnose", error)
            self.actions.put(partial(self._diagnose, uuid), _UNREACHABLE_AGAIN)
            return
        if diagnosis is not None:
            _log.warning("not started", attempt=uuid, verdict=str(diagnosis.verdict), reason=diagnosis.reason)
            self._post(AttemptDiagnosed(self._clock.now(), uuid, diagnosis))
        elif report is None or report.state is JobState.UNKNOWN:
            self.locate(uuid, fence=False)
        else:
            self._post(JobReported(self._clock.now(), report))

    def _find(self, uuid: str) -> Event | None:
        """Return what became of an attempt; None where it is not known yet.

        Absent is not lost: an attempt is given up only after the grace, and fenced, and not fenced before it is written
        down that it shall be: found fenced after a crash, it would pass for one that a user removed.
        """
        report = self._lookups.find(uuid)
        if report is None and self._grace_is_over(uuid):
            with self._locating_guard:
                fence = self._locating[uuid]
            if not fence:
                return AttemptMissing(self._clock.now(), uuid)
            self._connector.cancel(uuid)
            report = self._connector.find(uuid)
            if report is None:
                del self._missing[uuid]
                return AttemptAbsent(self._clock.now(), uuid)
        if report is None:
            return None
        self._missing.pop(uuid, None)
        return None if report.state is JobState.UNKNOWN else JobReported(self._clock.now(), report)

    def _pending_lookups(self) -> list[str]:
        """Return all attempts that are looked for."""
        with self._locating_guard:
            return list(self._locating)

    def _grace_is_over(self, uuid: str) -> bool:
        now = time.monotonic()
        return now >= self._missing.setdefault(uuid, now) + self._times.grace

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                reports = self._connector.events(_LISTEN)
                self._warned.pop("events", None)
                if any(report.state is JobState.EVICTED for report in reports):
                    with contextlib.suppress(CoschedError):  # the watch says so; these reports come only once
                        self._look_at_hosts()  # before the core sends the task to the same host again
                for report in reports:
                    self._silent.pop(report.attempt, None)
                    self._post(JobReported(self._clock.now(), report))
            except CoschedError as error:
                self._warn("events", error)
                self._stopped.wait(_UNREACHABLE_AGAIN)

    def _watch(self) -> None:
        asked = time.monotonic()
        while not self._stopped.is_set():
            try:
                self._look_at_hosts()
                if time.monotonic() >= asked + self._times.status:
                    asked = time.monotonic()
                    self._ask_for(self._live())
                if silent := self._silent_attempts():
                    self._ask_for(silent)
                    for uuid in silent:  # once: the question for all live attempts follows
                        self._silent.pop(uuid, None)
            except CoschedError as error:
                if self._hosts_fault != str(error):
                    _log.warning("hosts", fault=str(error))
                self._hosts_fault = str(error)
            self._stopped.wait(self._times.watch)

    def _ask_for(self, attempts: Sequence[str]) -> None:
        for report in self._connector.status(attempts):
            self._post(JobReported(self._clock.now(), report))

    def _silent_attempts(self) -> list[str]:
        until = time.monotonic() - self._times.silence
        return [uuid for uuid, since in self._silent.copy().items() if since <= until]

    def _look_at_hosts(self) -> None:
        with self._looking:
            seen, now = self._connector.hosts(), self._clock.now()
            self._hosts_fault, self._looked = "", time.monotonic()
            loads = self._look_at_loads(seen, now)
            hosts = tuple([replace(host, owner_takes=0.0) if host.owner_takes else host for host in seen])
            if hosts != self._hosts or loads != self._loads:
                self._hosts, self._loads = hosts, loads
                self._post(HostsObserved(now, hosts, loads))
            before, self.remarks = self.remarks, self._connector.remarks()
            for remark in self.remarks:
                if remark not in before:
                    _log.warning("resource manager", remark=remark)

    def _warn(self, verb: str, error: CoschedError) -> None:
        """Log a fault when it is new.

        One each second for a night would fill the disk.
        """
        if self._warned.get(verb) != str(error):
            self._warned[verb] = str(error)
            _log.warning(verb, fault=str(error))


def _launch(attempt: Attempt, task: Task, classes: Mapping[str, str]) -> Launch:
    here: dict[str, Any] = {
        "attempt": attempt.uuid,
        "task": task.id,
        "hosts": attempt.hosts,
        "count": attempt.count,
        # A worker is there for as long as its lead, and of a loan it is not foretold when it ends.
        "predicted": task.status.predicted if attempt.worker else attempt.predicted,
        "classes": tuple(classes.get(host, "") for host in attempt.hosts),
        "owner": task.owner,
    }
    if attempt.lead is not None:
        here |= {"mailbox": True}
    if (share := attempt.share) is not None:
        here |= asdict(share) | {"shared": True}
    return Launch(**(shared_values(task.spec, Launch) | here))
