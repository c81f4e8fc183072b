"""The core in any weather with elastic tasks: no host with two tenants, no worker without its lead, promises kept."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from cosched.connector.jobs import JobReport, JobState
from cosched.coscheduler.attempts.attempt import AttemptState
from cosched.coscheduler.changes import DispatchAttempt
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.values import ElasticSettings, WorkerOverhead
from cosched.coscheduler.elastic.wishes import staying
from cosched.coscheduler.events import (
    AttemptSubmitted,
    HostsObserved,
    HostsWished,
    JobReported,
    LeadAnnounced,
    OverheadsMeasured,
    ResizeWished,
    SpeedsMeasured,
    TaskSubmitted,
    Tick,
    WorkerDrained,
    WorkerRefused,
    WorkReported,
)
from cosched.prediction.loads.host_load import HostLoad
from tests.coscheduler.makers import elastic_task, hosts, mixed_hosts, restart_task
from tests.coscheduler.places.test_licences import Licensed
from tests.coscheduler.test_any_weather import ALIVE, AnyWeather
from tests.exploring import examples

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cosched.connector.hosts import Host
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.events import Event

SPEEDS = (90.0, 45.0, 30.0)
_NO_LICENCES: Mapping[str, int] = {}


def in_clusters(there: Sequence[Host]) -> tuple[Host, ...]:
    """Return hosts of two clusters, and every third of none that is known."""
    return tuple(replace(host, cluster=("north", "south", "")[place % 3]) for place, host in enumerate(there))


class ElasticWeather(AnyWeather):
    """Leads and programs say things late, twice or never, and workers and leads are lost."""

    elastic = ElasticSettings(payback=0.5, settle=1.0)

    @initialize(staging=st.sampled_from([0.0, 2.0]))
    def begin(self, staging: float) -> None:
        self.workers: dict[str, str] = {}  # worker → its lead
        self.said: list[Event] = []
        self.measured = False  # whether a worker may be slow, so that another host is promised in place of its own
        super().begin(staging)

    def tell(self, event: Event) -> None:
        before = {uuid: attempt.lead for uuid, attempt in self.core.attempts.items() if attempt.lead is not None}
        super().tell(event)
        for uuid, lead in before.items():
            after = self.core.attempts.get(uuid)
            if after is not None:
                assert after.lead is not None
                if after.lead.whole_chain:
                    continue  # each stage has hosts of its own
                if len(after.lead.promised) < len(lead.promised):  # nobody but its user has it give hosts up
                    assert after.lead.ceiling is not None, "a promise was taken back"
                    assert len(after.reckoned_hosts) >= after.lead.ceiling
                    assert set(after.lead.promised) < set(lead.promised)
                    continue
                for host in self.replaced(lead.promised, after.lead.promised):
                    worse = self.lost(host) > self.lost(after.hosts[0])
                    assert self.measured or worse, "a promise was changed"
                assert after.lead.revision >= lead.revision

    def replaced(self, before: Sequence[str], after: Sequence[str]) -> set[str]:
        """Return the promised hosts for which others are promised now, one for each."""
        assert len(set(after)) == len(before), "a promise was made or taken back"
        return set(before) - set(after)

    def lost(self, host: str) -> float:
        load = self.core.domain.loads.get(host)
        return 0.0 if load is None else load.lost

    def is_alone(self, attempt: Attempt) -> None:
        if not attempt.worker:
            super().is_alone(attempt)
            return
        lead = self.core.attempt_of(attempt.task)
        assert lead is not None
        assert lead.state is not AttemptState.CANCELLING, "a worker began for a lead that ends"
        assert lead.lead is not None
        assert attempt.loan or attempt.hosts[0] in lead.lead.promised
        task = self.core.tasks[attempt.task]
        assert task.profile is not None
        assert 1 + len(self.core.workers_of(attempt.task)) <= len(task.profile.seconds), "more hosts than it may have"
        away = self.core.elastic.bad_hosts.avoided(attempt.task, self.time)
        assert not attempt.loan or attempt.hosts[0] not in away, "it was lent a host that it keeps away from"
        if attempt.loan and lead.lead.most is not None:
            assert 1 + len(self.core.workers_of(attempt.task)) <= lead.lead.most, "more hosts than it has a use for"
        if lead.lead.enough is not None:
            stay = staying(self.core.workers_of(attempt.task))
            assert 1 + len(stay) <= lead.lead.enough, "a worker that found no work was replaced"
        self.workers[attempt.uuid] = lead.uuid

    def is_worker(self, uuid: str) -> bool:
        return uuid in self.workers

    @rule(
        seconds=st.sampled_from([SPEEDS, SPEEDS[:2], (math.inf, *SPEEDS[1:])]),
        needs_lead=st.booleans(),
        due=st.one_of(st.none(), st.floats(0.0, 20.0)),
        owner=st.sampled_from(["ann", "bob"]),
    )
    def submit_elastic(
        self,
        seconds: tuple[float, ...],
        needs_lead: bool,
        due: float | None,
        owner: str,
        licences: Mapping[str, int] = _NO_LICENCES,
    ) -> None:
        self.accepted += 1
        deadline = None if due is None else self.time + due
        task = elastic_task(
            self.accepted,
            seconds,
            submitted=self.time,
            deadline=deadline,
            owner=owner,
            needs_lead=needs_lead,
            grace=6.0,
            licences=dict(licences),
        )
        self.tell(TaskSubmitted(self.later(), task))

    def leads(self) -> list[str]:
        return sorted(uuid for uuid, attempt in self.core.attempts.items() if attempt.lead is not None)

    def say(self, event: Event) -> None:
        self.said.append(event)
        self.tell(event)

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99), drains=st.booleans())
    def a_lead_announces_itself(self, number: int, drains: bool) -> None:
        self.say(LeadAnnounced(self.later(), self.pick(number, self.leads()), "here", drains=drains))

    @precondition(lambda self: bool(self.workers))
    @rule(number=st.integers(0, 99), worker=st.integers(1, 9), drained=st.booleans())
    def a_lead_speaks_of_a_worker(self, number: int, worker: int, drained: bool) -> None:
        lead = self.workers[self.pick(number, list(self.workers))]
        time = self.later()
        self.say(WorkerDrained(time, lead, worker) if drained else WorkerRefused(time, lead, worker, "not now"))

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99), fraction=st.floats(0.001, 1.0))
    def a_lead_tells_how_far_it_is(self, number: int, fraction: float) -> None:
        self.say(WorkReported(self.later(), self.pick(number, self.leads()), fraction))

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99), most=st.none() | st.integers(1, 6))
    def a_lead_wishes_for_hosts(self, number: int, most: int | None) -> None:
        self.say(HostsWished(self.later(), self.pick(number, self.leads()), most))

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99), least=st.integers(1, 6), most=st.none() | st.integers(1, 6))
    def a_user_wishes_for_hosts(self, number: int, least: int, most: int | None) -> None:
        self.say(ResizeWished(self.later(), self.pick(number, self.leads()), least, most))

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99), slow=st.integers(0, 9), again=st.booleans())
    def a_lead_measures_its_workers(self, number: int, slow: int, again: bool) -> None:
        self.measured = True
        lead = self.pick(number, self.leads())
        speeds = tuple((worker, 0.2 if worker == slow else 1.0) for worker in range(10))
        self.say(SpeedsMeasured(self.later(), lead, speeds))
        if again and lead in self.leads():
            self.time += 6.0
            self.say(SpeedsMeasured(self.later(), lead, speeds))

    @precondition(lambda self: bool(self.leads()))
    @rule(number=st.integers(0, 99), part=st.sampled_from([0.2, 0.4, 0.9]), far=st.integers(0, 2), again=st.booleans())
    def a_lead_measures_how_its_workers_spend_their_time(self, number: int, part: float, far: int, again: bool) -> None:
        self.measured = True
        lead = self.pick(number, self.leads())
        overheads = tuple(WorkerOverhead(worker, 0.1, 0.0, part if worker % 3 == far else 0.0) for worker in range(10))
        self.say(OverheadsMeasured(self.later(), lead, overheads))
        if again and lead in self.leads():
            self.time += 6.0
            self.say(OverheadsMeasured(self.later(), lead, overheads))

    @precondition(lambda self: bool(self.said))
    @rule(number=st.integers(0, 99))
    def what_was_said_comes_again(self, number: int) -> None:
        self.tell(self.said[number % len(self.said)])

    def domain(self, down: Sequence[int] = ()) -> tuple[Host, ...]:
        return in_clusters(mixed_hosts(5, down=down))

    def used(self) -> list[str]:
        """Return the hosts of running leads and workers, and of programs that checkpoint."""
        return sorted({host for name in self.core.tasks for each in self.of(name) for host in each.hosts})

    def of(self, name: str) -> list[Attempt]:
        lead = self.core.attempt_of(name)
        return [] if lead is None or lead.lead is None else [lead, *self.core.workers_of(name)]

    @precondition(lambda self: bool(self.used()))
    @rule(number=st.integers(0, 99), mean=st.sampled_from([1.0, 4.0]))
    def the_owner_of_a_host_comes_back(self, number: int, mean: float) -> None:
        loads = {self.pick(number, self.used()): HostLoad(3 / mean, mean, 2 * mean**2)}
        self.tell(HostsObserved(self.later(), tuple(self.core.domain.hosts.values()), loads))

    @rule()
    def the_manager_starts_all_that_it_was_given(self) -> None:
        for uuid in [uuid for uuid in self.owner if uuid not in self.jobs and uuid not in self.fenced]:
            self.jobs[uuid] = JobState.QUEUED
            self.tell(AttemptSubmitted(self.later(), uuid, "1.0"))
        for uuid in [uuid for uuid, state in self.jobs.items() if state is JobState.QUEUED]:
            if self.jobs[uuid] is JobState.QUEUED:
                self.jobs[uuid] = JobState.RUNNING
                time = self.later()
                self.tell(JobReported(time, JobReport(uuid, JobState.RUNNING, started=time)))

    @rule()
    def much_time_goes_by(self) -> None:
        self.time += 15.0
        self.tell(Tick(self.later()))

    @invariant()
    def loans_in_the_way_of_a_start_leave(self) -> None:
        """What the same core without loans would start now starts beside them, or some of them leave for it."""
        if self.core.fair_shares.tree is not None or not any(each.loan for each in self.core.attempts.values()):
            return  # loans count at limits of users
        snapshot = self.core.snapshot()
        alone = replace(snapshot, attempts=tuple(each for each in snapshot.attempts if not each.loan))
        beside, without = (Coscheduler.from_snapshot(self.core.settings, each) for each in (snapshot, alone))
        wanted, begun = (
            {
                each.attempt.task
                for each in core.handle(Tick(self.time)).decisions
                if isinstance(each, DispatchAttempt) and not each.attempt.worker
            }
            for core in (without, beside)
        )
        kept_back = {task for task in wanted - begun if beside.owner_is_limited(task, self.time)}  # and at these
        loans = [each for each in beside.attempts.values() if each.loan]
        leave = any(each.leave_by or each.state is AttemptState.CANCELLING for each in loans)
        assert leave or wanted <= begun | kept_back, f"loans stay where {wanted - begun} could start"

    @invariant()
    def workers_have_a_live_lead(self) -> None:
        for attempt in self.core.attempts.values():
            if attempt.worker:
                lead = self.core.attempt_of(attempt.task)
                assert lead is not None
                assert lead.uuid == self.workers[attempt.uuid]

    @invariant()
    def workers_of_a_lead_that_ends_are_being_ended(self) -> None:
        for name in self.core.tasks:
            lead = self.core.attempt_of(name)
            if lead is not None and lead.state is AttemptState.CANCELLING:
                assert all(each.state is AttemptState.CANCELLING for each in self.core.workers_of(name))

    @invariant()
    def no_worker_outlives_its_task(self) -> None:
        for uuid in self.workers:
            if uuid not in self.core.attempts:
                assert self.jobs.get(uuid) not in ALIVE, "it is thought to have ended and has not"

    @invariant()
    def promised_workers_are_not_told_to_leave(self) -> None:
        assert not any(each.worker and not each.loan and each.leave_by for each in self.core.attempts.values())

    @invariant()
    def nobody_leaves_for_longer_than_the_grace(self) -> None:
        for each in self.core.attempts.values():
            late = each.leave_by is not None and self.time > each.leave_by
            assert not late or each.state is AttemptState.CANCELLING

    @invariant()
    def promised_hosts_are_nobody_elses(self) -> None:
        for uuid in self.leads():
            lead = self.core.attempts[uuid]
            if lead.state is AttemptState.HELD:
                continue
            others = [each for each in self.core.attempts.values() if each.task != lead.task]
            taken = {host for each in others if each.takes_hosts for host in each.reckoned_hosts}
            assert taken.isdisjoint(lead.reckoned_hosts)


class ElasticWithLicences(Licensed, ElasticWeather):
    """Leads hold licences of the domain, and their workers none beside."""

    @rule(
        licences=st.sampled_from([{"matlab": 1}, {"matlab": 2}, {"ansys": 1, "matlab": 1}]),
        due=st.none() | st.floats(0.0, 20.0),
    )
    def submit_elastic_with_licences(self, licences: dict[str, int], due: float | None) -> None:
        self.submit_elastic(SPEEDS, False, due, "ann", licences)


class RestartWeather(ElasticWeather):
    """Programs checkpoint when they are asked, unasked, too late or never, and are run again on other hosts."""

    @rule(
        seconds=st.sampled_from([SPEEDS, (math.inf, *SPEEDS[1:]), (95.0, 47.0, 30.0, 22.0, 17.0)]),
        due=st.none() | st.floats(20.0, 200.0),
        force=st.booleans(),
        cost=st.none() | st.floats(0.0, 5.0),
    )
    def submit_restart(self, seconds: tuple[float, ...], due: float | None, force: bool, cost: float | None) -> None:
        self.accepted += 1
        deadline = None if due is None else self.time + due
        fields: dict[str, Any] = {"submitted": self.time, "deadline": deadline, "owner": "ann", "grace": 6.0}
        task = restart_task(self.accepted, seconds, force=force, cost=cost, **fields)
        self.tell(TaskSubmitted(self.later(), task))

    def programs(self) -> list[str]:
        found = [uuid for uuid, each in self.core.attempts.items() if each.lead is not None and each.lead.restarts]
        return sorted(uuid for uuid in found if self.jobs.get(uuid) is JobState.RUNNING)

    @precondition(lambda self: bool(self.programs()))
    @rule(number=st.integers(0, 99), told=st.booleans())
    def a_program_checkpoints(self, number: int, told: bool) -> None:
        uuid = self.pick(number, self.programs())
        self.jobs[uuid] = JobState.FAILED
        if told:  # else the report is lost, and a later one has another code
            time = self.later()
            self.tell(JobReported(time, JobReport(uuid, JobState.FAILED, finished=time, exit_code=85)))

    @precondition(lambda self: any(each.leave_by for each in self.core.attempts.values() if not each.worker))
    @rule()
    def all_that_are_asked_checkpoint(self) -> None:
        for uuid in [uuid for uuid in self.programs() if self.core.attempts[uuid].leave_by is not None]:
            self.jobs[uuid] = JobState.FAILED
            time = self.later()
            self.tell(JobReported(time, JobReport(uuid, JobState.FAILED, finished=time, exit_code=85)))

    @invariant()
    def at_most_one_program_is_asked(self) -> None:
        asked = [each for each in self.core.attempts.values() if each.leave_by is not None and not each.worker]
        assert sum(each.state is AttemptState.RUNNING for each in asked) <= 1

    @invariant()
    def what_is_left_of_a_task_is_a_part_of_it(self) -> None:
        for task in self.core.tasks.values():
            if (known := task.status.restarts) is not None:
                assert 0.0 < known.left <= 1.0
                assert known.count + known.unheeded + known.forced >= 1
                assert known.reading >= 0.0


class OwnersWeather(RestartWeather):
    """Owners come back to hosts on which elastic tasks and programs that checkpoint run already."""

    @initialize(staging=st.sampled_from([0.0, 2.0]))
    def begin(self, staging: float) -> None:
        super().begin(staging)
        self.submit_elastic((math.inf, 450.0), needs_lead=False, due=None, owner="ann")
        self.submit_restart((900.0,), due=None, force=True, cost=1.0)
        for _ in range(2):  # leads and programs first, then workers
            self.much_time_goes_by()
            self.the_manager_starts_all_that_it_was_given()

    def domain(self, down: Sequence[int] = ()) -> tuple[Host, ...]:
        return tuple(
            replace(host, host_class="slow" if place == 6 else "fast")
            for place, host in enumerate(in_clusters(hosts(7, down)))
        )


OwnersWeather.TestCase.settings = hypothesis_settings(max_examples=examples(8), stateful_step_count=20, deadline=None)
TestOwnersWeather = OwnersWeather.TestCase
RestartWeather.TestCase.settings = hypothesis_settings(max_examples=examples(8), stateful_step_count=50, deadline=None)
TestRestartWeather = RestartWeather.TestCase
ElasticWithLicences.TestCase.settings = hypothesis_settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None
)
TestElasticWithLicences = ElasticWithLicences.TestCase
ElasticWeather.TestCase.settings = hypothesis_settings(max_examples=examples(13), stateful_step_count=50, deadline=None)
TestElasticWeather = ElasticWeather.TestCase
