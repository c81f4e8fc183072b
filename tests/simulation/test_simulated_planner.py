from __future__ import annotations

from cosched.coscheduler.events import TaskSubmitted
from cosched.simulation.simulated_domain import SimulatedDomain, SimulatedPlanner
from tests.coscheduler.makers import a_core, a_task, settings
from tests.simulation.makers import exact


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
