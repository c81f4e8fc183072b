"""The core fails in the middle of events: what failed is refused or asked again, and every task runs exactly once."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from cosched.app.core_access import MistakeError
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    Event,
    HostsObserved,
    JobReported,
    Restored,
    ScheduleImproved,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.daemon.effects import Effects
from cosched.daemon.inbox import InboxItem
from cosched.daemon.mistakes import EventSource, Mistakes, source_of
from tests.daemon.lives import Life, Pool, World, a_request
from tests.daemon.test_engine_crashes import HALVING, SUBMISSIONS, Story, Weather, in_order
from tests.tasks import change_task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from cosched.coscheduler.changes import Decision, Outcome


class PoisonError(Exception):
    """A mistake of cosched that a test makes."""


class Poison:
    """Lets the core fail with events that a test chooses, once it has changed all that they change.

    Attributes:
        fails: returns whether the core fails with an event.
        failed: the events with which it did.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fails: Callable[[Event], bool] = lambda _event: False
        self.failed: list[Event] = []
        handle = Coscheduler.handle

        def poisoned(core: Coscheduler, event: Event) -> Outcome:
            outcome = handle(core, event)
            if not isinstance(event, Restored) and self.fails(event):
                self.failed.append(event)
                raise PoisonError("made by a test")
            return outcome

        monkeypatch.setattr(Coscheduler, "handle", poisoned)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Drop the log: pictures of tracebacks take long."""
    with capture_logs():
        yield


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> Poison:
    return Poison(monkeypatch)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with World().in_force(monkeypatch) as world:
        yield world


@pytest.fixture
def life(tmp_path: Path, world: World) -> Iterator[Life]:
    life = Life(tmp_path, Pool(3, shows_fences=True), world)
    life.settle()
    yield life
    life.close()


def live_until_over(life: Life) -> None:
    """Submit what is refused again, then let everything happen."""
    for key, tasks in SUBMISSIONS.items():
        while life.store.by_key(key) is None:
            life.submit(tasks, key)
            life.settle()
            life.tick()
    in_order(life)


@pytest.mark.parametrize("times", [1, 2])
def test_a_mistake_with_any_one_event_loses_no_task_and_runs_none_twice(
    tmp_path: Path, world: World, poison: Poison, times: int
) -> None:
    """Once it fails in company, twice also by itself."""
    kinds: set[type[Event]] = set()
    for place in range(1, 999):
        poison.failed = []
        handled: list[Event] = []

        def fails(event: Event, place: int = place, handled: list[Event] = handled) -> bool:
            handled.append(event)
            return place <= len(handled) < place + times

        poison.fails, world.time = fails, 1000.0
        story = Story(tmp_path, world)
        story.run(live_until_over)
        assert story.lives == 1
        if len(poison.failed) < times:
            break
        kinds |= {type(event) for event in poison.failed}
    assert kinds >= {HostsObserved, TaskSubmitted, JobReported, Tick}


@pytest.mark.parametrize("seed", range(6))
def test_mistakes_and_crashes_at_random_moments_lose_no_task_and_run_none_twice(
    tmp_path: Path, world: World, poison: Poison, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance, carry_out = random.Random(seed), Effects.carry_out

    def failing(effects: Effects, decisions: Sequence[Decision]) -> None:
        if any(isinstance(each, DispatchAttempt) for each in decisions) and chance.random() < share[0]:
            raise PoisonError("made by a test")
        carry_out(effects, decisions)

    monkeypatch.setattr(Effects, "carry_out", failing)
    share = [0.1]
    poison.fails = lambda _event: chance.random() < share[0]
    story, weather = Story(tmp_path, world, shows_fences=seed % 2 == 0), Weather(world, seed)

    def live(life: Life) -> None:
        weather.play(life)
        share[0] = 0.0
        live_until_over(life)

    story.run(live)
    assert poison.failed


def test_what_shares_a_commit_with_a_mistake_is_done_and_it_alone_is_refused(life: Life, poison: Poison) -> None:
    poison.fails = lambda event: isinstance(event, TaskSubmitted) and event.task.owner == "mallory"
    requests = [change_task(a_request([4.0]), owner=name) for name in ("ann", "mallory", "bob")]
    good, bad, late = (life.inbox.accept([each]) for each in requests)
    life.settle()
    assert [task.number for answer in (good, late) for task in answer.result(0)] == [1, 2]
    with pytest.raises(MistakeError, match="cosched made a mistake with it"):
        bad.result(0)
    assert [task.owner for task in life.store.tasks()] == ["bob", "ann"]
    assert {launch.task for launch in life.pool.launches.values()} == {"1", "2"}


def test_a_value_that_the_database_cannot_hold_is_refused_with_its_task_alone(life: Life) -> None:
    requests = [change_task(a_request([4.0]), name=name) for name in ("one", "\ud800", "two")]
    answers = [life.inbox.accept([each]) for each in requests]
    life.settle()
    assert [type(answer.exception()) for answer in answers] == [type(None), MistakeError, MistakeError]
    settle_for(life, 1.0)
    assert accepted(life) == "2"
    assert life.pool.launches.keys() == {attempt.uuid for task in "12" for attempt in life.store.attempts(task)}


def test_a_user_with_whom_a_mistake_was_made_may_try_again_later(life: Life, poison: Poison) -> None:
    poison.fails = lambda event: isinstance(event, TaskSubmitted)
    with pytest.raises(MistakeError):
        accepted(life)
    poison.fails = lambda _event: False
    failed = len(poison.failed)
    with pytest.raises(MistakeError, match=r"try again in 1\.0 s"):
        accepted(life)
    assert len(poison.failed) == failed
    life.tick()
    life.tick()
    assert accepted(life) == "1"


def accepted(life: Life) -> str:
    answer = life.inbox.accept([a_request(HALVING)])
    life.settle()
    (task,) = answer.result(0)
    return task.id


def test_a_report_that_always_fails_is_asked_for_ever_more_rarely_and_the_rest_goes_on(
    life: Life, poison: Poison
) -> None:
    poison.fails = lambda event: isinstance(event, JobReported) and event.report.state is JobState.COMPLETED
    accepted(life)
    (uuid,) = life.pool.alive()
    life.pool.advance(uuid, life.world.time)
    life.pool.advance(uuid, life.world.time)
    settle_for(life, 300.0)
    assert 8 < len(poison.failed) < 30
    poison.fails = lambda event: isinstance(event, JobReported) and event.report.attempt == uuid
    assert accepted(life) == "2"
    (other,) = life.pool.alive()
    life.pool.advance(other, life.world.time)
    life.pool.advance(other, life.world.time)
    life.settle()
    assert [task.id for task in life.store.tasks() if task.status.state.final] == ["2"]
    poison.fails = lambda _event: False
    settle_for(life, 65.0)
    assert life.over()
    assert life.pool.completed == {"1": 1, "2": 1}


def settle_for(life: Life, seconds: float) -> None:
    until = life.world.time + seconds
    while life.world.time < until:
        life.tick()
        life.settle()


def test_a_task_that_cannot_be_dispatched_hinders_no_report_and_can_be_cancelled(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event with an idle host fails while it waits: the fault is the task's, not theirs."""
    fill(life)
    accepted(life)
    dispatch = Coscheduler._dispatch

    def poisoned(core: Coscheduler, time: float) -> None:
        if "4" in core.tasks and set(core.domain.up()) - set(core.planning_view.taken(time)):
            raise PoisonError("made by a test")
        dispatch(core, time)

    monkeypatch.setattr(Coscheduler, "_dispatch", poisoned)
    (uuid,) = (uuid for uuid, launch in life.pool.launches.items() if launch.task == "1")
    life.pool.advance(uuid, life.world.time)
    life.pool.advance(uuid, life.world.time)
    settle_for(life, 5.0)
    task = life.store.task("1")
    assert task is not None
    assert task.status.state.final
    assert life.engine.mistakes.count > 1
    life.cancel("4")
    settle_for(life, 65.0)
    assert accepted(life) == "5"
    assert "5" in {life.pool.launches[each].task for each in life.pool.alive()}


def fill(life: Life) -> None:
    """Give every host a job."""
    for _ in life.pool.hosts:
        accepted(life)


def test_the_plan_in_force_outlives_a_mistake(life: Life, poison: Poison) -> None:
    fill(life)
    for _ in range(3):
        accepted(life)
    life.inbox.post(ScheduleImproved(life.world.time, TaskPlan(("6", "4", "5"), (1, 1, 1))))
    life.settle()
    poison.fails = lambda event: isinstance(event, Tick)
    life.tick()
    assert poison.failed
    plan = life.inbox.ask(lambda core, _time: core.plan.tasks)
    life.settle()
    assert plan.result(0) == ("6", "4", "5")


def test_a_source_is_held_back_longer_each_time_and_forgiven_later() -> None:
    mistakes, source = Mistakes(), EventSource("neighbour", "north")
    pauses = []
    time = 0.0
    for _ in range(8):
        mistakes.hold(source, time)
        pauses.append(mistakes.held_for(source, time))
        assert mistakes.release(time) == []
        time += pauses[-1]
        assert mistakes.release(time) == [source]
        assert mistakes.release(time) == []
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    mistakes.hold(source, time + 1000.0)
    assert mistakes.held_for(source, time + 1000.0) == 1.0


def test_the_last_mistake_is_told_for_a_day() -> None:
    mistakes = Mistakes()
    assert mistakes.fault(0.0) == ""
    mistakes.note("neighbour north", KeyError("nobody"), 100.0)
    assert "cosched could not handle neighbour north (KeyError)" in mistakes.fault(200.0)
    assert mistakes.fault(100.0 + 86401.0) == ""
    assert mistakes.count == 1


def test_events_come_from_the_attempt_that_they_tell_of() -> None:
    report = InboxItem(event=JobReported(1.0, JobReport("uuid", JobState.RUNNING)))
    assert source_of(report) == EventSource("attempt", "uuid")
    assert source_of(InboxItem(event=Tick(1.0))) == EventSource("Tick")


def test_whose_request_a_mistake_was_made_with_is_not_told_to_all() -> None:
    mistakes = Mistakes()
    mistakes.note(
        str(source_of(InboxItem(tasks=[change_task(a_request([4.0]), owner="ann")]))), KeyError("secret"), 0.0
    )
    assert "a user's tasks (KeyError)" in mistakes.fault(0.0)
    assert "ann" not in mistakes.fault(0.0)
