from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    AttemptSubmitted,
    CancelRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    NeighboursChanged,
    OfferEnded,
    ScheduleImproved,
    SearchAwaited,
    SharesChanged,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.recording.codec import Codec
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.sharing.shares import Share, Shares
from tests.coscheduler.makers import a_task, hosts, mixed_hosts, on_both, settings

if TYPE_CHECKING:
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.core_settings import CoreSettings
    from cosched.coscheduler.events import Event

STAGED = settings(staging=3.0)


def uuid_of(task: int) -> str:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(1)))
    return next(iter(core.handle(TaskSubmitted(0.0, a_task(task))).changes.attempts))


def second_uuid_of(task: int) -> str:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, hosts(1)))
    (first,) = core.handle(TaskSubmitted(0.0, a_task(task))).changes.attempts
    core.handle(SubmitFailed(0.0, first, "no", transient=True, refused=True))
    return next(iter(core.handle(Tick(9.0)).changes.attempts))


def refused(time: float, task: int, *, full: bool = False) -> SubmitFailed:
    return SubmitFailed(time, uuid_of(task), "no", transient=True, refused=full)


def reported(time: float, task: int, state: JobState, started: float | None = None) -> JobReported:
    finished = time if state is JobState.COMPLETED else None
    return JobReported(time, JobReport(uuid_of(task), state, started=started, finished=finished, exit_code=0))


def ticks(*times: float) -> list[Event]:
    return [Tick(time) for time in times]


LATE = a_task(1, [9.0], deadline=5.0)
STORIES: dict[str, tuple[CoreSettings, list[Event]]] = {
    "a task is held back after its hosts were lost": (
        settings(retry=4.0),
        [
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(1.0, a_task(1)),
            *(reported(2.0, 1, state) for state in (JobState.EVICTED, JobState.REMOVED)),
            *ticks(3.0, 4.0, 5.0, 7.0, 9.0),
        ],
    ),
    "the origin of a guest is asked again, less and less often": (
        settings(),
        [
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(1.0, a_task(1, origin="north", held=True)),
            *ticks(1.5, 2.5, 3.0, 4.5, 6.0, 9.5),
        ],
    ),
    "a task that will be late is offered around, once": (
        settings(),
        [
            NeighboursChanged(0.0, available=True),
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(1.0, LATE),
            Tick(2.0),
            OfferEnded(3.0, "1"),
            Tick(4.0),
        ],
    ),
    "tasks that would be in time are offered, too": (
        settings(staging=1.0),
        [
            NeighboursChanged(0.0, available=True, offer_on_time=True),
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(1.0, a_task(1, [1.0], deadline=50.0)),
            *ticks(2.0, 8.0, 13.0),
        ],
    ),
    "a manager that does not answer is left alone for longer and longer": (
        settings(),
        [
            HostsObserved(0.0, hosts(4)),
            TaskSubmitted(0.0, a_task(1, [5.0])),
            refused(1.0, 1),
            TaskSubmitted(2.0, a_task(2, [5.0])),
            refused(3.0, 2),
            TaskSubmitted(3.5, a_task(3, [5.0])),
            *ticks(4.0, 5.5),
            refused(6.0, 3),
            TaskSubmitted(6.5, a_task(4, [5.0])),
            *ticks(8.0, 9.0, 11.0),
        ],
    ),
    "a manager that takes no more is probed": (
        settings(retry=2.0),
        [
            HostsObserved(0.0, hosts(4)),
            *(TaskSubmitted(0.5, a_task(number, [5.0])) for number in (1, 2, 3)),
            AttemptSubmitted(1.0, uuid_of(1), "1"),
            *(refused(1.5, number, full=True) for number in (2, 3)),
            *ticks(2.0, 3.0, 4.0, 6.0),
        ],
    ),
    "a user's own job that cannot be let go waits longer and longer": (
        settings(),
        [
            HostsObserved(0.0, hosts(2)),
            TaskSubmitted(0.0, a_task(1, [5.0], adopted="pool#1.0#1")),
            refused(0.5, 1, full=True),
            *ticks(1.0, 1.5),
            SubmitFailed(2.0, second_uuid_of(1), "no", transient=True, refused=True),
            *ticks(3.0, 4.0),
        ],
    ),
    "a cancel is said again": (
        settings(),
        [
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(0.0, a_task(1)),
            CancelRequested(1.0, "1"),
            *ticks(2.0, 5.0, 6.5, 8.0, 12.0),
        ],
    ),
    "tasks lost too often fail": (
        settings(attempts=1),
        [
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(0.0, a_task(1)),
            *(reported(2.0, 1, state) for state in (JobState.EVICTED, JobState.REMOVED)),
        ],
    ),
    "a plan keeps order, counts and classes": (
        STAGED,
        [
            HostsObserved(0.0, mixed_hosts(2)),
            *(TaskSubmitted(0.1, on_both(number, [5.0, 3.0], [6.0, 4.0])) for number in (1, 2, 3)),
            ScheduleImproved(0.5, TaskPlan(("3", "1", "2"), (1, 1, 1), ("slow", "fast", "")), settled=False),
            TaskSubmitted(0.7, on_both(4, [5.0], [6.0], submitted=0.7)),
            *ticks(1.0, 3.5),
        ],
    ),
    "a plan of the search ends staging": (
        STAGED,
        [
            TaskSubmitted(0.1, a_task(1, submitted=0.1)),
            HostsObserved(0.2, hosts(1)),
            TaskSubmitted(0.3, a_task(2, [50.0], submitted=0.3)),
            HostsReserved(0.4, Reservation("r", ("node01",), 0.4, 1.0)),
            ScheduleImproved(0.5, TaskPlan(("2", "1"), (1, 1))),
            *ticks(0.9, 1.1, 2.0),
        ],
    ),
    "a search that starts is waited for": (
        settings(staging=1.0, search_start=4.0),
        [
            SearchAwaited(0.0),
            HostsObserved(0.5, hosts(1)),
            TaskSubmitted(1.0, a_task(1, [2.0], submitted=1.0)),
            *ticks(2.5, 4.5),
            SearchAwaited(5.0),
            ScheduleImproved(6.0, TaskPlan()),
            reported(6.1, 1, JobState.RUNNING, 4.5),
            TaskSubmitted(6.2, a_task(2, [2.0], submitted=5.0)),
            reported(6.5, 1, JobState.COMPLETED, 4.5),
            *ticks(6.9, 7.0),
        ],
    ),
    "a reservation is kept": (
        settings(),
        [
            HostsObserved(0.0, hosts(1)),
            HostsReserved(0.5, Reservation("r", ("node01",), 4.0, 9.0)),
            TaskSubmitted(1.0, a_task(1, [5.0])),
            *ticks(2.0, 8.0, 9.5),
        ],
    ),
    "tasks that arrive together are looked at together": (
        settings(staging=0.2),
        [
            HostsObserved(0.0, hosts(8)),
            *(TaskSubmitted(0.1 * place, a_task(place, [1.0], submitted=0.1 * place)) for place in range(1, 7)),
            Tick(1.0),
        ],
    ),
    "tasks without a model leave in order of arrival": (
        settings(retry=2.0),
        [
            *(TaskSubmitted(0.5, a_task(number, None, owner="ann")) for number in (1, 2, 3)),
            *(refused(1.0, number, full=True) for number in (3, 1, 2)),
            *ticks(3.5, 8.0),
        ],
    ),
    "what runs have taught holds on": (
        settings(),
        [
            HostsObserved(0.0, hosts(1)),
            TaskSubmitted(0.0, a_task(1, [2.0])),
            reported(1.0, 1, JobState.RUNNING, 1.0),
            reported(6.0, 1, JobState.COMPLETED, 1.0),
            HostsReserved(6.5, Reservation("r", ("node01",), 12.5, 20.0)),
            TaskSubmitted(7.0, a_task(2, [2.0])),
        ],
    ),
    "shares decide who is next": (
        settings(),
        [
            HostsObserved(0.0, hosts(1)),
            SharesChanged(0.0, Shares(groups={"physics": Share(2.0)}, members={"bob": "physics"})),
            *(TaskSubmitted(0.1, a_task(number, [2.0], owner=owner)) for number, owner in enumerate("aabb", start=1)),
            reported(0.2, 1, JobState.RUNNING, 0.2),
            reported(2.2, 1, JobState.COMPLETED, 0.2),
            SharesChanged(2.3, None),
            reported(4.2, 3, JobState.COMPLETED, 2.2),
        ],
    ),
    "hosts that others have are expected back by how long they had them": (
        settings(),
        [
            HostsObserved(0.0, tuple(replace(host, claimed=host.name == "node01") for host in hosts(2))),
            TaskSubmitted(1.0, a_task(1, [9.0, 1.0])),
            *ticks(2.0, 60.0),
        ],
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_core_goes_on_from_a_snapshot_at_any_event_as_if_it_had_never_stopped(story: str) -> None:
    given, events = STORIES[story]
    codec = Codec()
    core, texts, outcomes = Coscheduler(given), [], []
    for event in events:
        texts.append(json.dumps(codec.write(core.snapshot(), CoreSnapshot), allow_nan=False))
        outcomes.append(core.handle(event))
    for place, text in enumerate(texts):
        again = Coscheduler.from_snapshot(given, codec.read(json.loads(text), CoreSnapshot))
        late: list[Outcome] = [again.handle(event) for event in events[place:]]
        assert late == outcomes[place:]
        assert again.snapshot() == core.snapshot()
