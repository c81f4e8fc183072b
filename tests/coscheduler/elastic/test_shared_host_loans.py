"""Elastic tasks on shared hosts: their workers take parts of hosts, which are lent and taken back as whole ones are."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.hosts import Host, HostShare
from cosched.connector.jobs import JobState
from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.promised_ends import promised_ends
from cosched.coscheduler.elastic.shared_host_loans import first_places
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import HostsObserved, HostsReserved, ResizeWished, SharesChanged, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.planning.planning_view import PlanningView
from cosched.coscheduler.planning.task_queue import TaskQueue
from cosched.coscheduler.reservations import Reservation
from cosched.coscheduler.sharing.shares import Share, Shares
from cosched.scheduling.decoding.decoder import decode
from tests.coscheduler.makers import (
    a_task,
    cancelled,
    complete,
    dispatched,
    elastic_task,
    report,
    settings,
    start,
    submit,
    workers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.changes import Outcome
    from cosched.coscheduler.task import Task
    from cosched.scheduling.problem import Problem

SPEEDS = (math.inf, *(12000.0 / count for count in range(2, 13)))


def nodes(count: int = 2, **changes: Any) -> tuple[Host, ...]:
    """Return hosts of 8 cores, 16000 MiB and 2 GPUs."""
    return tuple(replace(Host(f"node{n:02d}", memory=16000, cores=8, gpus=2), **changes) for n in range(1, count + 1))


def elastic(number: int, cores: int, seconds: Sequence[float] = SPEEDS, **needs: Any) -> Task:
    return with_needs(elastic_task(number, seconds), cores=cores, **needs)


def a_part(number: int, cores: int, seconds: Sequence[float] = (10.0,), **needs: Any) -> Task:
    return with_needs(a_task(number, seconds), cores=cores, **needs)


def with_needs(task: Task, **needs: Any) -> Task:
    return replace(task, spec=replace(task.spec, **needs))


def running(task: Task, count: int = 2, hosts: Sequence[Host] = (), **terms: Any) -> tuple[Coscheduler, Attempt]:
    """Return a core with an elastic task that runs on its promised places since 1 s, and its lead."""
    core = Coscheduler(settings(share_hosts=True, elastic=ElasticSettings(**{"settle": 5.0, **terms})))
    core.handle(HostsObserved(0.0, tuple(hosts) or nodes(count)))
    lead, *mine = dispatched(submit(core, task))
    for attempt in (lead, *mine):
        start(core, attempt, 1.0)
    return core, core.attempts[lead.uuid]


def lent(core: Coscheduler, time: float = 7.0) -> list[Attempt]:
    """Return the workers that are lent places now, all of which begin."""
    found = [each for each in workers(core.handle(Tick(time))) if each.loan]
    for each in found:
        start(core, each, time)
    return found


def left(core: Coscheduler) -> dict[str, int]:
    return {host: share.cores for host, share in core.domain.left(core.attempts.values()).items()}


def leaving(core: Coscheduler) -> list[Attempt]:
    return [each for each in core.attempts.values() if each.leave_by is not None]


def removed(core: Coscheduler, gone: Attempt, time: float) -> Outcome:
    return report(core, gone, JobState.REMOVED, time, finished=time)


def test_a_lead_and_its_workers_take_their_part_of_each_promised_host_alone() -> None:
    core, lead = running(elastic(1, 3, SPEEDS[:2]), lending=False)
    (worker,) = core.workers_of("1")
    share = HostShare(6000, 3, 0)
    assert (lead.hosts, lead.share, worker.hosts, worker.share) == (("node01",), share, ("node02",), share)
    assert (lead.charged_hosts, worker.charged_hosts) == (2 * 3 / 8, 0.0)
    assert left(core) == {"node01": 5, "node02": 5}


def test_a_promised_place_is_kept_while_its_worker_is_missing() -> None:
    core, _ = running(elastic(1, 6, SPEEDS[:2]), lending=False)
    (worker,) = core.workers_of("1")
    report(core, worker, JobState.FAILED, 90.0, finished=90.0, exit_code=1)
    assert left(core)["node02"] == 2
    assert not dispatched(submit(core, a_part(2, 3), 90.1))[1:]
    assert [each.hosts for each in core.workers_of("1")] == [("node02",)]


def test_no_worker_is_started_on_a_promised_place_that_others_have_taken() -> None:
    core, _ = running(elastic(1, 6, SPEEDS[:2]), lending=False)
    (worker,) = core.workers_of("1")
    full = replace(nodes(2)[1], claimed=True, others=HostShare(0, 3, 0))
    core.handle(HostsObserved(90.0, (nodes(2)[0], full)))
    report(core, worker, JobState.FAILED, 91.0, finished=91.0, exit_code=1)
    assert not workers(core.handle(Tick(92.0)))
    assert len(workers(core.handle(HostsObserved(93.0, nodes(2))))) == 1


def test_what_is_left_of_hosts_is_lent_several_places_of_one_host_among_it() -> None:
    core, _ = running(elastic(1, 3))
    assert sorted(each.hosts[0] for each in lent(core)) == ["node01", "node02"]
    assert left(core) == {"node01": 2, "node02": 2}
    core, _ = running(elastic(1, 2))
    assert sorted(each.hosts[0] for each in lent(core)) == ["node01"] * 3 + ["node02"] * 3
    assert left(core) == {"node01": 0, "node02": 0}


def test_memory_and_gpus_bind_as_cores_do() -> None:
    core, _ = running(elastic(1, 1, memory=5000))
    assert len(lent(core)) == 4  # three places on each host, of which one is promised
    core, _ = running(elastic(1, 1, gpus=1))
    assert len(lent(core)) == 2


def test_a_task_that_comes_gets_as_many_places_back_as_it_needs() -> None:
    core, _ = running(elastic(1, 2))
    mine = lent(core)
    gone = cancelled(submit(core, a_part(2, 4), 20.0))
    assert len(gone) == 2
    assert len({core.attempts[uuid].hosts for uuid in gone}) == 1
    assert {each.reason for each in leaving(core)} == {f"task 2 starts on {core.attempts[gone[0]].hosts[0]}"}
    assert not cancelled(core.handle(Tick(20.5)))
    first, second = (core.attempts[uuid] for uuid in gone)
    assert not dispatched(removed(core, first, 21.0))
    (new,) = dispatched(removed(core, second, 21.5))
    assert (new.task, new.hosts) == ("2", first.hosts)
    assert len(core.workers_of("1")) == 1 + len(mine) - 2


def test_a_task_that_fits_beside_lent_places_starts_at_once_and_takes_none_back() -> None:
    core, _ = running(elastic(1, 3))
    lent(core)
    (new,) = dispatched(submit(core, a_part(2, 2), 20.0))
    assert new.task == "2"
    assert not leaving(core)


def test_a_task_that_would_go_before_a_wide_one_gets_lent_places_back() -> None:
    """It waited until the wide task had run, as long as places that it could have had were lent."""
    core, _ = running(elastic(1, 2))
    mine = lent(core)
    submit(core, a_part(2, 8, (math.inf, 10.0)), 20.0)  # it needs the promised places, too
    gone = cancelled(submit(core, a_part(3, 4), 21.0))
    assert len(gone) == 2
    assert not dispatched(removed(core, core.attempts[gone[0]], 22.0))
    (new,) = dispatched(removed(core, core.attempts[gone[1]], 23.0))
    assert new.task == "3"
    assert len(core.workers_of("1")) == 1 + len(mine) - 2


def test_a_task_that_wants_a_host_for_itself_gets_all_of_it_back() -> None:
    core, _ = running(elastic(1, 4))
    core.handle(HostsObserved(2.0, nodes(3)))
    mine = [each.uuid for each in lent(core) if each.hosts == ("node03",)]
    assert len(mine) == 2
    gone = cancelled(submit(core, a_part(2, 0, exclusive=True), 20.0))
    assert gone == mine
    assert not dispatched(removed(core, core.attempts[gone[0]], 21.0))
    (new,) = dispatched(removed(core, core.attempts[gone[1]], 21.0))
    assert (new.task, new.hosts, new.share) == ("2", ("node03",), None)


@pytest.mark.parametrize(
    ("seconds", "payback", "count"),
    [
        (400.0, 2.0, 6),  # three cores of each host are idle until the wide task starts
        (9.0, 2.0, 0),  # what they save until then is less than coming and going costs
        (9.0, 0.0, 6),
        (6.0, 0.0, 0),  # they would leave too late
    ],
)
def test_room_that_is_saved_up_for_a_wide_task_is_lent_until_that_starts_if_it_pays(
    seconds: float, payback: float, count: int
) -> None:
    core, _ = running(elastic(1, 1), payback=payback)
    (other,) = dispatched(submit(core, a_part(2, 4, (math.inf, seconds)), 2.0))
    start(core, other, 2.0)
    submit(core, a_part(3, 7, (math.inf, 10.0)), 2.1)
    planned = core.planning_view.forecast(7.0)
    assert len(lent(core)) == count
    assert (core.planning_view.forecast(7.0) or (None, None))[1] == (planned or (None, None))[1]


def test_lent_places_that_fit_beside_what_is_planned_are_not_reckoned_to_leave_for_it() -> None:
    """The next place of each host would be in the way; it was thought that the first one would go instead."""
    core, _ = running(elastic(1, 1), settle=1.0)
    (other,) = dispatched(submit(core, a_part(2, 4, (math.inf, 9.0)), 1.5))
    start(core, other, 1.5)
    submit(core, a_part(3, 6, (math.inf, 10.0)), 1.6)
    assert len(lent(core, 5.0)) == 2
    assert lent(core, 7.0) == []


def test_a_reservation_takes_lent_places_back_and_nothing_is_lent_where_it_is() -> None:
    core, _ = running(elastic(1, 2))
    core.handle(HostsObserved(2.0, nodes(3)))
    mine = [each for each in lent(core) if each.hosts == ("node03",)]
    assert len(mine) == 4
    core.handle(HostsReserved(20.0, Reservation("r", ("node03",), 24.0, 900.0)))
    assert not leaving(core)
    core.handle(Tick(22.0))
    gone = {each.uuid: each.reason for each in leaving(core)}
    assert gone == dict.fromkeys([each.uuid for each in mine], "node03 is reserved for others")


def test_a_task_without_a_prediction_gets_room_back() -> None:
    core, _ = running(elastic(1, 2))
    lent(core)
    submit(core, with_needs(a_task(2, None), cores=4), 20.0)
    gone = leaving(core)
    assert len(gone) == 2
    assert {each.reason for each in gone} == {"its place is needed for a task that no plan places"}
    core.handle(Tick(20.5))
    assert leaving(core) == gone


def test_loans_keep_to_what_a_user_may_have() -> None:
    core, lead = running(elastic(1, 2))
    core.handle(SharesChanged(2.0, Shares(users={lead_owner(core): Share(hosts=1)})))
    assert len(lent(core)) == 2  # of 8 cores 4 are promised
    assert lead.charged_hosts == 0.5


def lead_owner(core: Coscheduler) -> str:
    return core.tasks["1"].owner


def test_others_that_take_cores_are_left_what_they_have() -> None:
    core, _ = running(elastic(1, 2))
    full = replace(nodes(2)[1], claimed=True, others=HostShare(0, 6, 0))
    core.handle(HostsObserved(2.0, (nodes(2)[0], full)))
    assert {each.hosts for each in lent(core)} == {("node01",)}


def test_a_static_slot_is_lent_to_one_worker() -> None:
    core, _ = running(elastic(1, 2), hosts=nodes(4, unparted=True), count=4)
    assert len({each.hosts for each in core.attempts.values()}) == len(core.attempts)


def test_an_exclusive_elastic_task_is_lent_hosts_that_nobody_is_on() -> None:
    core, _ = running(elastic(1, 0, (1200.0, 600.0, 400.0, 300.0), exclusive=True), count=1)
    core.handle(HostsObserved(2.0, nodes(4)))
    (other,) = dispatched(submit(core, a_part(2, 1, (900.0,)), 3.0))
    start(core, other, 3.0)
    mine = lent(core)
    assert {each.hosts for each in mine}.isdisjoint({other.hosts, ("node01",)})
    assert [each.share for each in mine] == [None, None]
    gone = cancelled(submit(core, a_part(3, 8), 20.0))
    assert len(gone) == 1
    (new,) = dispatched(removed(core, core.attempts[gone[0]], 21.0))
    assert new.task == "3"


@pytest.mark.parametrize("seed", range(4))
def test_of_a_long_queue_all_that_starts_soon_is_known_and_the_rest_is_not_decoded(seed: int) -> None:
    draw = Random(seed)
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, nodes(4)))
    for number in range(1, 301):
        seconds = (draw.choice([5.0, 20.0, 300.0]),) if draw.random() < 0.8 else (math.inf, 40.0)
        submit(core, a_part(number, draw.randint(1, 8), seconds), 0.001 * number)
    planned = core.planning_view.planned(1.0)
    assert planned is not None
    soon, every = first_places(*planned, 30.0), decode(*planned).assignments
    assert [each for each in every if each.start <= 30.0] == [each for each in soon if each.start <= 30.0]
    assert list(soon) == list(every[: len(soon)])
    assert len(soon) < len(every)


def test_no_place_is_lent_that_a_reservation_needs_before_its_worker_could_leave() -> None:
    core, _ = running(elastic(1, 2), payback=0.0)
    core.handle(HostsObserved(2.0, nodes(3)))
    core.handle(HostsReserved(2.5, Reservation("r", ("node03",), 8.0, 900.0)))
    assert {each.hosts for each in lent(core)} == {("node01",), ("node02",)}
    assert lent(core, 20.0) == []


def beside_another() -> tuple[Coscheduler, Attempt]:
    """Return a core in which an elastic task 2 runs beside the first, which has a core of each host; and its lead."""
    seconds = (math.inf, *(6000.0 / count for count in range(2, 15)))
    core, lead = running(elastic(1, 1, seconds))
    for attempt in dispatched(submit(core, elastic(2, 1, seconds), 1.5)):
        start(core, attempt, 1.5)
    return core, lead


@pytest.mark.parametrize("predicted", [True, False])
def test_a_place_that_comes_back_for_a_task_is_not_lent_to_another_elastic_one(predicted: bool) -> None:
    """Neither for one that leaves before a wide one, nor for one whose hosts the manager chooses."""
    core, _ = beside_another()
    lent(core)
    submit(core, a_part(3, 8, (math.inf, 10.0)), 20.0)  # it needs the promised places, too
    submit(core, a_part(4, 3) if predicted else with_needs(a_task(4, None), cores=3), 21.0)
    gone = leaving(core)
    assert len(gone) == 3
    assert not workers(removed(core, gone[0], 22.0))


def test_a_place_is_another_tasks_only_when_its_worker_has_left() -> None:
    core, lead = beside_another()
    lent(core)
    assert left(core) == {"node01": 0, "node02": 0}
    core.handle(ResizeWished(20.0, lead.uuid, 1, 2))
    gone = leaving(core)
    assert {each.task for each in gone} == {"1"}
    assert not workers(core.handle(Tick(20.5)))
    new = workers(removed(core, gone[0], 21.0))
    assert [(each.task, each.hosts) for each in new] == [("2", gone[0].hosts)]


def test_lent_places_are_left_in_time_for_a_planned_start() -> None:
    """Not when the task that is to start would already wait for the workers."""
    core, _ = running(elastic(1, 1), payback=0.0)
    (other,) = dispatched(submit(core, a_part(2, 4, (math.inf, 100.0)), 2.0))
    start(core, other, 2.0)
    submit(core, a_part(3, 7, (math.inf, 10.0)), 2.1)
    assert len(lent(core)) == 6
    core.handle(Tick(99.5))
    assert not leaving(core)
    core.handle(Tick(100.5))
    assert len(leaving(core)) == 6  # it starts at 102 s, and they take 2 s


def test_nobody_leaves_for_a_task_that_may_not_leave_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    core, _ = running(elastic(1, 2))
    lent(core)
    with monkeypatch.context() as patch:
        patch.setattr(TaskQueue, "may_leave", lambda _queue, _task, _time: False)
        submit(core, a_part(2, 4), 20.0)
        assert not leaving(core)
    core.handle(Tick(21.0))
    assert len(leaving(core)) == 2


def test_a_task_without_a_prediction_has_what_is_left_beside_lent_places() -> None:
    core, _ = running(elastic(1, 1, (math.inf, *(6000.0 / count for count in range(2, 17)))))
    lent(core)
    assert left(core) == {"node01": 0, "node02": 0}
    core.handle(HostsObserved(8.0, (*nodes(2), replace(nodes(3)[2], claimed=True, others=HostShare(0, 4, 0)))))
    (new,) = dispatched(submit(core, with_needs(a_task(2, None), cores=4), 8.1))
    assert (new.task, new.hosts) == ("2", ())
    core.handle(Tick(9.0))
    assert not leaving(core)


def test_places_on_a_host_that_is_set_aside_are_not_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    core, _ = running(elastic(1, 2))
    core.handle(HostsObserved(2.0, nodes(3)))
    monkeypatch.setattr(PlanningView, "shut", lambda _view, _time: {"node03"})
    assert {each.hosts for each in lent(core)} == {("node01",), ("node02",)}


def test_of_a_long_queue_those_are_known_that_start_soon_on_hosts_that_are_taken_now() -> None:
    core = Coscheduler(settings(share_hosts=True))
    core.handle(HostsObserved(0.0, nodes(4)))
    for number in range(1, 5):
        for attempt in dispatched(submit(core, a_part(number, 8))):
            start(core, attempt, 0.0)
    for number in range(5, 105):
        submit(core, a_part(number, 1, (5.0,)), 0.001 * number)
    planned = core.planning_view.planned(1.0)
    assert planned is not None
    soon, every = first_places(*planned, 30.0), decode(*planned).assignments
    assert [each for each in every if each.start <= 30.0] == [each for each in soon if each.start <= 30.0]


def test_an_explanation_says_which_part_of_which_host_is_lent_and_until_when() -> None:
    core, _ = running(elastic(1, 2))
    lent(core)
    submit(core, a_part(2, 4), 20.0)
    found, other = explain(core, "1", 20.5), explain(core, "2", 20.5)
    assert found is not None
    assert other is not None
    said, waits = "; ".join(found.waits_for), "; ".join(other.waits_for)
    assert "its promised hosts: node01, node02 (2 cores and 4000M of memory of each)" in said
    assert "2 cores and 4000M of memory of node0" in said
    assert "back: task 2 starts on node0" in said
    assert "lent to task 1: what is needed comes back" in waits


def test_promised_places_are_given_up_where_the_user_wishes_for_fewer() -> None:
    core, lead = running(elastic(1, 2, [math.inf, 60.0, 30.0]), 3)
    assert len(lead.reckoned_hosts) == 3
    core.handle(ResizeWished(10.0, lead.uuid, 1, 2))
    (gone,) = leaving(core)
    assert gone.hosts == ("node03",)
    report(core, gone, JobState.REMOVED, 11.0, finished=11.0)
    assert left(core)["node03"] == core.domain.size("node03").cores
    assert core.attempts[lead.uuid].charged_hosts == pytest.approx(2 * lead.part)


def test_a_planned_task_that_will_need_a_lent_place_is_named_with_its_start() -> None:
    core, _ = running(elastic(1, 2))
    (other,) = dispatched(submit(core, a_part(2, 4, (math.inf, 300.0)), 2.0))
    start(core, other, 2.0)
    submit(core, a_part(3, 6, (math.inf, 10.0)), 3.0)
    lent(core)
    found = explain(core, "1", 8.0)
    assert found is not None
    assert "(until task 3 is to start there, in " in "; ".join(found.waits_for)


def test_places_are_lent_again_once_the_other_task_has_ended() -> None:
    core, _ = running(elastic(1, 2))
    mine = lent(core)
    gone = cancelled(submit(core, a_part(2, 4), 20.0))
    for uuid in gone:
        outcome = removed(core, core.attempts[uuid], 21.0)
    (new,) = dispatched(outcome)
    start(core, new, 21.0)
    complete(core, new, 21.0, 31.0)
    core.handle(Tick(40.0))
    assert len([each for each in core.workers_of("1") if each.loan]) == len(mine)


def test_each_number_of_promised_places_has_both_ends() -> None:
    core = Coscheduler(settings(share_hosts=True, elastic=ElasticSettings(payback=0.0, settle=0.0)))
    core.handle(HostsObserved(0.0, nodes(3)))
    (other,) = dispatched(submit(core, a_part(9, 4, (1e6,))))
    start(core, other, 0.0)
    found = promised_ends(core, elastic(1, 4, (math.inf, 60.0, 40.0, 30.0)), 5.0)
    assert [(each.hosts, each.promised - 5.0) for each in found] == [(2, 60.0), (3, 40.0)]
    assert 30.0 <= found[0].expected - 5.0 < 60.0  # three more places are idle, of which two are of use
    assert 30.0 <= found[1].expected - 5.0 < 40.0


@pytest.mark.parametrize("cores", [5, 8])
def test_nothing_is_expected_of_loans_where_no_place_is_left(cores: int) -> None:
    core = Coscheduler(settings(share_hosts=True, elastic=ElasticSettings(payback=0.0, settle=0.0)))
    core.handle(HostsObserved(0.0, nodes(2)))
    found = promised_ends(core, elastic(1, cores, (math.inf, 60.0, 40.0)), 0.0)
    assert [(each.hosts, each.promised, each.expected) for each in found] == [(2, 60.0, 60.0)]


def test_the_plan_is_laid_out_once_at_an_event_at_which_nobody_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a thousand tasks wait, that takes a third of the event's time."""
    core, _ = running(elastic(1, 2))
    lent(core)
    submit(core, a_part(2, 8), 20.0)  # as large as a host: it waits
    times: list[float] = []
    lay_out = PlanningView.problem

    def counted(view: PlanningView, time: float, **how: Any) -> Problem | None:
        times.append(time)
        return lay_out(view, time, **how)

    monkeypatch.setattr(PlanningView, "problem", counted)
    assert not dispatched(submit(core, a_part(3, 8), 21.0))
    assert times == [21.0]
