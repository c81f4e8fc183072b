from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.kernels import queue
from cosched.errors import UserError
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode
from cosched.scheduling.heuristics import moldable_tasks
from cosched.scheduling.host_counts import with_decoded_classes, with_encoded_classes
from cosched.scheduling.objective.comparison import PlanFigures
from cosched.scheduling.objective.objective import measure, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.problem import Turns
from cosched.scheduling.schedule import check_schedule
from cosched.scheduling.search.genetic_search import GeneticSearch
from tests.scheduling.problems import a_plan, a_problem, plans, problems, waits

if TYPE_CHECKING:
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

MAKESPAN = Weights(1.0, 0.0, 0.0)


def value(problem: Problem, plan: Plan, weights: Weights) -> float:
    return objective(measure(problem, decode(problem, plan)), weights, lower_bound(problem))


def a_queue(seed: int, tasks: int = 20, hosts: int = 8) -> Problem:
    draw = np.random.default_rng(seed)
    profiles = draw.uniform(5, 50, (tasks, 1)) / np.arange(1, hosts + 1) ** draw.uniform(0.2, 1.1, (tasks, 1))
    return a_problem(profiles.tolist(), hosts, deadline=draw.uniform(5, 90, tasks).tolist())


@given(st.data())
def test_the_best_plan_is_feasible_and_never_worse_than_a_seed(data: st.DataObject) -> None:
    problem = data.draw(problems())
    warm = data.draw(plans(problem))
    problem = replace(problem, waited=data.draw(st.none() | waits(problem)))
    slowdown = 0.0 if problem.waited is None else data.draw(st.sampled_from([0.0, 3.0]))
    weights = Weights(1.0, 0.2, data.draw(st.sampled_from([0.0, 2.0])), data.draw(st.booleans()), slowdown)
    search = GeneticSearch(problem, weights, seed=1, warm=warm)
    search.step(5)
    assert check_schedule(problem, decode(problem, search.best)) == []
    assert search.objective == pytest.approx(value(problem, search.best, weights), rel=1e-9)
    seeds = [warm, moldable_tasks.earliest_deadline_first(problem), moldable_tasks.two_phase(problem)]
    assert all(search.objective <= value(problem, seed, weights) * (1 + 1e-9) for seed in seeds)


@given(problems(tasks=4, hosts=3, classes=1, whole=True))
def test_small_problems_are_solved(problem: Problem) -> None:
    """As good as the best of many random plans: small problems have few."""
    search = GeneticSearch(problem, MAKESPAN, seed=3)
    search.step(400)
    draw = np.random.default_rng(0)
    usable = np.isfinite(problem.seconds[problem.host_class[0]])
    for _ in range(300):
        counts = [int(draw.choice(np.flatnonzero(row))) + 1 for row in usable]
        other = a_plan(draw.permutation(len(usable)).tolist(), counts)
        assert decode(problem, search.best).makespan <= decode(problem, other).makespan


def test_the_search_improves_on_its_seeds_and_says_so() -> None:
    search = GeneticSearch(a_queue(1), seed=5)
    before = search.objective
    assert search.step(300)
    assert search.objective < before
    assert search.generations == 300
    assert search.evaluations >= 300 * 40
    assert search.logbook.select("min")[-1] == search.objective


def test_plans_that_see_what_is_done_beyond_the_bound_lead_to_a_shorter_one() -> None:
    """By makespans alone, of which most are those of many plans, these generations ended at 58 s."""
    search = GeneticSearch(queue(30, 16, seed=4), MAKESPAN, seed=1)
    search.step(200)
    assert search.figures().makespan <= 56.0


def test_seed_and_generations_decide_the_plan() -> None:
    one, other, third = (
        GeneticSearch(a_queue(2), seed=9),
        GeneticSearch(a_queue(2), seed=9),
        GeneticSearch(a_queue(2), seed=10),
    )
    one.step(700)
    for _ in range(70):
        other.step(10)
    third.step(700)
    assert one.best.order.tolist() == other.best.order.tolist()
    assert one.best.counts.tolist() == other.best.counts.tolist()
    assert one.evaluations == other.evaluations
    assert third.logbook != one.logbook


def test_a_search_goes_on_from_the_last_best() -> None:
    first = GeneticSearch(a_queue(3), seed=1)
    first.step(500)
    again = GeneticSearch(a_queue(3), seed=2, warm=first.best)
    assert again.objective == pytest.approx(first.objective)


def test_deadlines_come_first_where_that_is_asked() -> None:
    # One host. With a first b and c are late by 1 each; with a last a alone is late, but by 20.
    problem = a_problem([[1.0], [10.0], [10.0]], hosts=1, deadline=[1.0, 10.0, 20.0])
    assert missed(problem, Weights(0.0, 0.0, 1.0)) == 2
    assert missed(problem, Weights(0.0, 0.0, 1.0, deadlines_first=True)) == 1


def missed(problem: Problem, weights: Weights) -> int:
    search = GeneticSearch(problem, weights, seed=1)
    search.step(300)
    metrics = measure(problem, decode(problem, search.best))
    return metrics.with_deadline - metrics.on_time


def test_a_search_without_deadlines_meets_its_bound_where_that_is_easy() -> None:
    search = GeneticSearch(a_problem([[4.0], [4.0], [8.0]]), MAKESPAN)
    search.step(20)
    assert search.finished
    assert decode(a_problem([[4.0], [4.0], [8.0]]), search.best).makespan == search.bound == 8.0


def test_new_blood_comes_in_when_nothing_improves_and_the_best_stays() -> None:
    search = GeneticSearch(a_problem([[2.0], [2.0]]), MAKESPAN)
    assert not search.step(450)
    assert search.evaluations > 450 * 40 + 40
    assert search.finished


@pytest.mark.parametrize("weights", [Weights(-1.0), Weights(0.0, 0.0, 0.0), Weights(float("nan"))])
def test_bad_weights_are_refused(weights: Weights) -> None:
    with pytest.raises(UserError, match="weights"):
        GeneticSearch(a_problem([[1.0]]), weights)


@pytest.mark.parametrize("warm", [a_plan([0, 0], [1, 1]), a_plan([0], [1, 1]), a_plan([0, 1], [2, 1])])
def test_a_warm_plan_of_another_problem_is_refused(warm: Plan) -> None:
    with pytest.raises(ValueError, match=r"order of all tasks|cannot run"):
        GeneticSearch(a_problem([[1.0], [1.0]]), warm=warm)


def test_the_logbook_has_the_statistics_of_the_population() -> None:
    search = GeneticSearch(a_queue(3), MAKESPAN, seed=2)
    for _ in range(1000):
        search.step()
    lines = list(search.logbook)
    assert set(lines[0]) == {"generation", "evaluations", "mean", "std", "min"}
    assert [line["generation"] for line in lines[:50]] == list(range(50))
    assert 200 < len(lines) < 500  # each step at first, later each hundredth part
    assert all(line["min"] <= line["mean"] and line["std"] >= 0 for line in lines)
    assert lines[-1]["min"] >= search.objective


@given(st.data())
def test_the_figures_of_the_best_plan_are_those_of_its_schedule(data: st.DataObject) -> None:
    problem = data.draw(problems())
    problem = replace(problem, waited=data.draw(st.none() | waits(problem)))
    search = GeneticSearch(problem)
    expected = PlanFigures.of(measure(problem, decode(problem, search.best)))
    assert search.figures() == pytest.approx(expected)


def test_a_class_of_its_own_for_each_task_beats_the_greedy_choice() -> None:
    """Greedily the short task takes the fast host, where it ends first; then the long one waits for it or crawls."""
    seconds = np.array([[[2.0, np.inf], [10.0, np.inf]], [[3.0, np.inf], [40.0, np.inf]]])
    problem = replace(
        a_problem([[1.0], [1.0]]),
        classes=("fast", "slow"),
        host_class=np.array([0, 1]),
        seconds=seconds,
        release=np.array([0.0, 1.0]),
    )
    search = GeneticSearch(problem, MAKESPAN, seed=1)
    search.step(50)
    assert decode(problem, search.best).makespan == 11.0
    assert search.best.classes is not None
    warm = GeneticSearch(problem, MAKESPAN, seed=1, warm=search.best)
    assert warm.objective == search.objective


@given(st.data())
def test_widths_stand_for_counts_and_classes(data: st.DataObject) -> None:
    problem = data.draw(problems())
    plan = data.draw(plans(problem))
    back = with_decoded_classes(problem, with_encoded_classes(problem, plan))
    assert back.counts.tolist() == plan.counts.tolist()
    assert decode(problem, back) == decode(problem, plan)


@pytest.mark.daemon
def test_once_it_is_warmed_up_a_search_needs_no_more_machine_code() -> None:
    """Neither around unavailability nor in the late-job search: a request would wait for the compiler."""
    code = """
import sys
from benchmarks.kernels import kept, queue
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.search.genetic_search import GeneticSearch, warm_up

def there():
    modules = [module for name, module in sys.modules.items() if name.startswith("cosched.scheduling")]
    items = [item for module in modules for item in vars(module).items()]
    return {(name, kind) for name, found in items for kind in getattr(found, "overloads", ())}

warm_up()
before = there()
new_blood = queue(2, 4, 1), 450
for problem, generations in ((queue(30, 16, 101, deadlines=True, stretch=0.5), 8), (kept(30, 16, 1), 8), new_blood):
    search = GeneticSearch(problem, Weights(deadlines_first=generations == 8))
    search.step(generations)
    search.figures()
print(sorted(name for name, _ in there() - before))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_users_take_turns_in_every_plan_that_the_search_finds() -> None:
    problem = a_queue(5, tasks=12)
    user, sequence = np.arange(12) % 3 - 1, np.tile([0, 1], 4)
    search = GeneticSearch(replace(problem, turns=Turns(user, sequence)), Weights(), seed=2)
    search.step(100)
    placed = user[search.best.order]
    assert placed[placed >= 0].tolist() == sequence.tolist()
    assert check_schedule(problem, decode(problem, search.best)) == []


def test_the_objective_is_that_of_the_best_plan_where_predecessors_change_turns() -> None:
    """Predecessors come first, whoever's turn it is; to take turns once more would make another plan."""
    draw = np.random.default_rng(4)
    before = [tuple({int(draw.integers(task))}) if task > 3 and draw.random() < 0.6 else () for task in range(30)]
    turns = Turns(np.arange(30) % 3, draw.permutation(np.arange(30) % 3))
    problem = replace(queue(30, 16, 4, deadlines=True), depends_on=tuple(before), turns=turns)
    for seed in range(8):
        search = GeneticSearch(problem, Weights(), seed=seed)
        for _ in range(20):
            search.step(5)
            assert search.objective == pytest.approx(value(problem, search.best, Weights()), rel=1e-9)


def test_of_two_deadlines_that_cannot_both_be_met_the_heavier_is() -> None:
    problem = a_problem([[10.0], [10.0]], 1, deadline=[10.0, 10.0])
    for weight, kept in (([1.0, 0.5], 0), ([0.5, 1.0], 1)):
        search = GeneticSearch(replace(problem, weight=np.array(weight)), Weights(deadlines_first=True), seed=2)
        search.step(20)
        assert search.best.order[0] == kept


def test_a_plan_from_elsewhere_joins_as_any_other() -> None:
    search, long = GeneticSearch(a_queue(3), MAKESPAN, seed=1), GeneticSearch(a_queue(3), MAKESPAN, seed=2)
    long.step(300)
    before = search.objective
    assert search.join(long.best) == (long.objective < before)
    assert search.objective == min(before, long.objective)
    assert not search.join(long.best)
    search.step(50)
    assert search.objective <= long.objective


def test_a_bound_from_elsewhere_can_end_the_search() -> None:
    search = GeneticSearch(a_problem([[6.0, 5.9]] * 3), MAKESPAN)
    finished = [search.finished]
    for bound in (search.figures().makespan, 1.0):  # the second is lower than what is known
        search.raise_bound(bound)
        finished.append(search.finished)
    assert finished == [False, True, True]
