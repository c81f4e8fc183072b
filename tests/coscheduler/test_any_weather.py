from __future__ import annotations

import io
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hypothesis import note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cosched.connector.interface import StartDiagnosis, StartVerdict
from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import CancelAttempt, DiagnoseAttempt, DispatchAttempt, LocateAttempt, Replan
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import (
    AttemptAbsent,
    AttemptBegun,
    AttemptDiagnosed,
    AttemptMissing,
    AttemptSubmitted,
    CancelRequested,
    EditRequested,
    Event,
    HoldRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    NeighboursChanged,
    ReleaseRequested,
    ReservationReleased,
    ScheduleImproved,
    SearchAwaited,
    SharesChanged,
    SubmitFailed,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.places.hosts import expected_end
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.recording.lines import RecordingWriter, read_recording
from cosched.coscheduler.recording.replay import ReplayedEvent, replay
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.coscheduler.task import TaskState
from cosched.prediction.loads.host_load import HostLoad
from cosched.scheduling.schedule import check_schedule
from tests.coscheduler.makers import (
    a_task,
    mixed_hosts,
    on_both,
    settings,
)
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.task import Task


def replayed(recording: str) -> list[ReplayedEvent]:
    entries = replay(read_recording(io.BytesIO(recording.encode()), "run"))
    return [each for each in entries if isinstance(each, ReplayedEvent)]


_SEARCH_START = 6.0
ALIVE = (JobState.RUNNING, JobState.QUEUED, JobState.HELD)


class AnyWeather(RuleBasedStateMachine):
    """A manager that loses answers, hosts and jobs, and reports late and twice; what it truly runs is kept apart."""

    shared = False
    elastic = ElasticSettings()
    licences: ClassVar[dict[str, int]] = {}

    @initialize(staging=st.sampled_from([0.0, 2.0]))
    def begin(self, staging: float) -> None:
        self.core = Coscheduler(
            settings(
                attempts=1000,
                starts=1000,
                start_grace=4.0,
                staging=staging,
                search_start=_SEARCH_START,
                share_hosts=self.shared,
                elastic=self.elastic,
                licences=self.licences,
            )
        )
        self.time = 0.0
        self.outcomes: list[Any] = []
        self.writer = RecordingWriter()
        self.recording: list[str] = []
        self.a_new_recording_begins()
        self.ended: dict[str, TaskState] = {}
        self.accepted = 0
        self.jobs: dict[str, JobState] = {}  # what the manager truly has
        self.fenced: set[str] = set()
        self.completed: list[str] = []  # tasks whose job truly completed
        self.owner: dict[str, str] = {}
        self.after: dict[str, tuple[str, ...]] = {}  # task → those that it comes after
        self.kept: dict[str, Reservation] = {}
        self.most: int | None = None  # hosts that ann may have
        self.awaited: float | None = None  # since when the search starts
        self.searched: set[str] = set()  # tasks that it has ever looked at
        self.spared: list[str] = []  # attempts that were to be called back and had begun
        self.asked: list[str] = []  # attempts of which the manager was asked why they have not begun
        self.tell(HostsObserved(0.0, self.domain()))

    def domain(self, down: Sequence[int] = ()) -> tuple[Host, ...]:
        return mixed_hosts(3, down=down)

    def tell(self, event: Event) -> None:
        if len(self.outcomes) % 13 == 6:
            self.a_new_recording_begins()
        self.note_search(event)
        outcome = None
        try:
            outcome = self.core.handle(event)
        finally:
            self.recording.append(self.writer.handled(event, outcome))
        self.outcomes.append(outcome)
        for task in outcome.changes.tasks.values():
            assert task.id not in self.ended, "a task that has ended changed"
            if task.status.state.final:
                self.ended[task.id] = task.status.state
        for decision in outcome.decisions:
            match decision:
                case DispatchAttempt(attempt, task):
                    assert attempt.uuid not in self.owner, "one name for two attempts"
                    self.is_alone(attempt)
                    assert attempt.worker or task.id not in self.completed, "a task ran twice"
                    assert not task.status.held_by, "a held task left"
                    before = [self.ended.get(name) for name in self.after.get(task.id, ())]
                    assert all(state is TaskState.COMPLETED for state in before), "it left before those it comes after"
                    if attempt.hosts and task.profile is not None and task.profile.classes:
                        used = {self.core.domain.hosts[host].host_class for host in attempt.hosts}
                        assert task.profile.hardware == "+".join(sorted(used)), "judged by other hosts"
                        assert math.isfinite(task.profile.on(attempt.count))
                    self.runs_into_nothing(attempt.hosts, event.time, event.time + (attempt.predicted or 0.0))
                    self.waits_for_the_search(attempt, task, event.time)
                    self.owner[attempt.uuid] = task.id
                    self.fits(attempt)
                    self.keeps_to_the_share(attempt)
                case CancelAttempt():
                    self.is_cancelled(decision)
                case DiagnoseAttempt(uuid):
                    self.asked.append(uuid)
                case LocateAttempt() | Replan():
                    pass

    def is_alone(self, attempt: Attempt) -> None:
        mine = [uuid for uuid, owner in self.owner.items() if owner == attempt.task]
        assert not any(self.jobs.get(uuid) in ALIVE for uuid in mine), "a second live attempt"

    def note_search(self, event: Event) -> None:
        match event:
            case ScheduleImproved(plan=plan):
                self.awaited = None
                self.searched |= set(plan.tasks)
            case SearchAwaited(time) if self.awaited is None:
                self.awaited = time

    def waits_for_the_search(self, attempt: Attempt, task: Task, time: float) -> None:
        if self.awaited is None or task.profile is None or attempt.worker or not self.core.settings.staging:
            return
        known = task.id in self.searched or task.id in self.owner.values()
        known = known or task.stage is not None  # the places of a chain were found when it came in
        assert known or time >= self.awaited + _SEARCH_START, "it left before the search that starts has answered"

    def is_worker(self, uuid: str) -> bool:
        """A machine of elastic tasks knows workers."""
        return False

    def fits(self, attempt: Attempt) -> None:
        """A machine of shared hosts asks for more."""

    def keeps_to_the_share(self, attempt: Attempt) -> None:
        if attempt.worker and not attempt.loan:
            return  # its lead is charged for promised hosts
        live, owner = self.core.attempts.values(), self.core.tasks[attempt.task].owner
        taken = sum(each.charged_hosts for each in live if self.core.tasks[each.task].owner == owner)
        assert owner != "ann" or self.most is None or taken <= self.most + 1e-6, "more hosts than the share allows"

    def is_cancelled(self, cancel: CancelAttempt) -> None:
        begun = (JobState.RUNNING, JobState.COMPLETED, JobState.FAILED)
        if cancel.unless_begun and self.jobs.get(cancel.attempt) in begun:
            self.spared.append(cancel.attempt)
        else:
            self.is_fenced(cancel.attempt)

    def is_fenced(self, uuid: str) -> None:
        self.fenced.add(uuid)
        if self.jobs.get(uuid) in (JobState.QUEUED, JobState.RUNNING, JobState.HELD):
            self.jobs[uuid] = JobState.REMOVED

    def runs_into_nothing(self, hosts: Sequence[str], start: float, end: float) -> None:
        for each in self.kept.values():
            apart = end <= each.begin + 1e-6 or start >= each.end - 1e-6
            assert apart or not set(hosts) & set(each.hosts), "it runs into a reservation"

    def later(self) -> float:
        self.time += 0.7
        return self.time

    def pick(self, number: int, among: list[str]) -> str:
        return sorted(among)[number % len(among)]

    @rule(
        seconds=st.one_of(st.none(), st.lists(st.sampled_from([1.0, 3.0, 9.0, math.inf]), min_size=1, max_size=4)),
        after=st.sets(st.integers(1, 20), max_size=2),
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
    )
    def submit(self, seconds: list[float] | None, after: set[int], due: float | None, owner: str) -> None:
        if seconds is not None and not any(map(math.isfinite, seconds)):
            return
        before = tuple(str(number) for number in sorted(after) if number <= self.accepted)
        if any(self.ended.get(name, TaskState.COMPLETED) is not TaskState.COMPLETED for name in before):
            return  # refused before the core hears of it
        self.accepted += 1
        self.after[str(self.accepted)] = before
        deadline = None if due is None else self.time + due
        task = a_task(self.accepted, seconds, submitted=self.time, after=before, deadline=deadline, owner=owner)
        self.tell(TaskSubmitted(self.later(), task))

    @rule(
        fast=st.lists(st.sampled_from([1.0, 2.0]), min_size=3, max_size=3),
        slow=st.lists(st.sampled_from([3.0, 9.0]), min_size=3, max_size=3),
    )
    def submit_where_classes_differ(self, fast: list[float], slow: list[float]) -> None:
        self.accepted += 1
        self.tell(TaskSubmitted(self.later(), on_both(self.accepted, fast, slow, submitted=self.time)))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99), arrives=st.booleans(), answered=st.booleans())
    def the_submit_happens(self, number: int, arrives: bool, answered: bool) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        if arrives or answered:
            self.jobs[uuid] = JobState.REMOVED if uuid in self.fenced else JobState.QUEUED
        if answered:
            self.tell(AttemptSubmitted(self.later(), uuid, "1.0"))
        else:
            self.tell(SubmitFailed(self.later(), uuid, "timed out", transient=True))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99))
    def the_manager_is_full(self, number: int) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        self.jobs[uuid] = JobState.REMOVED
        self.tell(SubmitFailed(self.later(), uuid, "full", transient=True, refused=True))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99))
    def absent_after_the_grace_and_fenced(self, number: int) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        self.fenced.add(uuid)
        self.jobs[uuid] = JobState.REMOVED  # whatever arrives later finds the fence
        self.tell(AttemptAbsent(self.later(), uuid))

    @precondition(lambda self: any(uuid not in self.jobs for uuid in self.owner))
    @rule(number=st.integers(0, 99))
    def missing_after_the_grace(self, number: int) -> None:
        uuid = self.pick(number, [uuid for uuid in self.owner if uuid not in self.jobs])
        self.tell(AttemptMissing(self.later(), uuid))

    @precondition(lambda self: any(s in (JobState.QUEUED, JobState.RUNNING) for s in self.jobs.values()))
    @rule(number=st.integers(0, 99), to=st.sampled_from([JobState.RUNNING, JobState.COMPLETED, JobState.FAILED]))
    def a_job_goes_on(self, number: int, to: JobState) -> None:
        uuid = self.pick(number, [u for u, s in self.jobs.items() if s in (JobState.QUEUED, JobState.RUNNING)])
        self.jobs[uuid] = to
        if to is JobState.COMPLETED and not self.is_worker(uuid):
            assert self.owner[uuid] not in self.completed, "a task ran twice"
            self.completed.append(self.owner[uuid])

    @precondition(lambda self: bool(self.spared))
    @rule(number=st.integers(0, 99))
    def the_manager_says_that_it_has_begun(self, number: int) -> None:
        self.tell(AttemptBegun(self.later(), self.pick(number, self.spared)))

    @precondition(lambda self: bool(self.asked))
    @rule(number=st.integers(0, 99), verdict=st.sampled_from(StartVerdict))
    def the_manager_says_why_it_has_not_begun(self, number: int, verdict: StartVerdict) -> None:
        uuid = self.pick(number, self.asked)
        self.tell(AttemptDiagnosed(self.later(), uuid, StartDiagnosis(verdict, "why")))

    @precondition(lambda self: bool(self.jobs))
    @rule(number=st.integers(0, 99), more=st.booleans())
    def the_manager_reports(self, number: int, more: bool) -> None:
        uuid = self.pick(number, list(self.jobs))
        report = JobReport(uuid, self.jobs[uuid], started=1.0, finished=2.0, exit_code=0)
        self.tell(JobReported(self.later(), report, more))

    @precondition(lambda self: JobState.RUNNING in self.jobs.values())
    @rule(number=st.integers(0, 99))
    def a_host_is_lost(self, number: int) -> None:
        uuid = self.pick(number, [u for u, s in self.jobs.items() if s is JobState.RUNNING])
        self.tell(JobReported(self.later(), JobReport(uuid, JobState.EVICTED, reason="host lost")))

    @precondition(lambda self: bool(self.owner))
    @rule(number=st.integers(0, 99))
    def an_old_report_comes_late(self, number: int) -> None:
        uuid = self.pick(number, list(self.owner))
        if self.jobs.get(uuid) in (JobState.COMPLETED, JobState.RUNNING):
            self.tell(JobReported(self.later(), JobReport(uuid, JobState.QUEUED)))

    @rule(number=st.integers(1, 20))
    def cancel(self, number: int) -> None:
        self.tell(CancelRequested(self.later(), str(number)))

    @rule(number=st.integers(1, 20))
    def hold(self, number: int) -> None:
        before = self.core.tasks.get(str(number))
        self.tell(HoldRequested(self.later(), str(number), "ann"))
        held = self.core.tasks.get(str(number))
        if before is not None and before.status.state is TaskState.QUEUED:
            assert held is not None
            assert held.status.held_by == "ann"
        else:
            assert held == before

    @rule(number=st.integers(1, 20))
    def release(self, number: int) -> None:
        self.tell(ReleaseRequested(self.later(), str(number), "ann"))

    @rule(number=st.integers(1, 20), due=st.one_of(st.none(), st.floats(0.0, 20.0)), name=st.sampled_from([None, "n"]))
    def edit(self, number: int, due: float | None, name: str | None) -> None:
        before = self.core.tasks.get(str(number))
        time = self.later()
        edit = TaskEdit(name, None if due is None else time + due, without_deadline=due is None)
        self.tell(EditRequested(time, str(number), edit, "ann"))
        if before is not None and before.status.state is not TaskState.QUEUED:
            assert str(number) not in self.outcomes[-1].changes.tasks, "a task was changed that had left"

    @rule(down=st.sets(st.integers(1, 3)))
    def hosts_come_and_go(self, down: set[int]) -> None:
        self.tell(HostsObserved(self.later(), self.domain(down=sorted(down)), self.core.domain.loads))

    @rule(parts=st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=3, max_size=3))
    def owners_come_more_or_less_often(self, parts: list[float]) -> None:
        loads = {
            f"node{place:02d}": HostLoad(part / (1 - part) / 4.0, 4.0, 32.0)
            for place, part in enumerate(parts, 1)
            if part
        }
        self.tell(HostsObserved(self.later(), tuple(self.core.domain.hosts.values()), loads))

    @rule(
        order=st.permutations([str(n) for n in range(1, 6)]),
        count=st.integers(0, 5),
        kind=st.sampled_from(["", "fast", "slow", "gone"]),
    )
    def the_search_says(self, order: list[str], count: int, kind: str) -> None:
        kinds = (kind,) * len(order)
        self.tell(ScheduleImproved(self.later(), TaskPlan(tuple(order), (count,) * len(order), kinds)))

    @rule()
    def the_search_starts(self) -> None:
        self.tell(SearchAwaited(self.later()))

    @rule(hosts=st.sets(st.integers(1, 3), min_size=1), begin=st.floats(-5, 20), length=st.floats(0.1, 30))
    def hosts_are_reserved(self, hosts: set[int], begin: float, length: float) -> None:
        names = tuple(f"node{number:02d}" for number in sorted(hosts))
        time = self.later()
        each = Reservation(f"r{len(self.outcomes)}", names, time + begin, time + begin + length)
        self.kept[each.id] = each
        self.tell(HostsReserved(time, each))

    @precondition(lambda self: bool(self.kept))
    @rule(number=st.integers(0, 99))
    def a_reservation_is_released(self, number: int) -> None:
        name = self.pick(number, list(self.kept))
        del self.kept[name]
        self.tell(ReservationReleased(self.later(), name))

    @rule(
        hosts=st.sampled_from([None, 1, 2]), budget=st.sampled_from([None, 0.002]), weight=st.sampled_from([1.0, 9.0])
    )
    def the_domain_is_divided(self, hosts: int | None, budget: float | None, weight: float) -> None:
        self.most = hosts
        users = {"ann": Share(weight, budget, hosts)}
        self.tell(SharesChanged(self.later(), Shares(half_life=50.0, window=20.0, users=users)))

    @rule()
    def a_new_recording_begins(self) -> None:
        self.recording.append(self.writer.start(self.core.settings, self.time, self.core.snapshot()))

    @rule(available=st.booleans(), offer_on_time=st.booleans())
    def neighbours_come_and_go(self, available: bool, offer_on_time: bool) -> None:
        self.tell(NeighboursChanged(self.later(), available, offer_on_time))

    @rule()
    def time_goes_by(self) -> None:
        self.time += 5.0
        self.tell(Tick(self.later()))

    @invariant()
    def no_host_has_two_attempts(self) -> None:
        taken = [
            host
            for attempt in self.core.attempts.values()
            if attempt.state is not AttemptState.HELD
            for host in attempt.hosts
        ]
        assert len(taken) == len(set(taken))

    @invariant()
    def every_accepted_task_lives_or_has_ended(self) -> None:
        known = set(self.core.tasks) | set(self.ended)
        assert known == {str(number) for number in range(1, self.accepted + 1)}

    @invariant()
    def a_live_task_waits_or_has_one_attempt(self) -> None:
        for name, task in self.core.tasks.items():
            waits = task.status.state is TaskState.QUEUED
            assert waits == (self.core.attempt_of(name) is None)

    @invariant()
    def a_held_task_is_in_no_plan(self) -> None:
        planned = set(self.core.plan.tasks)
        assert not any(task.status.held_by and name in planned for name, task in self.core.tasks.items())
        waiting = {
            name
            for name, task in self.core.tasks.items()
            if task.status.state is TaskState.QUEUED and task.profile is not None and not task.status.held_by
        }
        assert planned == waiting

    @invariant()
    def nobody_waits_for_what_will_never_have_completed(self) -> None:
        for name, task in self.core.tasks.items():
            for other in task.spec.after:
                assert self.ended.get(other, TaskState.COMPLETED) is TaskState.COMPLETED
            assert self.core.predecessors(name) == tuple(other for other in task.spec.after if other not in self.ended)

    @invariant()
    def the_plan_keeps_to_the_order(self) -> None:
        forecast = self.core.planning_view.forecast(self.time)
        if forecast is None:
            return
        assert check_schedule(*forecast) == []
        for spot in forecast[1].assignments:
            self.runs_into_nothing(spot.hosts, self.time + spot.start, self.time + spot.end)
        starts = {spot.task: spot.start for spot in forecast[1].assignments}
        for name, start_of in starts.items():
            running = [self.core.attempt_of(other) for other in self.core.predecessors(name)]
            ends = [expected_end(attempt, self.time) for attempt in running if attempt is not None]
            assert all(self.time + start_of >= end - 1e-6 for end in ends), (
                "planned before those it comes after have ended"
            )

    def teardown(self) -> None:
        if not hasattr(self, "recording"):
            return
        failing = isinstance(sys.exc_info()[1], Exception)  # Hypothesis ends a run by others
        try:
            if not failing:
                self.replays()
        except AssertionError:
            failing = True
            raise
        finally:
            if failing:
                path = Path(tempfile.gettempdir(), "cosched-any-weather.jsonl")
                path.write_text("".join(self.recording))
                note(f"see `cosched replay {path}`")

    def replays(self) -> None:
        """Replay the run: whole, from the middle on or redacted, each as often as the others."""
        match len(self.outcomes) % 3:
            case 0:
                again = replayed("".join(self.recording))
                assert [each.outcome for each in again] == self.outcomes, "a replay went another way"
                assert all(each.same for each in again)
            case 1:
                self.goes_on_from_the_middle()
            case _:
                entries = read_recording(io.BytesIO("".join(self.recording).encode()), "run")
                hidden = replayed("".join(map(RecordingWriter(redacted=True).again, entries)))
                same = [each.same for each in hidden]
                assert same == [True] * len(self.outcomes), "a redacted recording went another way"

    def goes_on_from_the_middle(self) -> None:
        starts = [place for place, text in enumerate(self.recording) if text.startswith('{"recording"')]
        middle = starts[len(starts) // 2]
        rest = [text for place, text in enumerate(self.recording) if place > middle and place not in starts]
        later = replayed(self.recording[middle] + "".join(rest))
        assert [each.outcome for each in later] == self.outcomes[len(self.outcomes) - len(later) :]


AnyWeather.TestCase.settings = hypothesis_settings(max_examples=examples(15), stateful_step_count=40, deadline=None)
TestAnyWeather = AnyWeather.TestCase
