from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.hosts import Host
from cosched.connector.jobs import JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.events import (
    AttemptAbsent,
    CancelRequested,
    HostsObserved,
    HostsReserved,
    ScheduleImproved,
    Tick,
)
from cosched.coscheduler.planning.task_plan import TaskPlan
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.stages.ways import waiting_stages
from cosched.coscheduler.task import TaskState
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies import PolicyName
from tests.coscheduler.makers import (
    a_core,
    a_task,
    complete,
    dispatched,
    hosts,
    report,
    restore,
    settings,
    shared,
    start,
    submit,
)
from tests.coscheduler.stages.makers import a_chain, submit_chain, with_turns

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.stages.stage import StageInChain
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from tests.coscheduler.stages.makers import Way

FINE = (1.0, [("sample", 2, 4.0), ("mark", 1, 2.0), ("examine", 2, 10.0)])
COARSE = (0.9, [("sample", 2, 1.0), ("mark", 1, 2.0), ("examine", 4, 6.0)])


def planned(core: Coscheduler, time: float) -> dict[str, tuple[float, float]]:
    found = core.planning_view.forecast(time)
    return {} if found is None else {spot.task: (spot.start, spot.end) for spot in found[1].assignments}


def stage_of(core: Coscheduler, name: str) -> StageInChain:
    stage = core.tasks[name].stage
    assert stage is not None
    return stage


def test_the_stages_of_the_best_way_run_one_after_another() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE, COARSE, deadline=30.0)))
    assert (first.task, first.count) == ("1", 2)
    assert stage_of(core, "3").guaranteed
    start(core, first, 0.0)
    (second,) = dispatched(complete(core, first, 0.0, 4.0))
    start(core, second, 4.0)
    (third,) = dispatched(complete(core, second, 4.0, 6.0))
    assert (third.task, third.count) == ("3", 2)
    start(core, third, 6.0)
    assert complete(core, third, 6.0, 16.0).changes.tasks["3"].status.state is TaskState.COMPLETED
    assert not core.tasks


def test_nothing_leaves_before_the_whole_chain_is_known() -> None:
    core = a_core(4)
    chain = a_chain(1, FINE, deadline=30.0)
    assert not dispatched(submit(core, chain[0]))
    assert not dispatched(submit(core, chain[1]))
    assert [attempt.task for attempt in dispatched(submit(core, chain[2]))] == ["1"]


def test_the_way_is_taken_that_is_in_time() -> None:
    core = a_core(4)
    submit_chain(core, a_chain(1, FINE, COARSE, deadline=12.0))
    assert [core.tasks[name].spec.command[1:] for name in "123"] == [("sample", "2"), ("mark", "1"), ("examine", "4")]
    assert stage_of(core, "1").way == 1
    assert [core.tasks[name].spec.deadline for name in "123"] == [4.0, 6.0, 12.0]


def test_a_chain_that_is_late_in_every_way_runs_without_a_guarantee() -> None:
    core = a_core(4)
    submit_chain(core, a_chain(1, FINE, COARSE, deadline=5.0))
    assert (stage_of(core, "3").way, stage_of(core, "3").guaranteed) == (1, False)


def test_later_stages_are_planned_and_a_new_task_does_not_make_them_late() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE, deadline=17.0)))
    start(core, first, 0.0)
    assert planned(core, 0.0) == {"2": (4.0, 6.0), "3": (6.0, 16.0)}
    # Due before the chain's last stage: by its deadline alone it would go ahead of it, on all hosts from 4 s on.
    outcome = submit(core, a_task(9, [float("inf")] * 3 + [5.0], deadline=9.0))
    assert not dispatched(outcome)
    assert planned(core, 0.0) == {"2": (4.0, 6.0), "3": (6.0, 16.0), "9": (16.0, 21.0)}


def test_a_task_before_a_guaranteed_stage_takes_no_more_hosts_as_its_deadline_comes_nearer() -> None:
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(1, [math.inf] * 3 + [10.0])))
    start(core, busy, 0.0)
    submit_chain(core, a_chain(2, (1.0, [("work", 3, 10.0)]), deadline=22.0))
    # In time on one host when it comes; on four only, which the chain has no time to wait for, when it may leave.
    submit(core, a_task(3, [10.0, math.inf, math.inf, 6.0], deadline=19.5))
    assert planned(core, 0.0) == {"2": (10.0, 20.0), "3": (10.0, 20.0)}
    leaving = dispatched(complete(core, busy, 0.0, 10.0))
    assert {attempt.task: attempt.count for attempt in leaving} == {"2": 3, "3": 1}


def test_no_plan_is_taken_over_that_breaks_a_guarantee() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE, deadline=17.0)))
    start(core, first, 0.0)
    for number in (10, 11, 12):
        submit(core, a_task(number, [float("inf")] * 3 + [3.0], deadline=8.0))
    before = core.plan
    worse = TaskPlan(("10", "11", "12", "2", "3"), (4, 4, 4, 1, 2))
    core.handle(ScheduleImproved(1.0, worse))
    assert core.plan == before


def test_a_waiting_chain_takes_another_way_for_one_that_comes_later() -> None:
    """Alone the first takes its finest way on all hosts; the second would be late behind it."""
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(1, [float("inf")] * 3 + [5.0])))
    start(core, busy, 0.0)
    wide, narrow = (1.0, [("work", 4, 10.0)]), (0.8, [("work", 2, 12.0)])
    submit_chain(core, a_chain(2, wide, narrow, deadline=20.0))
    assert stage_of(core, "2").way == 0
    submit_chain(core, a_chain(3, (1.0, [("other", 2, 8.0)]), deadline=14.0))
    assert stage_of(core, "2").way == 1
    assert stage_of(core, "2").guaranteed
    assert stage_of(core, "3").guaranteed
    assert planned(core, 0.0) == {"3": (5.0, 13.0), "2": (5.0, 17.0)}


def test_ways_close_when_a_stage_in_which_they_differ_leaves() -> None:
    core = a_core(4)
    other = (0.8, [("sample", 2, 4.0), ("mark", 2, 1.0), ("examine", 1, 9.0)])
    submit_chain(core, a_chain(1, FINE, COARSE, other, deadline=60.0))
    assert stage_of(core, "2").open == (0, 2)
    assert stage_of(core, "3").open == (0, 2)


@pytest.mark.parametrize("named", ["1", "2", "3"])
def test_a_chain_is_cancelled_whole(named: str) -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE)))
    start(core, first, 0.0)
    core.handle(CancelRequested(1.0, named))
    assert {name: task.status.state for name, task in core.tasks.items()} == {"1": TaskState.CANCELLING}


def test_a_stage_that_fails_ends_the_chain() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE)))
    start(core, first, 0.0)
    outcome = report(core, first, JobState.FAILED, 2.0, started=0.0, finished=2.0, exit_code=3)
    states = {name: task.status.state for name, task in outcome.changes.tasks.items()}
    assert states == {"1": TaskState.FAILED, "2": TaskState.CANCELLED, "3": TaskState.CANCELLED}


def test_every_stage_behind_one_that_failed_names_that_one() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE)))
    start(core, first, 0.0)
    ended = report(core, first, JobState.FAILED, 2.0, started=0.0, finished=2.0, exit_code=3).changes.tasks
    assert [ended[name].status.reason for name in "23"] == ["its stage app.sample (task 1) failed: exit code 3"] * 2


def test_stages_of_a_turn_have_their_models_deadlines_from_its_beginning_on() -> None:
    core = a_core(4)
    chain = with_turns(a_chain(1, (1.0, [("a", 1, 3.0), ("b", 1, 1.0)] * 2)), (5.0, 7.0))
    (first,) = dispatched(submit_chain(core, chain))
    start(core, first, 0.0)
    (second,) = dispatched(complete(core, first, 0.0, 3.0))
    start(core, second, 3.0)
    assert [core.tasks[name].spec.deadline for name in "34"] == [None, None]
    complete(core, second, 3.0, 4.5)
    assert [core.tasks[name].spec.deadline for name in "34"] == [9.5, 11.5]


def test_a_turn_begins_with_the_end_of_the_task_that_its_chain_comes_after() -> None:
    core = a_core(4)
    (before,) = dispatched(submit(core, a_task(1, [100.0])))
    way = (1.0, [("sample", 2, 4.0), ("mark", 1, 2.0)])
    submit_chain(core, with_turns(a_chain(2, way, after=("1",)), (7.0, 9.0)))
    start(core, before, 0.0)
    assert core.tasks["2"].spec.deadline is None
    complete(core, before, 0.0, 50.0)
    assert [core.tasks[name].spec.deadline for name in ("2", "3")] == [57.0, 59.0]


def test_an_event_looks_at_no_chain_that_it_does_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    core, looked_at = a_core(4), list[str]()
    for number in (1, 4, 7):
        submit_chain(core, a_chain(number, FINE))

    def counted(state: CoreState, chain: str) -> list[Task]:
        looked_at.append(chain)
        return waiting_stages(state, chain)

    monkeypatch.setattr("cosched.coscheduler.stages.chains.waiting_stages", counted)
    core.handle(Tick(1.0))
    looked_at.clear()  # what the events before have changed
    core.handle(Tick(2.0))
    assert not looked_at
    core.handle(CancelRequested(3.0, "7"))
    core.handle(Tick(4.0))
    assert "1" not in looked_at


def test_a_turn_that_waits_becomes_late() -> None:
    """Its beginning was taken for now as long as it waited, so that it was never late."""
    core = a_core(1)
    chain = with_turns(a_chain(1, (1.0, [("a", 1, 1.0), ("b", 1, 1.0)] * 2)), (3.0, 4.0))
    (first,) = dispatched(submit_chain(core, chain))
    start(core, first, 0.0)
    (second,) = dispatched(complete(core, first, 0.0, 1.0))
    start(core, second, 1.0)
    core.handle(HostsObserved(1.5, hosts(1, down=[1])))
    complete(core, second, 1.0, 2.0)
    core.handle(HostsObserved(12.0, hosts(1, down=[])))
    assert core.tasks["3"].spec.deadline == 5.0


def test_a_chain_behind_a_task_that_failed_names_that_task() -> None:
    core = a_core(4)
    (first,) = dispatched(submit(core, a_task(1)))
    start(core, first, 0.0)
    submit_chain(core, a_chain(2, FINE, after=("1",)))
    ended = report(core, first, JobState.FAILED, 2.0, started=0.0, finished=2.0, exit_code=3).changes.tasks
    assert {ended[name].status.reason for name in "234"} == {"task 1, which it was to come after, failed"}


def test_a_shorter_way_ends_with_its_last_stage() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, (1.0, [("all", 4, 3.0)]), COARSE, deadline=5.0)))
    start(core, first, 0.0)
    outcome = complete(core, first, 0.0, 3.0)
    assert not core.tasks
    assert {task.status.state for task in outcome.changes.tasks.values()} == {TaskState.COMPLETED}


def test_a_restored_core_goes_on_with_the_chain() -> None:
    core = a_core(4)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE, COARSE, deadline=30.0)))
    start(core, first, 0.0)
    other = Coscheduler(settings())
    restore(other, 1.0, tasks=core.tasks.values(), attempts=core.attempts.values())
    other.handle(HostsObserved(1.0, hosts(4)))
    assert [attempt.task for attempt in dispatched(complete(other, first, 0.0, 4.0))] == ["2"]


def test_first_come_first_served_runs_a_chain_and_guarantees_nothing() -> None:
    core = a_core(4, policy=PolicyName.FCFS_MAXIMUM)
    (first,) = dispatched(submit_chain(core, a_chain(1, FINE, deadline=30.0)))
    start(core, first, 0.0)
    assert not stage_of(core, "2").guaranteed
    assert [attempt.task for attempt in dispatched(complete(core, first, 0.0, 4.0))] == ["2"]


def test_a_waiting_chain_takes_another_way_for_a_task_with_a_deadline() -> None:
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(1, [float("inf")] * 3 + [5.0])))
    start(core, busy, 0.0)
    wide, narrow = (1.0, [("work", 4, 10.0)]), (0.8, [("work", 2, 12.0)])
    submit_chain(core, a_chain(2, wide, narrow, deadline=20.0))
    submit(core, a_task(3, [float("inf"), 8.0], deadline=14.0))
    assert (stage_of(core, "2").way, stage_of(core, "2").guaranteed) == (1, True)
    assert planned(core, 0.0) == {"2": (5.0, 17.0), "3": (5.0, 13.0)}


def test_a_chain_takes_another_way_where_a_host_is_lost() -> None:
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(1, [float("inf")] * 3 + [5.0])))
    start(core, busy, 0.0)
    submit_chain(core, a_chain(2, (1.0, [("work", 4, 8.0)]), (0.8, [("work", 2, 12.0)]), deadline=20.0))
    assert stage_of(core, "2").way == 0
    complete(core, busy, 0.0, 5.0)
    (left,) = core.attempts.values()
    core.handle(HostsObserved(5.1, hosts(4, down=[4])))
    report(core, left, JobState.REMOVED, 5.2)
    assert [attempt.count for attempt in core.attempts.values()] == [2]
    assert stage_of(core, "2").way == 1


def behind_a_long_run(*others: Task) -> tuple[Coscheduler, Attempt]:
    """Return a core whose hosts are all taken for 10 s, with a chain behind it that is in time in its coarse way."""
    core = a_core(4)
    (long,) = dispatched(submit(core, a_task(1, (math.inf, math.inf, math.inf, 10.0))))
    start(core, long, 0.0)
    submit_chain(core, a_chain(2, FINE, COARSE, deadline=22.0))
    for other in others:
        submit(core, other)
    stage = stage_of(core, "2")
    assert (stage.quality, stage.guaranteed) == (0.9, True)
    return core, long


def test_a_waiting_chain_takes_a_better_way_where_a_run_ends_sooner_than_predicted() -> None:
    core, long = behind_a_long_run()
    outcome = complete(core, long, 0.0, 5.0)
    (first,) = dispatched(outcome)
    assert (first.task, first.count) == ("2", 2)
    assert {stage_of(core, name).quality for name in ("2", "3", "4")} == {1.0}
    assert stage_of(core, "4").guaranteed
    (said,) = [entry for entry in outcome.changes.log if entry.kind == "better way"]
    assert (said.task, said.detail) == ("2", "quality 1 in place of 0.9: it is in time now")


def test_a_better_way_is_not_taken_where_it_is_late() -> None:
    core, long = behind_a_long_run()
    complete(core, long, 0.0, 9.0)
    assert stage_of(core, "2").quality == 0.9


def test_a_waiting_chain_takes_a_better_way_where_hosts_come() -> None:
    core, _ = behind_a_long_run()
    (first,) = dispatched(core.handle(HostsObserved(1.0, hosts(6))))
    assert (first.task, stage_of(core, "2").quality) == ("2", 1.0)


def test_a_better_way_makes_no_other_guaranteed_chain_late() -> None:
    core, long = behind_a_long_run()
    submit_chain(core, a_chain(5, (1.0, [("sample", 4, 8.0)]), deadline=28.0))
    assert stage_of(core, "5").guaranteed
    complete(core, long, 0.0, 5.0)
    ends = {name: end for name, (_, end) in planned(core, 5.0).items()}
    assert 5.0 + ends["5"] <= 28.0


def test_each_of_many_chains_comes_to_be_looked_at_for_a_better_way() -> None:
    """Only the first four of them were, time and again, though none of these could have any."""
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(1, [float("inf")] * 3 + [3000.0])))
    start(core, busy, 0.0)
    for place in range(40):
        never = (1.0, [("fine", 4, 1e7)]), (0.9, [("coarse", 1, 10.0)])
        submit_chain(core, a_chain(2 + place, *never, deadline=1e6, begin=90_000.0))
    later = (1.0, [("fine", 4, 200.0)]), (0.9, [("coarse", 2, 100.0)])
    submit_chain(core, a_chain(42, *later, deadline=3150.0, begin=2000.0))
    complete(core, busy, 0.0, 5.0)
    assert stage_of(core, "42").quality == 0.9
    for time in range(6, 10):
        core.handle(ScheduleImproved(float(time), core.plan))
    assert stage_of(core, "42").quality == 1.0


def test_a_way_that_has_begun_is_not_left_for_a_better_one() -> None:
    core, long = behind_a_long_run()
    (first,) = dispatched(complete(core, long, 0.0, 9.0))
    start(core, first, 9.0)
    core.handle(HostsObserved(9.5, hosts(12)))
    assert stage_of(core, "3").quality == 0.9


def test_after_a_restart_what_was_guaranteed_is_planned_again() -> None:
    """By arrival the older task, which has no deadline, would go first."""
    core = a_core(4)
    (busy,) = dispatched(submit(core, a_task(1, [float("inf")] * 3 + [5.0])))
    start(core, busy, 0.0)
    submit(core, a_task(2, [float("inf")] * 3 + [30.0]))
    submit_chain(core, a_chain(3, (1.0, [("work", 4, 8.0)]), deadline=20.0))
    assert planned(core, 0.0)["3"] == (5.0, 13.0)
    other = Coscheduler(settings())
    restore(other, 1.0, tasks=core.tasks.values(), attempts=core.attempts.values())
    assert other.plan.tasks == ("2", "3")
    other.handle(HostsObserved(1.0, hosts(4)))
    assert planned(other, 1.0)["3"] == (4.0, 12.0)


def test_a_chain_waits_for_licences_and_is_guaranteed_only_what_they_leave() -> None:
    """A problem of what waits with licences had no row for the stages of a chain that came."""
    core = a_core(4, licences={"matlab": 1})
    (held,) = dispatched(submit(core, a_task(1, [8.0], licences={"matlab": 1})))
    start(core, held, 0.0)
    submit(core, a_task(2, [5.0], licences={"matlab": 1}))
    submit_chain(core, a_chain(3, FINE, COARSE, deadline=15.0, licences={"matlab": 1}))
    assert not stage_of(core, "5").guaranteed  # the first ends at 8 s, and 9 s of the coarse way come after
    submit_chain(core, a_chain(6, FINE, COARSE, deadline=60.0, licences={"matlab": 1}))
    assert stage_of(core, "8").guaranteed
    assert planned(core, 0.0)["6"][0] >= 8.0


def test_a_chain_is_placed_where_others_count_their_slowdown() -> None:
    core = a_core(2, weights=Weights(slowdown=1.0))
    submit(core, a_task(1, [8.0]))
    submit(core, a_task(2, [8.0]))
    submit(core, a_task(3, [8.0]))
    submit_chain(core, a_chain(4, FINE, deadline=100.0))
    assert stage_of(core, "6").guaranteed


def test_a_chain_goes_before_no_task_that_a_guaranteed_one_comes_after() -> None:
    """A plan without an undated task had no place for the chain behind it: its guarantee was forgotten."""
    core = a_core(1)
    (held,) = dispatched(submit(core, a_task(1, [2.0])))
    start(core, held, 0.0)
    submit(core, a_task(2, [5.0]))
    submit_chain(core, a_chain(3, (1.0, [("work", 1, 5.0)]), deadline=12.0, after=("2",)))
    assert stage_of(core, "3").guaranteed
    submit_chain(core, a_chain(4, (1.0, [("work", 1, 5.0)]), deadline=7.0))
    assert not stage_of(core, "4").guaranteed
    assert planned(core, 0.0)["3"] == (7.0, 12.0)


@pytest.mark.parametrize("chained", [True, False])
def test_a_chain_that_a_guaranteed_one_comes_after_makes_no_room_for_others(chained: bool) -> None:
    """The plan in which it took another place had none for the chain behind it: its guarantee was forgotten."""
    core = a_core(2)
    for number in (1, 2):
        (held,) = dispatched(submit(core, a_task(number, [2.0])))
        start(core, held, 0.0)
    submit_chain(core, a_chain(3, (1.0, [("work", 2, 3.0)]), (0.9, [("work", 1, 6.0)]), deadline=12.0))
    submit_chain(core, a_chain(4, (1.0, [("next", 1, 3.0)]), deadline=9.0, after=("3",)))
    assert stage_of(core, "4").guaranteed
    if chained:
        submit_chain(core, a_chain(5, (1.0, [("other", 1, 5.0)]), deadline=8.0))
        assert not stage_of(core, "5").guaranteed
    else:
        submit(core, a_task(5, [5.0], deadline=8.0))
    assert planned(core, 0.0)["4"] == (5.0, 8.0)


@pytest.mark.parametrize("shared", [False, True])
def test_a_chain_that_a_reservation_makes_late_is_guaranteed_nothing(shared: bool) -> None:
    """On shared hosts it was placed as if no host went, and what the decoder then said did not count."""
    core = Coscheduler(settings(share_hosts=shared, margin=0.0))
    size: dict[str, Any] = {"cores": 4, "memory": 8000} if shared else {}
    core.handle(HostsObserved(0.0, tuple(Host(f"node0{number}", **size) for number in range(1, 5))))
    for number in (1, 2):
        core.handle(HostsReserved(0.0, Reservation(f"r{number}", (f"node0{number}",), 4.0, 23.0)))
    chain = a_chain(1, (1.0, [("sample", 1, 3.0), ("mark", 3, 3.0)]), deadline=11.0)
    (way,) = core.ways(chain, 0.0)
    assert (way.end, way.late) == (26.0, 15.0)
    submit_chain(core, chain)
    assert not stage_of(core, "2").guaranteed
    assert planned(core, 0.0)["2"] == (23.0, 26.0)


def test_a_chain_is_told_when_licences_let_it_end() -> None:
    """It was refused with the earliest deadline that hosts allow, and that was refused again."""
    core = a_core(4, licences={"matlab": 1})
    (held,) = dispatched(submit(core, a_task(1, [8.0], licences={"matlab": 1})))
    start(core, held, 0.0)
    (way,) = core.ways(a_chain(2, (1.0, [("sample", 1, 3.0)]), deadline=5.0, licences={"matlab": 1}), 0.0)
    assert (way.end, way.late) == (11.0, 6.0)


def test_a_task_that_the_manager_never_got_makes_no_guaranteed_chain_late() -> None:
    """It came back to the front of the plan, and only reports of jobs had guarantees looked after."""
    core = a_core(1)
    (lost,) = dispatched(submit(core, a_task(1, [5.0])))
    submit_chain(core, a_chain(2, (1.0, [("work", 1, 5.0)]), deadline=10.5))
    assert stage_of(core, "2").guaranteed
    (begun,) = dispatched(core.handle(AttemptAbsent(4.0, lost.uuid)))
    assert begun.task == "2"


@pytest.mark.parametrize("by", ["priority", "shares"])
def test_the_turns_of_users_make_no_guaranteed_chain_late(by: str) -> None:
    """A task exchanged its place with a shorter one that was planned before the chain."""
    core = a_core(1)
    if by == "shares":
        shared(core)
    owner, changes = ("ann", {"priority": 5}) if by == "priority" else ("bob", {})
    (held,) = dispatched(submit(core, a_task(1, [2.0], owner="ann")))
    start(core, held, 0.0)
    submit(core, a_task(2, [3.0], owner="ann"))
    submit_chain(core, a_chain(3, (1.0, [("work", 1, 4.0)]), deadline=9.5, owner="ann"))
    assert stage_of(core, "3").guaranteed
    submit(core, a_task(4, [5.0], owner=owner, **changes))
    submit(core, a_task(5, [5.0], owner="ann"))
    assert planned(core, 0.0)["3"][1] <= 9.5
    assert planned(core, 0.0)["4"][1] <= planned(core, 0.0)["5"][0]


@pytest.mark.parametrize("learnt", [0.98, 1.0, 1.02])
def test_milliseconds_that_runs_have_taught_choose_no_way(learnt: float) -> None:
    """On real pools they led all images of the demonstration along the way that leaves less room for others."""
    first: Way = (1.0, [("sample", 4, 2.0), ("examine", 2, 4.2)])
    second: Way = (1.0, [("sample", 2, 4.0 * learnt + 0.2), ("examine", 4, 2.0 * learnt)])
    core = a_core(4)
    (stage, *_) = dispatched(submit_chain(core, a_chain(1, first, second, deadline=9.5)))
    assert stage.count == 4
    submit_chain(core, a_chain(3, first, second, deadline=9.5), 0.0)
    later = stage_of(core, "3")
    assert (later.way, later.guaranteed) == (1, True), "it fits beside the first alone"


@pytest.mark.parametrize(("ahead", "foreseen"), [(1, [(0.8, 4.0), (1.0, 12.0)]), (2, [(0.8, 15.0), (1.0, 20.0)])])
def test_ways_are_foreseen_by_the_plan_that_the_chain_is_taken_into(
    ahead: int, foreseen: list[tuple[float, float]]
) -> None:
    """Behind one chain without a deadline the quick way is in time; behind two neither, and the less late is taken."""
    core = a_core(2)
    for number in range(ahead):
        waiting = a_chain(1 + 3 * number, (1.0, [("sample", 1, 5.0), ("refine", 2, 3.0), ("sum", 1, 1.0)]))
        (begun,) = dispatched(submit_chain(core, waiting))
        start(core, begun, 0.0)
    fine, coarse = (1.0, [("a", 1, 3.0), ("b", 1, 1.0)] * 2), (0.8, [("a", 1, 1.0), ("b", 1, 1.0)] * 2)
    admission, ways = core.foresee_ways(with_turns(a_chain(11, fine, coarse), (5.0, 7.0)), 0.0)
    assert admission.placed == ways[0]
    assert [(way.quality, way.end) for way in ways] == foreseen
