from __future__ import annotations

import queue
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import pytest
from structlog.testing import capture_logs

from cosched.connector.hosts import Host
from cosched.connector.interface import Connector, ConnectorError, StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import Attempt
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
from cosched.daemon.clock import Clock
from cosched.daemon.manager.resource_manager import ManagerTimes, ResourceManager
from cosched.errors import UserError
from cosched.prediction.loads.host_load import HostLoad
from tests.coscheduler.makers import a_task
from tests.tasks import change_task
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cosched.connector.jobs import Launch

ATTEMPT = Attempt(uuid="u", task="1", hosts=("h1",), count=1, predicted=10.0, created=0.0)
TASK = a_task(1)
DOWN = ConnectorError("the manager does not answer", transient=True)
FULL = ConnectorError("the queue is full", transient=True, refused=True)
MISTAKE = ZeroDivisionError("of the connector")


class Scripted(Connector):
    """A connector whose answers a test lays down: a value, an error to raise, or a list of those, the last for ever."""

    name = "scripted"

    def __init__(self, **script: Any) -> None:
        self.script: dict[str, Any] = {
            "hosts": [[Host("h1")]],
            "submit": ["7.0"],
            "cancel": [None],
            "find": [None],
            "status": [{}],
            "events": [[]],
            **script,
        }
        self.asked: list[str] = []
        self.launches: list[Launch] = []
        self.closed = False
        self.looked = threading.Event()  # at the hosts; there are no events before
        self.looked.set()

    def _answer(self, verb: str) -> Any:
        self.asked.append(verb)
        answers = self.script[verb]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def hosts(self) -> Any:
        self.looked.set()
        return self._answer("hosts")

    def submit(self, launch: Launch) -> Any:
        self.launches.append(launch)
        return self._answer("submit")

    def cancel(self, _attempt: str) -> Any:
        return self._answer("cancel")

    def find(self, _attempt: str) -> Any:
        return self._answer("find")

    def status(self, attempts: Sequence[str]) -> Any:
        self.asked.append(f"status of {','.join(attempts)}")
        return self._answer("status")

    def events(self, timeout: float) -> Any:
        time.sleep(timeout)
        return self._answer("events") if self.looked.is_set() else []

    def output(self, *_part: Any) -> Any:
        return None

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("_FIND_AGAIN", 0.005), ("_UNREACHABLE_AGAIN", 0.005), ("_LISTEN", 0.01)):
        monkeypatch.setattr(f"cosched.daemon.manager.resource_manager.{name}", seconds)


class Told:
    """What the manager has told the core; hosts apart, which it looks at all the time."""

    def __init__(self) -> None:
        self.hosts: queue.SimpleQueue[HostsObserved] = queue.SimpleQueue()
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.order: list[Event] = []

    def post(self, event: Event) -> None:
        self.order.append(event)
        if isinstance(event, HostsObserved):
            self.hosts.put(event)
        else:
            self.events.put(event)

    def next(self) -> Event:
        return self.events.get(timeout=240)


@contextmanager
def manager(
    connector: Scripted,
    *,
    grace: float = 0.03,
    watch: float = 0.01,
    status: float = 1000.0,
    silence: float = 1000.0,
    live: Callable[[], list[str]] = list,
    looks: Sequence[Callable[[Sequence[Host], float], Mapping[str, HostLoad]]] = (),
) -> Iterator[tuple[ResourceManager, Told]]:
    told = Told()
    times = ManagerTimes(grace, watch, status, silence)
    running = ResourceManager(connector, told.post, Clock(), live, times, *looks)
    running.start()
    try:
        yield running, told
    finally:
        running.stop()
        assert connector.closed
        for thread in threading.enumerate():  # on a busy machine longer than `stop` waits
            if thread.name.startswith("manager"):
                thread.join(60)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("manager")]


def actions(connector: Scripted) -> list[str]:
    return [verb for verb in connector.asked if verb in ("submit", "cancel", "call_back", "find")]


def found(state: JobState) -> JobReport:
    return JobReport("u", state, "7.0")


def test_a_cancel_never_overtakes_its_submit() -> None:
    connector = Scripted(find=[found(JobState.REMOVED)])
    with manager(connector) as (running, told):
        running.submit([(ATTEMPT, TASK)])
        running.cancel("u")
        running.locate("u", fence=True)
        assert isinstance(told.next(), AttemptSubmitted)
        assert isinstance(told.next(), JobReported)
    assert actions(connector) == ["submit", "cancel", "find"]


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (DOWN, True),
        (ConnectorError("no such queue", transient=False), False),
        (UserError("bad name"), False),
        (MISTAKE, True),
        (FULL, True),
    ],
)
def test_a_submit_that_fails_is_told_with_what_may_come_of_it(error: Exception, transient: bool) -> None:
    with manager(Scripted(submit=[error])) as (running, told):
        running.submit([(ATTEMPT, TASK)])
        event = told.next()
        assert isinstance(event, SubmitFailed)
        assert (event.attempt, event.transient, event.refused) == ("u", transient, error is FULL)
        assert str(error) in event.message


def test_a_manager_that_takes_no_jobs_is_named_until_it_takes_one() -> None:
    full = ConnectorError("no space left in the spool", transient=True)
    with manager(Scripted(submit=[full, FULL, "7.0"])) as (running, told):
        told.hosts.get(timeout=240)
        running.submit([(ATTEMPT, TASK)])
        assert isinstance(told.next(), SubmitFailed)
        assert running.fault == "it takes no jobs: no space left in the spool"
        running.submit([(ATTEMPT, TASK)])
        assert isinstance(told.next(), SubmitFailed)
        assert running.fault  # a limit of the manager's is no answer to that
        running.submit([(ATTEMPT, TASK)])
        assert isinstance(told.next(), AttemptSubmitted)
        assert not running.fault


def test_an_attempt_is_missing_only_after_the_grace_and_not_fenced_unasked() -> None:
    connector = Scripted()
    with manager(connector, grace=0.5) as (running, told):
        began = time.monotonic()
        running.locate("u", fence=False)
        assert isinstance(told.next(), AttemptMissing)
        assert time.monotonic() >= began + 0.5
    assert len(actions(connector)) >= 2
    assert "cancel" not in connector.asked


def test_an_attempt_that_turns_up_within_the_grace_is_found() -> None:
    with manager(Scripted(find=[None, None, found(JobState.RUNNING)]), grace=1000.0) as (running, told):
        running.locate("u", fence=False)
        event = told.next()
        assert isinstance(event, JobReported)
        assert event.report.state is JobState.RUNNING


def test_an_attempt_that_may_be_fenced_is_fenced_and_located_once_more() -> None:
    connector = Scripted()
    with manager(connector) as (running, told):
        running.locate("u", fence=True)
        assert isinstance(told.next(), AttemptAbsent)
    assert actions(connector)[-3:] == ["find", "cancel", "find"]


def test_an_attempt_that_turns_up_behind_the_fence_is_found() -> None:
    with manager(Scripted(find=[None, found(JobState.REMOVED)]), grace=0.0) as (running, told):
        running.locate("u", fence=True)
        event = told.next()
        assert isinstance(event, JobReported)
        assert event.report.state is JobState.REMOVED


@pytest.mark.parametrize("trouble", [DOWN, MISTAKE, UserError("odd"), found(JobState.UNKNOWN)])
def test_a_manager_that_does_not_answer_makes_no_attempt_absent(trouble: object) -> None:
    """A search goes on through it, however much longer than the grace it lasts, and through the connector's bugs."""
    with manager(Scripted(find=[*[trouble] * 5, found(JobState.RUNNING)]), grace=0.0) as (running, told):
        running.locate("u", fence=False)
        event = told.next()
        assert isinstance(event, JobReported)
        assert event.report.state is JobState.RUNNING


def test_a_fence_that_cannot_be_laid_is_tried_again() -> None:
    connector = Scripted(cancel=[DOWN, None])
    with manager(connector, grace=0.0) as (running, told):
        running.locate("u", fence=True)
        assert isinstance(told.next(), AttemptAbsent)
    assert actions(connector) == ["find", "cancel", "find", "cancel", "find"]


class CallingBack(Scripted):
    """A connector that removes only what has not begun."""

    def call_back(self, _attempt: str) -> Any:
        return self._answer("call_back")


def test_what_had_begun_is_told_once_and_not_called_back_again_at_once() -> None:
    connector = CallingBack(call_back=[False, True], find=[found(JobState.RUNNING)])
    with manager(connector) as (running, told):
        running.call_back("u")
        assert isinstance(told.next(), AttemptBegun)
        running.call_back("u")  # asked before the core had heard the answer
        running.locate("u", fence=True)
        assert isinstance(told.next(), JobReported)
    assert actions(connector) == ["call_back", "find"]


def test_a_connector_that_cannot_tell_cancels() -> None:
    connector = Scripted(cancel=[None], find=[found(JobState.REMOVED)])
    with manager(connector) as (running, told):
        running.call_back("u")
        running.locate("u", fence=True)
        assert isinstance(told.next(), JobReported)
    assert actions(connector) == ["cancel", "find"]


class Diagnosing(Scripted):
    """A connector that says why a job has not begun."""

    def diagnose(self, _attempt: str) -> Any:
        return self._answer("diagnose")


BLOCKED = StartDiagnosis(StartVerdict.BLOCKED, "no host\nhas so much memory")


@pytest.mark.parametrize(
    ("connector", "told_as"),
    [
        (Diagnosing(find=[found(JobState.QUEUED)], diagnose=[BLOCKED]), "no host has so much memory"),
        (Diagnosing(find=[DOWN, found(JobState.QUEUED)], diagnose=[DOWN, BLOCKED]), "no host has so much memory"),
        (Scripted(find=[found(JobState.QUEUED)]), ""),  # it knows no reasons
    ],
)
def test_the_reason_why_an_attempt_has_not_begun_is_told(connector: Scripted, told_as: str) -> None:
    with manager(connector) as (running, told):
        running.diagnose("u")
        event = told.next()
        assert isinstance(event, AttemptDiagnosed)
        assert event.diagnosis.reason == told_as


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.HELD, JobState.COMPLETED])
def test_an_attempt_that_waits_no_more_is_told_as_what_it_is(state: JobState) -> None:
    with manager(Diagnosing(find=[found(state)], diagnose=[BLOCKED])) as (running, told):
        running.diagnose("u")
        event = told.next()
        assert isinstance(event, JobReported)
        assert event.report.state is state


def test_an_attempt_that_is_asked_for_and_not_there_is_missing_after_the_grace() -> None:
    with manager(Diagnosing(diagnose=[BLOCKED])) as (running, told):
        running.diagnose("u")
        assert isinstance(told.next(), AttemptMissing)


def test_an_attempt_is_looked_for_once_at_a_time_and_again_when_asked_again() -> None:
    connector = Scripted(find=[None, None, found(JobState.QUEUED)])
    with manager(connector, grace=1000.0) as (running, told):
        for _ in range(5):
            running.locate("u", fence=False)
        told.next()
        running.locate("u", fence=False)
        told.next()
        assert told.events.empty()


@pytest.mark.parametrize("error", [DOWN, MISTAKE])
def test_events_are_heard_after_an_error(error: Exception) -> None:
    with manager(Scripted(events=[error, [found(JobState.RUNNING)], []])) as (_running, told):
        assert isinstance(told.next(), JobReported)


@pytest.mark.parametrize("error", [DOWN, MISTAKE])
def test_hosts_are_watched_after_an_error_and_told_when_they_change(error: Exception) -> None:
    one, two = [Host("h1")], [Host("h2"), Host("h1")]
    with manager(Scripted(hosts=[one, error, one, two])) as (running, told):
        assert told.hosts.get(timeout=240).hosts == (Host("h1"),)
        assert told.hosts.get(timeout=240).hosts == (Host("h1"), Host("h2"))
        assert running.fault == ""
    assert told.hosts.empty()


def test_a_manager_that_does_not_answer_is_named() -> None:
    with manager(Scripted(hosts=[DOWN])) as (running, _told):
        until(lambda: running.fault == str(DOWN))


@pytest.mark.parametrize("answers", [True, False])
def test_hosts_are_looked_at_before_a_lost_job_is_told(answers: bool) -> None:
    """Told first, the core would send the task to the host that is gone."""
    gone = [Host("h1", up=False)] if answers else DOWN
    connector = Scripted(hosts=[[Host("h1")], gone], events=[[found(JobState.EVICTED)]])
    connector.looked.clear()
    with manager(connector, watch=1000.0) as (_running, told):
        told.next()
    kinds = [type(event) for event in told.order]
    assert kinds[: 2 + answers] == [HostsObserved] * (1 + answers) + [JobReported]


def test_live_attempts_are_asked_for_now_and_then() -> None:
    connector = Scripted(status=[{"u": found(JobState.COMPLETED)}])
    with manager(connector, status=0.0, live=lambda: ["u", "v"]) as (_running, told):
        event = told.next()
        assert isinstance(event, JobReported)
        assert event.report == found(JobState.COMPLETED)
    assert "status of u,v" in connector.asked


def test_a_submitted_attempt_that_had_ended_before_is_asked_for_once() -> None:
    """Beside a restored database its task passed for one that leaves until all live attempts were asked for."""
    connector = Scripted(status=[{"u": found(JobState.COMPLETED)}])
    with manager(connector, silence=0.02) as (running, told):
        running.submit([(ATTEMPT, TASK)])
        submitted, ended = told.next(), told.next()
        assert isinstance(submitted, AttemptSubmitted)
        assert isinstance(ended, JobReported)
        assert ended.report == found(JobState.COMPLETED)
        looks = connector.asked.count("hosts")
        until(lambda: connector.asked.count("hosts") >= looks + 3)
    assert connector.asked.count("status of u") == 1


@pytest.mark.parametrize("verb", ["events", "find", "hosts"])
def test_a_fault_that_lasts_is_logged_once(verb: str) -> None:
    """At a look every other second, a manager that was away for a night filled the log."""
    connector = Scripted(**{verb: [DOWN]})
    with capture_logs() as lines, manager(connector) as (running, _told):
        running.locate("u", fence=False)
        until(lambda: connector.asked.count(verb) >= 4)
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == [verb]


def test_a_remark_of_the_connectors_is_logged_once() -> None:
    class Remarking(Scripted):
        def remarks(self) -> list[str]:
            return ["the spool is\nopen"]

    connector = Remarking()
    with capture_logs() as lines, manager(connector):
        until(lambda: connector.asked.count("hosts") >= 4)
    assert [line["remark"] for line in lines if "remark" in line] == ["the spool is open"]


@pytest.mark.parametrize(
    "script",
    [
        {"events": [None, [found(JobState.RUNNING)]]},
        {"events": [[None], [found(JobState.RUNNING)]]},
        {"status": [None, {"u": found(JobState.RUNNING)}]},
        {"hosts": [None, [Host("h1", up=False)]], "events": [[], [found(JobState.RUNNING)]]},
    ],
)
def test_an_answer_of_a_wrong_form_ends_no_thread(script: dict[str, Any]) -> None:
    """Nobody missed the thread: the daemon went on, and heard no more of its jobs."""
    with manager(Scripted(**script), status=0.0) as (_running, told):
        event = told.next()
        assert isinstance(event, JobReported)
        assert event.report == found(JobState.RUNNING)
        assert told.hosts.get(timeout=240).hosts


def test_hosts_without_a_class_of_the_managers_are_of_the_domains() -> None:
    """Watched tasks were told no class, so that `observe --collect` needed --class."""
    connector = Scripted(hosts=[[Host("h1"), Host("h2", host_class="sun")]])
    told = Told()
    times = ManagerTimes(1.0, 0.01, 1000.0)
    running = ResourceManager(connector, told.post, Clock(), list, times, hardware="node_a")
    running.start()
    try:
        told.hosts.get(timeout=240)
        running.submit([(replace(ATTEMPT, hosts=("h1", "h2"), count=2), TASK)])
        told.next()
    finally:
        running.stop()
    assert [launch.classes for launch in connector.launches] == [("node_a", "sun")]


def test_a_connector_that_cannot_be_closed_does_not_keep_the_daemon_from_ending() -> None:
    connector = Scripted()
    running = ResourceManager(connector, Told().post, Clock(), list, ManagerTimes(1.0, 0.01, 1000.0))
    connector.close = MagicMock(side_effect=MISTAKE)  # type: ignore[method-assign]  # a mock is a method, too
    running.start()
    running.stop()
    connector.close.assert_called_once()


def test_dispatches_of_one_call_are_submitted_together() -> None:
    """Whoever waits while a submit is under way goes with the next; pinned attempts go before the others."""
    under_way, go_on = threading.Event(), threading.Event()
    together: list[list[str]] = []

    class Many(Scripted):
        def submit_many(self, launches: Sequence[Launch]) -> dict[str, Any]:
            together.append([launch.attempt for launch in launches])
            under_way.set()
            go_on.wait(60)
            return {launch.attempt: DOWN if launch.attempt == "3" else "7.0" for launch in launches}

    attempts = [replace(ATTEMPT, uuid=str(place), hosts=("h1",) if place % 2 else ()) for place in range(5)]
    with manager(Many()) as (running, told):
        running.submit([(attempts[0], TASK)])
        assert under_way.wait(60)
        running.submit([(attempt, TASK) for attempt in attempts[1:3]])
        running.submit([(attempt, TASK) for attempt in attempts[3:]])
        go_on.set()
        events = [told.next() for _ in attempts]
    assert together == [["0"], ["1", "3"], ["2", "4"]]
    assert [isinstance(event, SubmitFailed) for event in events] == [False, False, True, False, False]


def test_a_launch_carries_the_attempt_and_the_task() -> None:
    connector = Scripted()
    task = change_task(TASK, environment={"A": "1"}, directory="/tmp", time_limit=60.0)
    with manager(connector) as (running, told):
        running.submit([(ATTEMPT, task)])
        told.next()
    (launch,) = connector.launches
    assert (launch.attempt, launch.task, launch.hosts, launch.command) == ("u", "1", ("h1",), task.spec.command)
    assert (launch.environment, launch.directory, launch.time_limit) == ({"A": "1"}, "/tmp", 60.0)
    assert launch.predicted == 10.0


def test_after_a_restart_many_attempts_are_asked_for_at_once() -> None:
    names = [f"u{number}" for number in range(50)]
    known = {name: JobReport(name, JobState.RUNNING, "7.0") for name in names}
    held = threading.Event()
    connector = Scripted(status=[known])

    def hold() -> None:
        held.wait(60)

    with manager(connector) as (running, told):
        running.actions.put(hold)
        for name in names:
            running.locate(name, fence=False)
        held.set()
        reported = [told.next() for _ in names]
    assert {event.report.attempt for event in reported if isinstance(event, JobReported)} == set(names)
    assert [call for call in connector.asked if call.startswith(("find", "status"))].count("status") == 1
    assert "find" not in connector.asked


def test_loads_are_told_when_they_change_and_owners_who_come_and_go_are_not() -> None:
    load, seen = HostLoad(0.01, 60.0, 7200.0), list[float]()

    def look(hosts: Sequence[Host], _time: float) -> Mapping[str, HostLoad]:
        seen.extend(host.owner_takes for host in hosts)
        return {"h1": load} if len(seen) > 3 else {}

    connector = Scripted(hosts=[[Host("h1", owner_takes=part)] for part in (0.0, 1.0, 0.0, 0.5, 0.0)])
    with manager(connector, looks=[look]) as (_, told):
        first, second = told.hosts.get(timeout=240), told.hosts.get(timeout=240)
    assert (first.hosts, first.loads) == ((Host("h1"),), {})
    assert (second.hosts, second.loads) == ((Host("h1"),), {"h1": load})
    assert seen[:4] == [0.0, 1.0, 0.0, 0.5]
    assert told.hosts.empty()
