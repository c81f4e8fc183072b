"""What elastic tasks are worth to the search, and what loans cost: `python -m benchmarks.elastic`.

Queues are those of `cosched simulate mixed-plan`: 30 tasks on 16 hosts, a third of them elastic. Three sections:

- decodes: how long a plan is judged with loans and without them, and by the plain code;
- search: objectives of plans with elastic tasks as moldable ones, with loans after such a search, and with loans in
  the search, each search for as many generations, or with --budget for as many seconds of processor time;
- lending: in how many queues anybody would end later than promised, so that nothing is lent (--queues, 10,000 unless
  given), without costs and with.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.decoding.decoder import decode, spans
from cosched.scheduling.elastic.expected import expected_schedule
from cosched.scheduling.elastic.pieces import check_pieces
from cosched.scheduling.elastic.promising import promise_hosts
from cosched.scheduling.host_counts import encoded_choices
from cosched.scheduling.kernels.decoding.decode_kernel import population_spans
from cosched.scheduling.kernels.elastic.loan_kernel import expected_spans
from cosched.scheduling.kernels.objective import elastic_kernel, objective_kernel
from cosched.scheduling.objective.objective import measure, measure_pieces, objective
from cosched.scheduling.objective.slowdown import with_waits
from cosched.scheduling.objective.weights import ObjectiveName, Weights
from cosched.scheduling.plan import Plan
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.search.genetic_search import warm_up
from cosched.scheduling.search.run import Limit
from cosched.simulation.experiments.mixed_plan import MixedQueue, mixed_queue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.problem import Problem

__all__ = ["QueueObjectives", "delayed_queues", "main", "queue_objectives"]

_WEIGHTS = Weights()
_PLANS = 40  # as many as a generation of the search has
_QUEUES = {  # (cost, drain, slack)
    "no costs, deadlines tight": (0.0, 0.0, 0.5),
    "no costs, deadlines loose": (0.0, 0.0, 1.5),
    "3 s a change, 5 s to drain, tight": (3.0, 5.0, 0.5),
    "3 s a change, 5 s to drain, loose": (3.0, 5.0, 1.5),
    "20 s a change, 5 s to drain, loose": (20.0, 5.0, 1.5),
}
_COSTS = ((0.0, 0.0), (0.0, 5.0), (3.0, 5.0), (20.0, 5.0))  # seconds of a change, and until a host has drained
_Population = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.elastic", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=["decodes", "search", "lending"], metavar="SECTION")
    parser.add_argument("--seeds", default="1-20,201-210", help="of the searched queues, such as 1-20,201-210")
    parser.add_argument("--generations", type=int, default=300, help="of each search")
    parser.add_argument("--budget", type=float, help="seconds of processor time of each search, in place of these")
    parser.add_argument("--objective", default="balanced", choices=list(ObjectiveName), help="of the searches")
    parser.add_argument("--queues", type=int, default=10_000, help="in which loans might delay somebody")
    options = parser.parse_args()
    wanted = options.only or ["decodes", "search", "lending"]
    warm_up()
    if "decodes" in wanted:
        _decodes()
    if "search" in wanted:
        limit = Limit(generations=options.generations)
        if options.budget:
            limit = Limit(options.budget, clock=time.thread_time)
        for part in options.seeds.split(","):
            least, _, most = part.partition("-")
            _search(range(int(least), int(most or least) + 1), limit, ObjectiveName(options.objective).weights)
    if "lending" in wanted:
        for cost, drain in _COSTS:
            later, how = delayed_queues(options.queues, 1, cost, drain)
            print(
                f"lending, {cost:g} s a change, {drain:g} s to drain: somebody would end later than promised"
                f" in {later} of {options.queues} queues ({how} tasks)"
            )


def delayed_queues(queues: int, seed: int, cost: float = 0.0, drain: float = 0.0) -> tuple[int, int]:
    """Return in how many random queues loans would end a task later than promised, and the number of all tasks.

    There are no releases and predecessors; `cost` and `drain` are those of `MixedQueue`.
    """
    draw = np.random.default_rng(seed)
    later = tasks = 0
    for number in range(queues):
        problem = mixed_queue(MixedQueue(share=float(draw.uniform(0.1, 1.0)), cost=cost, drain=drain), seed + number)
        while not problem.elastic:  # nothing is lent there
            share = float(draw.uniform(0.1, 1.0))
            problem = mixed_queue(MixedQueue(share=share, cost=cost, drain=drain), seed + number)
        tasks += len(problem.tasks)
        tables = elastic_kernel.tabulate(problem, _WEIGHTS, 1.0)
        orders, counts = _plans(problem, 1, draw)
        starts, ends, begun, ended = np.empty((4, *orders.shape))
        used = np.empty((1, 3))
        population_spans(tables.plain, orders, counts, starts, ends)
        expected_spans(tables, orders, counts, starts, ends, np.ones(1, dtype=np.bool_), begun, ended, used)
        later += int(used[0, 2] > 0 or (ended > ends * (1 + 1e-9)).any())
    return later, tasks


def _plans(problem: Problem, plans: int, draw: np.random.Generator) -> _Population:
    """Return random plans."""
    choices, first = encoded_choices(problem)
    tasks = len(problem.tasks)
    orders = np.array([draw.permutation(tasks) for _ in range(plans)])
    places = first[:-1] + (draw.random((plans, tasks)) * np.diff(first)).astype(np.int64)
    return orders, choices[places]


def _decodes() -> None:
    print("judging a plan, 30 tasks on 16 hosts      without loans   with loans        ratio   (plain code: ms, ms)")
    for name, (cost, drain, slack) in _QUEUES.items():
        plain, loans, slow, slower = [], [], [], []
        for seed in range(1, 6):
            problem = mixed_queue(MixedQueue(cost=cost, drain=drain, slack=slack), seed)
            bound = lower_bound(problem)
            # Plans as a search has them: its last one, and mutants of it.
            best = plan(problem, PolicyName.GENETIC, Limit(generations=50), seed).schedule
            orders, counts = _around(problem, [item.task for item in best.assignments], seed)
            for item in best.assignments:
                counts[:, problem.tasks.index(item.task)] = len(item.hosts)
            without, tables = (
                objective_kernel.tabulate(problem, _WEIGHTS, bound),
                elastic_kernel.tabulate(problem, _WEIGHTS, bound),
            )
            plain.append(_seconds(lambda: objective_kernel.evaluate_population(without, orders, counts), 50) / _PLANS)  # noqa: B023
            loans.append(_seconds(lambda: elastic_kernel.evaluate_population(tables, orders, counts), 50) / _PLANS)  # noqa: B023
            one = Plan(orders[0], counts[0])
            promised = decode(problem, one)
            slow.append(_seconds(lambda: spans(problem, one), 5))  # noqa: B023
            slower.append(_seconds(lambda: expected_schedule(problem, promised), 5))  # noqa: B023
        ratio = fmean(loans) / fmean(plain)
        plainly = f"({1e3 * fmean(slow):.2f}, {1e3 * fmean(slower):.2f})"
        print(f"{name:40} {1e6 * fmean(plain):10.2f} µs {1e6 * fmean(loans):10.2f} µs {ratio:10.1f}   {plainly}")


def _around(problem: Problem, order: Sequence[str], seed: int) -> _Population:
    """Return plans in which two tasks of an order are swapped; the counts are to be filled in."""
    draw, tasks = np.random.default_rng(seed), len(order)
    orders = np.tile([problem.tasks.index(name) for name in order], (_PLANS, 1))
    for row in orders[1:]:
        one, other = draw.integers(0, tasks, 2)
        row[[one, other]] = row[[other, one]]
    return orders, np.ones((_PLANS, tasks), dtype=np.int64)


def _seconds(work: Callable[[], object], times: int) -> float:
    """Return the least processor time of a call."""
    found = []
    for _ in range(times):
        began = time.thread_time()
        work()
        found.append(time.thread_time() - began)
    return min(found)


def _search(seeds: range, limit: Limit, weights: Weights) -> None:
    print(f"\nobjective, seeds {seeds[0]} to {seeds[-1]}")
    print(f"{'':36} as moldable  lent afterwards  in the search  better by  of what there is   on time")
    for name, (cost, drain, slack) in _QUEUES.items():
        queue = MixedQueue(cost=cost, drain=drain, slack=slack)
        rows = [queue_objectives(queue, seed, limit, weights) for seed in seeds]
        moldable, lent, searched, floor, before, on_time = (fmean(each) for each in zip(*rows, strict=True))
        better, part = 1 - searched / moldable, (moldable - searched) / (moldable - floor)
        print(
            f"{name:36} {moldable:11.4f} {lent:16.4f} {searched:14.4f} {100 * better:8.1f} % {100 * part:14.0f} %"
            f"   {100 * before:.0f} → {100 * on_time:.0f} %"
        )


class QueueObjectives(NamedTuple):
    """What became of a queue.

    Attributes:
        moldable: objective with its elastic tasks as moldable ones.
        lent: with loans after that search.
        searched: with loans in the search.
        floor: of a plan whose makespan and slowdown are at their lower bounds, with nothing idle and nobody late.
        on_time_before: part of the tasks with deadlines that meet them, as moldable ones.
        on_time: likewise with loans in the search.
    """

    moldable: float
    lent: float
    searched: float
    floor: float
    on_time_before: float
    on_time: float


def queue_objectives(queue: MixedQueue, seed: int, limit: Limit, weights: Weights = _WEIGHTS) -> QueueObjectives:
    """Plan a queue three times; times are measured in lower bounds of the elastic queue throughout."""
    problem = with_waits(mixed_queue(queue, seed), weights)
    plain = replace(problem, elastic=None)
    bound = lower_bound(problem)
    moldable = plan(plain, PolicyName.GENETIC, limit, seed, weights).schedule
    without, found = measure(plain, moldable), []
    for schedule in (moldable, plan(problem, PolicyName.GENETIC, limit, seed, weights).schedule):
        chosen = promise_hosts(problem, schedule, weights)
        faults = check_pieces(problem, chosen.promised, chosen.pieces)
        assert not faults, faults
        found.append(measure_pieces(problem, chosen.promised, chosen.pieces))
    moldable_value, lent, searched = (objective(each, weights, bound) for each in (without, *found))
    total = weights.makespan + weights.idle + weights.lateness + weights.slowdown
    floor = (weights.makespan + weights.slowdown) / total
    on_time = without.on_time_share or 0.0, found[1].on_time_share or 0.0
    return QueueObjectives(moldable_value, lent, searched, floor, *on_time)


if __name__ == "__main__":
    main()
