"""News from the queue alone, on a scheduler and slots that are played."""

from __future__ import annotations

import math
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("htcondor2", reason="the package htcondor is not installed")

from cosched.connector import ConnectorError, JobState
from cosched_condor import job_events as module
from cosched_condor.job_events import LONGEST_PAUSE, SHORTEST_PAUSE, QueueEvents, QueuePolling
from cosched_condor.job_owners import JobOwners
from cosched_condor.jobs import OutputFetcher, SchedulerJobs
from tests.waiting import until

if TYPE_CHECKING:
    from cosched_condor.htcondor_client import CondorClient
    from cosched_condor.spool import CondorAttemptFolders

_BEGUN = {"JobCurrentStartDate": 1, "JobCurrentStartExecutingDate": 2}


class Pool:
    """Answers from three lists."""

    def __init__(self) -> None:
        self.queue: list[dict[str, Any]] = []
        self.history: list[dict[str, Any]] = []
        self.slots: list[dict[str, Any]] = []
        self.calls: list[str] = []

    def call(self, verb: str, wait: float = 0.0, **_arguments: object) -> Any:
        if verb == "user":
            return "cosched@pool"
        self.calls.append(verb)
        return None if verb == "retrieve" else list(getattr(self, verb))


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def pool() -> Pool:
    return Pool()


@pytest.fixture
def news(pool: Pool, attempts: CondorAttemptFolders, clock: Clock) -> QueueEvents:
    worker = cast("CondorClient", pool)
    owners = JobOwners(worker, attempts)
    fetching = OutputFetcher(worker, attempts, owners)
    jobs = SchedulerJobs(worker, attempts, owners, 30.0, fetching)
    return QueueEvents(worker, jobs, fetching, attempts, lambda _slot: True)


def _ad(attempts: CondorAttemptFolders, **values: Any) -> dict[str, Any]:
    attempt = str(uuid.uuid4())
    attempts.create(attempt)
    return {"ClusterId": 7, "ProcId": 0, "CoschedAttempt": attempt, "CoschedCount": 1, **values}


def _states(news: QueueEvents, timeout: float = 2.0) -> list[JobState]:
    return [report.state for report in news.read(timeout)]


def test_a_life_is_told_step_by_step_and_fetched_at_its_end(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders
) -> None:
    ad = _ad(attempts, JobStatus=1)
    pool.queue = [ad]
    assert _states(news) == [JobState.QUEUED]
    pool.queue = [{**ad, "JobStatus": 2, **_BEGUN}]
    pool.slots = [{"JobId": "7.0", "Machine": "a"}]
    assert _states(news) == [JobState.RUNNING]
    assert _states(news, 5.0) == []
    pool.queue = [{**ad, "JobStatus": 4, "ExitCode": 0, "CompletionDate": 9, **_BEGUN}]
    pool.slots = []
    assert _states(news) == [JobState.COMPLETED]
    assert "retrieve" not in pool.calls  # the end is told first
    assert _states(news) == []
    until(lambda: pool.calls.count("retrieve") == 1)
    assert _states(news) == []
    assert pool.calls.count("retrieve") == 1


def test_what_one_task_has_written_is_not_waited_for_by_anything_of_the_others(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For as long as it came, up to ten minutes, no start and no end was seen, and no host looked at."""
    arrived, call = threading.Event(), pool.call

    def slow(verb: str, wait: float = 0.0, **arguments: object) -> Any:
        if verb == "retrieve":
            arrived.wait(60.0)
        return call(verb, wait, **arguments)

    monkeypatch.setattr(pool, "call", slow)
    large, other = (
        _ad(attempts, ClusterId=number, JobStatus=4, ExitCode=1, CompletionDate=9, **_BEGUN) for number in (7, 8)
    )
    pool.queue = [large]
    assert _states(news) == [JobState.FAILED]
    (
        attempts.folder(other["CoschedAttempt"]) / "prepares"
    ).touch()  # its end is told with what it wrote, if that is there
    pool.queue, pool.slots = [large, other], [{"JobId": "9.0"}]
    began = time.monotonic()
    try:
        assert _states(news, 60.0) == [JobState.FAILED]
        with pytest.raises(ConnectorError, match="on its way"):
            news._output_fetcher.fetch(other["CoschedAttempt"], 0.01)
        assert time.monotonic() - began < 30.0
    finally:
        arrived.set()
        news._output_fetcher.close()
    until(lambda: "retrieve" in pool.calls)


def test_while_nothing_changes_the_queue_is_left_alone(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders
) -> None:
    pool.queue = [_ad(attempts, JobStatus=2, **_BEGUN)]
    pool.slots = [{"JobId": "7.0", "Machine": "a"}]
    assert _states(news) == [JobState.RUNNING]
    pool.calls.clear()
    assert _states(news, 3600.0) == []
    assert "queue" not in pool.calls
    assert "history" not in pool.calls


def test_what_waits_for_its_host_is_asked_for_once_a_minute(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders
) -> None:
    pool.queue = [_ad(attempts, JobStatus=1)]
    assert _states(news) == [JobState.QUEUED]
    _states(news, 120.0)
    pool.calls.clear()
    assert _states(news, 3600.0) == []
    assert 59 <= pool.calls.count("queue") <= 61


def test_what_is_too_short_to_be_seen_on_a_slot_is_told_all_the_same(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders
) -> None:
    assert _states(news) == []
    ad = _ad(attempts, JobStatus=4, ExitCode=0, CompletionDate=9, **_BEGUN)
    news.changed([ad["CoschedAttempt"]], 1.0)
    pool.queue = [ad]
    assert _states(news) == [JobState.COMPLETED]


def test_a_host_that_is_taken_is_not_yet_a_program_that_runs(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders
) -> None:
    """Regression: slots and queue agreed, the question was settled, and the start was never told."""
    ad = _ad(attempts, JobStatus=2)
    pool.queue, pool.slots = [ad], [{"JobId": "7.0", "Machine": "a"}]
    assert _states(news) == [JobState.QUEUED]
    pool.queue = [{**ad, **_BEGUN}]
    assert _states(news) == [JobState.RUNNING]


def test_what_left_the_queue_is_found_in_the_history(
    news: QueueEvents, pool: Pool, attempts: CondorAttemptFolders
) -> None:
    ad = _ad(attempts, JobStatus=2, **_BEGUN)
    pool.queue, pool.slots = [ad], [{"JobId": "7.0", "Machine": "a"}]
    assert _states(news) == [JobState.RUNNING]
    pool.queue, pool.slots = [], []
    pool.history = [{**ad, "JobStatus": 3, "RemoveReason": "by hand"}]
    (report,) = news.read(3.0)
    assert (report.state, report.reason) == (JobState.REMOVED, "by hand")
    pool.calls.clear()
    assert _states(news, 600.0) == []
    assert "queue" not in pool.calls


def test_what_nobody_knows_is_given_up_and_others_jobs_are_none_of_ours(news: QueueEvents, pool: Pool) -> None:
    news.changed([str(uuid.uuid4())])
    pool.queue = [{"ClusterId": 9, "ProcId": 0, "CoschedAttempt": str(uuid.uuid4()), "CoschedCount": 1, "JobStatus": 1}]
    assert _states(news, 60.0) == []
    pool.calls.clear()
    assert _states(news, 600.0) == []
    assert "queue" not in pool.calls


_JOBS = st.frozensets(st.sampled_from(["1.0", "2.0", "2.1"]))
_STEPS = st.lists(
    st.tuples(st.floats(0.01, 5.0), st.sampled_from(["look", "stir", "nothing"]), _JOBS, _JOBS, st.booleans()),
    max_size=60,
)


def _due(pace: QueuePolling, start: float, until: float = LONGEST_PAUSE + SHORTEST_PAUSE) -> float:
    """Return after how many seconds a question is due; infinity for not at all."""
    steps = int(until / 0.25) + 1
    return next((0.25 * step for step in range(steps) if pace.is_due(start + 0.25 * step)), math.inf)


def test_the_first_question_is_asked_at_once() -> None:
    assert QueuePolling().is_due(0.0)


def test_where_queue_and_slots_agree_nothing_is_asked() -> None:
    pace = QueuePolling()
    pace.slots_seen(frozenset({"1.0"}), 0.0)
    pace.answered(frozenset({"1.0"}), waiting=False, now=0.0)
    assert _due(pace, 0.0, 3600.0) == math.inf
    pace.slots_seen(frozenset({"1.0"}), 50.0)
    assert _due(pace, 50.0) == math.inf
    pace.slots_seen(frozenset(), 60.0)
    assert pace.is_due(60.0)


def test_what_waits_is_asked_for_ever_more_rarely() -> None:
    pace, now, gaps = QueuePolling(), 0.0, []
    for _ in range(9):
        pace.answered(frozenset(), waiting=True, now=now)
        gaps.append(_due(pace, now))
        now += gaps[-1]
    assert gaps == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_change_during_a_question_is_asked_for_once_more() -> None:
    pace = QueuePolling()
    pace.changed(10.2)
    pace.answered(frozenset(), waiting=False, now=10.0)
    assert 0 < _due(pace, 10.2) <= SHORTEST_PAUSE


@given(_STEPS)
def test_never_too_often_and_never_too_late(
    steps: list[tuple[float, str, frozenset[str], frozenset[str], bool]],
) -> None:
    """Two questions are a second apart; what disagrees, waits, or changed since is asked for within a minute."""
    pace, now, asked = QueuePolling(), 0.0, -math.inf
    seen: frozenset[str] = frozenset()
    for gap, kind, jobs, running, waiting in steps:
        now += gap
        changed = kind == "stir" or (kind == "look" and jobs != seen)
        if kind == "look":
            pace.slots_seen(jobs, now)
            seen = jobs
        elif kind == "stir":
            pace.changed(now)
        if changed:
            assert _due(pace, now) <= SHORTEST_PAUSE + 0.25
        if pace.is_due(now):
            assert now - asked >= SHORTEST_PAUSE
            asked = now
            pace.answered(running, waiting=waiting, now=now)
            assert (_due(pace, now) == math.inf) is (running == seen and not waiting)
