from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cosched.connector.hosts import Host
from cosched.coscheduler.events import CancelRequested, TaskSubmitted
from cosched.scheduling.policies import POLICIES
from cosched.simulation.simulated_domain import Calendar, SimulatedDomain, SimulatedPlanner
from tests.coscheduler.makers import a_core, a_task, on_both, settings
from tests.simulation.makers import exact


def test_tasks_run_one_after_the_other_on_one_host() -> None:
    domain = SimulatedDomain(settings(), 1, exact)
    for number in (1, 2):
        domain.post(TaskSubmitted(0.0, a_task(number, [10.0])))
    domain.run()
    assert [(run.task, run.started, run.finished) for run in domain.runs] == [("1", 0.0, 10.0), ("2", 10.0, 20.0)]


def test_two_classes_share_the_work_as_fast_as_each_is() -> None:
    hosts = [Host("quick", "fast"), Host("slow", "slow")]
    domain = SimulatedDomain(settings(), hosts, exact, SimulatedPlanner(generations=30, seed=1))
    for number in range(1, 9):
        domain.post(TaskSubmitted(0.0, on_both(number, [2.0], [6.0])))
    domain.run()
    by_host = {host.name: [run for run in domain.runs if run.hosts == (host.name,)] for host in hosts}
    assert {run.finished - run.started for run in by_host["quick"]} == {2.0}
    assert {run.finished - run.started for run in by_host["slow"]} == {6.0}
    assert max(run.finished for run in domain.runs) == 12.0  # six and two; all as slow as the slow one: 24


def test_a_host_that_is_taken_off_and_given_back() -> None:
    domain = SimulatedDomain(settings(), 2, exact)
    domain.post(TaskSubmitted(0.0, a_task(1, [10.0])))
    domain.run(until=3.0)
    domain.set_hosts(("node01",), up=False)
    domain.run()
    (run,) = domain.runs
    assert (run.hosts, run.started) == (("node02",), 3.0)


def test_a_task_nothing_can_run_does_not_go_on_for_ever() -> None:
    domain = SimulatedDomain(settings(), 1, exact)
    domain.post(TaskSubmitted(0.0, a_task(1, [float("inf"), 5.0])))
    domain.run()
    assert not domain.runs


def test_a_cancelled_task_does_not_complete() -> None:
    domain = SimulatedDomain(settings(), 1, exact)
    domain.post(TaskSubmitted(0.0, a_task(1, [10.0])))
    domain.post(CancelRequested(5.0, "1"))
    domain.run()
    assert not domain.runs
    assert not domain.core.tasks


@given(
    st.lists(st.tuples(st.lists(st.floats(1.0, 9.0), min_size=1, max_size=4), st.floats(0.0, 20.0)), max_size=12),
    st.sampled_from([name for name, policy in POLICIES.items() if policy.online and not policy.one_host]),
)
def test_every_task_runs_once_and_no_host_runs_two_at_a_time(
    rows: list[tuple[list[float], float]], policy: str
) -> None:
    domain = SimulatedDomain(settings(policy=policy), 4, exact)
    for number, (seconds, when) in enumerate(rows, start=1):
        domain.post(TaskSubmitted(when, a_task(number, seconds, submitted=when)))
    domain.run()
    assert sorted(int(run.task) for run in domain.runs) == list(range(1, len(rows) + 1))
    for host in ("node01", "node02", "node03", "node04"):
        mine = sorted((run.started, run.finished) for run in domain.runs if host in run.hosts)
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(mine))


def test_actions_happen_by_time_and_at_one_moment_in_the_order_they_came() -> None:
    calendar, seen = Calendar(), list[str]()
    for name, when in (("c", 2.0), ("a", 1.0), ("b", 1.0)):
        calendar.at(when, lambda name=name: seen.append(f"{name}{calendar.time:g}"))  # type: ignore[misc]  # bound now
    while calendar.step(1.5):
        pass
    assert seen == ["a1", "b1"]
    assert calendar.pending
    assert calendar.step(9.0)
    assert seen[-1] == "c2"
    assert not calendar.pending


def test_an_action_at_the_end_of_a_moment_runs_after_all_others() -> None:
    calendar, seen = Calendar(), list[str]()

    def first() -> None:
        calendar.at_end_of_moment(lambda: seen.append("last"))
        calendar.at(1.0, lambda: seen.append("third"))
        seen.append("first")

    calendar.at(1.0, first)
    calendar.at(1.0, lambda: seen.append("second"))
    calendar.at(2.0, lambda: seen.append("next moment"))
    while calendar.step(5.0):
        pass
    assert seen == ["first", "second", "third", "last", "next moment"]


def test_time_never_runs_backwards() -> None:
    calendar = Calendar()
    calendar.at(3.0, lambda: calendar.at(1.0, lambda: None))
    while calendar.step(5.0):
        pass
    assert calendar.time == 3.0


def test_nothing_is_searched_where_nothing_waits() -> None:
    planner = SimulatedPlanner()
    assert planner.answer(a_core(), 0.0) is None
    assert planner.searches == 0


def test_the_search_turns_an_order_of_arrival_into_a_better_one() -> None:
    """Long tasks behind short ones leave the last host alone with the longest; longest first packs without a gap."""
    makespans = {}
    for generations in (None, 50):
        planner = None if generations is None else SimulatedPlanner(generations)
        domain = SimulatedDomain(settings(staging=1.0), 2, exact, planner)
        for number, seconds in enumerate([2.0, 2.0, 4.0], start=1):
            domain.post(TaskSubmitted(0.0, a_task(number, [seconds])))
        domain.run()
        makespans[generations] = max(run.finished for run in domain.runs) - min(run.started for run in domain.runs)
    assert makespans == {None: 6.0, 50: 4.0}


def test_a_moment_is_searched_once_whatever_happened_in_it() -> None:
    planner = SimulatedPlanner(1)
    domain = SimulatedDomain(settings(staging=1.0), 1, exact, planner)
    for number in range(1, 6):
        domain.post(TaskSubmitted(0.0, a_task(number, [10.0])))
    domain.run(until=5.0)
    assert planner.searches == 2  # when they came, and when one of them had left
    assert len(domain.core.attempts) == 1
