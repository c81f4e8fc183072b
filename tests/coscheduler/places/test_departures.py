"""Tasks that share hosts leave when they fit in fact, and delay nobody who is planned."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.hosts import Host, HostShare
from cosched.connector.jobs import JobReport, JobState, LaunchMode
from cosched.connector.values import NativeDescription
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.edits import TaskEdit
from cosched.coscheduler.events import (
    AttemptSubmitted,
    EditRequested,
    HostsObserved,
    HostsReserved,
    JobReported,
    SharesChanged,
    TaskSubmitted,
    Tick,
)
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.what_if import predict_placement
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.sharing.shares import Share, Shares
from tests.coscheduler.makers import (
    a_task,
    cancelled,
    complete,
    dispatched,
    report,
    settings,
    start,
    submit,
    with_shapes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.task import Task


def nodes(count: int, **changes: Any) -> tuple[Host, ...]:
    """Return hosts of 8 cores, 16000 MiB and 2 GPUs."""
    return tuple(replace(Host(f"node{n:02d}", memory=16000, cores=8, gpus=2), **changes) for n in range(1, count + 1))


def a_sharing_core(count: int = 1, **changes: Any) -> Coscheduler:
    core = Coscheduler(settings(share_hosts=True, **changes))
    core.handle(HostsObserved(0.0, nodes(count)))
    return core


def a_part(number: int, cores: int, seconds: Sequence[float] = (10.0,), **changes: Any) -> Task:
    needs = {name: changes.pop(name) for name in ("memory", "gpus", "exclusive", "native") if name in changes}
    task = a_task(number, seconds, **changes)
    return replace(task, spec=replace(task.spec, cores=cores, **needs))


def left(core: Coscheduler) -> dict[str, HostShare]:
    return core.domain.left(core.attempts.values())


def test_tasks_run_beside_each_other_as_long_as_they_fit() -> None:
    core = a_sharing_core()
    first, second = (dispatched(submit(core, a_part(number, 4)))[0] for number in (1, 2))
    assert (first.hosts, first.share, first.part) == (("node01",), HostShare(8000, 4, 0), 0.5)
    assert not dispatched(submit(core, a_part(3, 1)))
    start(core, second, 1.0)
    assert left(core) == {"node01": HostShare(0, 0, 2)}
    (third,) = dispatched(complete(core, first, 0.0, 5.0))
    assert (third.task, third.hosts) == ("3", ("node01",))


def test_without_sharing_a_host_has_one_task_whatever_it_asks_for() -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, nodes(1)))
    (attempt,) = dispatched(submit(core, a_part(1, 1)))
    assert (attempt.share, attempt.part) == (None, 1.0)
    assert not dispatched(submit(core, a_part(2, 1)))


def test_a_task_that_names_nothing_has_a_core_for_each_process_and_its_memory() -> None:
    core = a_sharing_core()
    task = a_task(1, [10.0])
    (one,) = dispatched(submit(core, task))
    (four,) = dispatched(submit(core, replace(task, id="2", spec=replace(task.spec, processes_per_host=4))))
    assert (one.share, four.share) == (HostShare(2000, 1, 0), HostShare(8000, 4, 0))


@pytest.mark.parametrize(
    ("needs", "alone"),
    [({"memory": 9000}, True), ({"gpus": 2}, True), ({"gpus": 1}, False), ({"exclusive": True}, True)],
)
def test_each_resource_keeps_others_out(needs: dict[str, Any], alone: bool) -> None:
    core = a_sharing_core()
    (first,) = dispatched(submit(core, a_part(1, 1, **needs)))
    assert bool(dispatched(submit(core, a_part(2, 1, **needs)))) is not alone
    assert first.share is None if "exclusive" in needs else first.share is not None


def test_a_task_with_hosts_for_itself_waits_until_one_is_empty_and_then_keeps_others_off() -> None:
    core = a_sharing_core()
    (small,) = dispatched(submit(core, a_part(1, 1)))
    assert not dispatched(submit(core, a_part(2, 1, exclusive=True)))
    # It would run longer than until the host is empty: the head of the plan is not delayed.
    assert not dispatched(submit(core, a_part(3, 1, [99.0])))
    (whole,) = dispatched(complete(core, small, 0.0, 10.0))
    assert (whole.task, whole.share) == ("2", None)
    assert left(core)["node01"].cores == 0


def test_a_task_that_gives_up_its_hosts_for_itself_leaves_beside_another() -> None:
    core = a_sharing_core()
    submit(core, a_part(1, 1))
    assert not dispatched(submit(core, a_part(2, 1, exclusive=True)))
    (beside,) = dispatched(core.handle(EditRequested(1.0, "2", TaskEdit(exclusive=False), "ann")))
    assert (beside.task, beside.share) == ("2", HostShare(2000, 1, 0))
    assert not dispatched(submit(core, a_part(3, 7), time=2.0))
    core.handle(EditRequested(3.0, "3", TaskEdit(exclusive=True), "ann"))
    assert core.tasks["3"].spec.exclusive


def test_a_gap_before_a_planned_task_is_filled_by_one_that_ends_in_time() -> None:
    core = a_sharing_core()
    (running,) = dispatched(submit(core, a_part(1, 6, [10.0])))
    start(core, running, 0.0)
    assert not dispatched(submit(core, a_part(2, 8, [10.0])))  # needs the whole host at 10 s
    assert not dispatched(submit(core, a_part(3, 2, [11.0])))
    (short,) = dispatched(submit(core, a_part(4, 2, [9.0])))
    assert short.task == "4"
    assert not dispatched(submit(core, a_part(5, 1, [1.0])))  # no core is left


def test_a_task_on_several_hosts_takes_the_same_of_each() -> None:
    core = a_sharing_core(3)
    submit(core, a_part(1, 6))
    (wide,) = dispatched(submit(core, a_part(2, 4, [math.inf, 10.0])))
    assert wide.hosts == ("node02", "node03")
    assert {host: share.cores for host, share in left(core).items()} == {"node01": 2, "node02": 4, "node03": 4}


def test_what_others_hold_is_planned_around_and_calls_back_what_no_longer_fits() -> None:
    core = a_sharing_core()
    core.handle(HostsObserved(1.0, nodes(1, claimed=True, others=HostShare(4000, 5, 0))))
    assert not dispatched(submit(core, a_part(1, 4), 1.0))
    (fits,) = dispatched(submit(core, a_part(2, 3), 1.0))
    outcome = core.handle(HostsObserved(2.0, nodes(1, claimed=True, others=HostShare(4000, 6, 0))))
    assert cancelled(outcome) == [fits.uuid]
    assert not cancelled(core.handle(HostsObserved(3.0, nodes(1, claimed=True, others=HostShare(4001, 6, 0)))))


def test_an_attempt_that_runs_is_left_where_others_take_too_much() -> None:
    core = a_sharing_core()
    (runs,) = dispatched(submit(core, a_part(1, 4)))
    start(core, runs, 0.0)
    assert not cancelled(core.handle(HostsObserved(2.0, nodes(1, others=HostShare(0, 8, 0)))))


def test_a_host_that_is_claimed_and_not_explained_is_not_used() -> None:
    core = a_sharing_core()
    core.handle(HostsObserved(1.0, nodes(1, claimed=True)))
    assert not dispatched(submit(core, a_part(1, 1), 1.0))


def test_a_reservation_keeps_the_whole_host() -> None:
    core = a_sharing_core()
    core.handle(HostsReserved(0.0, Reservation("r", ("node01",), 5.0, 50.0)))
    assert not dispatched(submit(core, a_part(1, 1, [10.0])))
    assert dispatched(submit(core, a_part(2, 1, [4.0])))


def test_a_held_job_takes_nothing() -> None:
    core = a_sharing_core()
    (held,) = dispatched(submit(core, a_part(1, 8)))
    start(core, held, 0.0)
    submit(core, a_part(2, 8))
    assert dispatched(report(core, held, JobState.HELD, 1.0, reason="quota"))


def test_limits_of_hosts_count_parts_of_hosts() -> None:
    core = a_sharing_core(4)
    core.handle(SharesChanged(0.0, Shares(users={"ann": Share(hosts=1)})))
    leaving = [bool(dispatched(submit(core, a_part(number, 2, owner="ann")))) for number in range(1, 7)]
    assert leaving == [True] * 4 + [False] * 2
    assert dispatched(submit(core, a_part(9, 8, owner="bob")))


def test_limits_charge_what_they_reckoned_with_before_hosts_were_chosen() -> None:
    """A part of a small host was charged more than it was let in for: users had more hosts than their shares allow."""
    core = Coscheduler(settings(share_hosts=True))
    big, small = nodes(2)
    core.handle(HostsObserved(0.0, (big, replace(small, cores=4))))
    core.handle(SharesChanged(0.0, Shares(users={"ann": Share(hosts=1)})))
    leaving = [dispatched(submit(core, a_part(number, 3, owner="ann"))) for number in (1, 2)]
    assert [attempt.part for attempts in leaving for attempt in attempts] == [(3 / 8 + 3 / 4) / 2]
    assert sum(attempt.charged_hosts for attempt in core.attempts.values()) <= 1.0


def test_users_are_charged_for_the_part_that_they_take() -> None:
    core = a_sharing_core()
    core.handle(SharesChanged(0.0, Shares(half_life=1e9)))
    (attempt,) = dispatched(submit(core, a_part(1, 1, gpus=1, owner="ann")))  # half of the GPUs
    complete(core, attempt, 0.0, 100.0)
    assert core.fair_shares.record("ann").host_seconds == pytest.approx(50.0, rel=1e-3)


def test_it_is_said_what_is_missing_and_who_will_have_it() -> None:
    core = a_sharing_core(2)
    for number, seconds in ((1, 20.0), (2, 60.0)):
        (attempt,) = dispatched(submit(core, a_part(number, 5, [seconds], memory=10000)))
        start(core, attempt, 0.0)
    submit(core, a_part(3, 2, memory=12000))
    submit(core, a_part(4, 1, exclusive=True))
    found = {name: explain(core, name, 0.0) for name in ("3", "4")}
    assert [each and each.waits_for[0] for each in found.values()] == [
        "12000M of memory on one host: node01 has that in 20 s",
        "a host for itself: node01 has that in 30 s",
    ]


def test_a_new_task_is_foreseen_beside_what_runs() -> None:
    core = a_sharing_core()
    submit(core, a_part(1, 4, [50.0]))
    spots = [predict_placement(core, a_part(2, cores), 0.0) for cores in (4, 5)]
    assert [spot and spot.start for spot in spots] == [0.0, 50.0]
    gpu = predict_placement(core, a_part(2, 1, gpus=1), 0.0, [a_part(3, 3, gpus=2)])
    assert gpu is not None
    assert gpu.start == 10.0  # behind one that has a place, and both GPUs


def test_a_core_that_goes_on_knows_what_is_held() -> None:
    core = a_sharing_core()
    submit(core, a_part(1, 7))
    again = Coscheduler.from_snapshot(core.settings, core.snapshot())
    assert left(again) == left(core)
    assert not dispatched(submit(again, a_part(2, 2), 1.0))


def test_tasks_far_down_the_queue_take_what_the_first_ones_cannot_use() -> None:
    core = a_sharing_core(staging=0.0)
    (running,) = dispatched(submit(core, a_part(1, 7, [1000.0])))
    start(core, running, 0.0)
    for number in range(2, 102):
        submit(core, a_part(number, 8, [10.0]), 0.01)
    (small,) = dispatched(submit(core, a_part(200, 1, [5.0]), 0.5)) or dispatched(core.handle(Tick(1.0)))
    assert small.task == "200"


def test_jobs_in_their_managers_words_share_only_what_is_known_of_them() -> None:
    core = a_sharing_core()
    (whole,) = dispatched(submit(core, a_part(1, 0, native=NativeDescription("slurm"))))
    assert whole.share is None


def test_a_host_that_is_not_parted_has_one_task_at_a_time() -> None:
    core = Coscheduler(settings(share_hosts=True))
    slots = [replace(host, name=f"slot{n}@m", cores=4 * n, unparted=True) for n, host in enumerate(nodes(2), 1)]
    core.handle(HostsObserved(0.0, tuple(slots)))
    began = [dispatched(submit(core, a_part(number, cores))) for number, cores in ((1, 2), (2, 2), (3, 1))]
    assert sorted(attempt.hosts for each in began for attempt in each) == [("slot1@m",), ("slot2@m",)]
    assert set(left(core).values()) == {HostShare()}
    (first,) = [attempt for attempt in core.attempts.values() if attempt.task == "1"]
    (next_one,) = dispatched(complete(core, first, 0.0, 5.0))
    assert (next_one.task, next_one.hosts) == ("3", first.hosts)


def test_a_task_waits_for_a_slot_that_has_what_it_asks_for() -> None:
    core = Coscheduler(settings(share_hosts=True))
    small, large = (replace(host, name=f"slot{n}@m", cores=4 * n, unparted=True) for n, host in enumerate(nodes(2), 1))
    core.handle(HostsObserved(0.0, (small, large)))
    (first,) = dispatched(submit(core, a_part(1, 6)))
    assert first.hosts == ("slot2@m",)
    assert dispatched(submit(core, a_part(2, 8), time=1.0)) == []  # the small slot is free, and too small
    (second,) = dispatched(complete(core, first, 0.0, 5.0))
    assert (second.task, second.hosts) == ("2", ("slot2@m",))


@pytest.mark.parametrize(("launch", "slots"), [(LaunchMode.ONCE, 0), (LaunchMode.EACH, 2)])
def test_a_program_that_is_launched_once_on_several_hosts_has_whole_machines(launch: LaunchMode, slots: int) -> None:
    core = Coscheduler(settings(share_hosts=True))
    machines = nodes(2)
    parts = [replace(host, name=f"slot{n}@m", cores=2, unparted=True) for n, host in enumerate(machines, 1)]
    core.handle(HostsObserved(0.0, (*parts, *machines)))
    (attempt,) = dispatched(submit(core, a_part(1, 2, seconds=(math.inf, 10.0), launch=launch)))
    assert sum("@" in host for host in attempt.hosts) == slots


def test_a_task_that_has_hosts_for_itself_takes_parts_only_where_there_is_nothing_else() -> None:
    for parted, expected in ((True, ("node01",)), (False, ("slot1@m",))):
        core = Coscheduler(settings(share_hosts=True))
        slot, node = replace(nodes(1)[0], name="slot1@m", unparted=True), nodes(1)[0]
        core.handle(HostsObserved(0.0, (slot, node) if parted else (slot,)))
        (attempt,) = dispatched(submit(core, a_part(1, 1, exclusive=True)))
        assert attempt.hosts == expected


def test_a_task_says_on_how_many_cores_of_its_hosts_it_ran_once_it_has_ended() -> None:
    core = a_sharing_core(2)
    (part,) = dispatched(submit(core, a_part(1, 4)))
    (whole,) = dispatched(submit(core, a_part(2, 2, exclusive=True)))
    ended = [complete(core, each, 0.0, 5.0).changes.tasks[each.task] for each in (part, whole)]
    assert [(len(task.status.hosts), task.status.host_cores) for task in ended] == [(1, 4), (1, 0)]


def test_a_task_whose_cores_were_chosen_says_which_those_were() -> None:
    core = a_sharing_core()
    (attempt,) = dispatched(submit(core, with_shapes(a_task(1), {2: (20.0,), 8: (4.0,)})))
    assert complete(core, attempt, 0.0, 4.0).changes.tasks["1"].status.host_cores == attempt.cores == 8


@pytest.mark.parametrize(
    ("asked", "shown"), [({"cores": 4}, 4), ({"processes_per_host": 8}, 8), ({"processes_per_host": 1}, 0)]
)
def test_a_task_that_had_whole_hosts_says_what_it_had_asked_for(asked: dict[str, int], shown: int) -> None:
    core = Coscheduler(settings())
    core.handle(HostsObserved(0.0, nodes(1)))
    (attempt,) = dispatched(submit(core, a_task(1, (10.0,), **asked)))
    assert attempt.cores == 0
    assert complete(core, attempt, 0.0, 5.0).changes.tasks["1"].status.host_cores == shown


@pytest.mark.parametrize("shared", [False, True])
def test_of_jobs_that_end_together_the_last_report_has_all_leave_that_fit(shared: bool) -> None:
    core = Coscheduler(settings(share_hosts=shared))
    core.handle(HostsObserved(0.0, nodes(3)))
    first = [attempt for number in (1, 2, 3) for attempt in dispatched(submit(core, a_part(number, 8)))]
    for number in (4, 5, 6):
        assert not dispatched(submit(core, a_part(number, 8)))
    left = []
    for attempt, more in zip(first, (True, True, False), strict=True):
        done = JobReport(attempt.uuid, JobState.COMPLETED, started=0.0, finished=5.0, exit_code=0)
        left.append([each.task for each in dispatched(core.handle(JobReported(5.0, done, more=more)))])
    assert left == [[], [], ["4", "5", "6"]]


def test_what_a_job_frees_is_looked_at_though_the_report_after_it_frees_nothing() -> None:
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, nodes(2)))
    first, second = (attempt for number in (1, 2) for attempt in dispatched(submit(core, a_part(number, 8))))
    assert not dispatched(submit(core, a_part(3, 8)))
    done = JobReport(first.uuid, JobState.COMPLETED, started=0.0, finished=0.1, exit_code=0)
    assert not dispatched(core.handle(JobReported(0.1, done, more=True)))
    begins = JobReported(0.1, JobReport(second.uuid, JobState.RUNNING, started=0.1))
    assert [each.task for each in dispatched(core.handle(begins))] == ["3"]


@pytest.mark.parametrize("begins", [False, True])
def test_a_job_that_the_manager_has_or_begins_has_no_plan_looked_at_on_shared_hosts(begins: bool) -> None:
    """Each look took 26 ms on 256 hosts with 1,131 tasks waiting: seconds for the jobs of one submission."""

    def left_by(core: Coscheduler, time: float) -> list[str]:
        (attempt,) = core.attempts.values()
        report = JobReport(attempt.uuid, JobState.RUNNING, job="1", started=time)
        event = JobReported(time, report) if begins else AttemptSubmitted(time, attempt.uuid, "1")
        return [each.task for each in dispatched(core.handle(event))]

    for shared, time, leaving in ((True, 10.2, []), (True, 10.3, ["2"]), (False, 10.2, ["2"])):
        core = Coscheduler(settings(share_hosts=shared, staging=0.1))
        core.handle(HostsObserved(0.0, nodes(2)))
        core.handle(TaskSubmitted(0.0, a_part(1, 8)))
        assert [each.task for each in dispatched(core.handle(Tick(10.0)))] == ["1"]
        core.handle(TaskSubmitted(10.05, a_part(2, 8, submitted=10.05)))  # to be searched for until 10.15
        assert left_by(core, time) == leaving
        assert leaving or [each.task for each in dispatched(core.handle(Tick(10.25)))] == ["2"]
