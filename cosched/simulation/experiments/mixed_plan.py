"""One plan of rigid, moldable, tunable and elastic tasks with deadlines: what elastic ones are worth.

The same drawn queue is planned three times: with its elastic tasks as moldable ones, with loans after such a search,
and with loans in the search. Start at `_rows`; `mixed_queue` draws the tasks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.elastic.promising import PromisedPlan, promise_hosts
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.objective.objective import measure, measure_pieces, objective
from cosched.scheduling.objective.weights import Weights
from cosched.scheduling.policies import PolicyName, plan
from cosched.scheduling.problem import Problem
from cosched.scheduling.search.run import Limit
from cosched.simulation.experiment import Experiment, ExperimentOption, ResultRow, line_chart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.scheduling.objective.objective import Metrics
    from cosched.scheduling.schedule import Schedule

__all__ = ["EXPERIMENT", "MixedQueue", "mixed_queue"]

_SHARES = (0.0, 0.33, 0.67, 1.0)
_COSTS = (0.0, 5.0, 20.0, 60.0)
_DUE = 0.6  # part of the tasks that have a deadline
_RIGID = (1, 2, 4, 8)  # hosts of rigid tasks
_WAYS = ((2, 1.0), (8, 1.25))  # of a tunable task: hosts, and work as a multiple of the finest way's
_PREFERRED = 4


@dataclass(frozen=True, slots=True)
class MixedQueue:
    """Parameters from which a queue is drawn.

    Attributes:
        tasks: number of tasks.
        hosts: number of hosts, 8 or more.
        share: part of the tasks that are elastic; the others are rigid, moldable and tunable in equal parts.
        cost: seconds without progress at each change of an elastic task's hosts.
        drain: seconds until a host that it gives up is free.
        slack: deadlines lie between a task's own time and that with so many times the work of all ÷ the hosts on top.
    """

    tasks: int = 30
    hosts: int = 16
    share: float = 1 / 3
    cost: float = 3.0
    drain: float = 5.0
    slack: float = 1.0


def mixed_queue(queue: MixedQueue, seed: int) -> Problem:
    """Draw a queue; who is elastic at some share is so at every larger one, and the others stay as they are.

    A task's run time on n hosts follows Amdahl's law. A rigid one runs on one number of hosts alone; a tunable one has
    two ways, and the coarser one does more work on more hosts.
    """
    draw = np.random.default_rng(seed)
    hosts = np.arange(1, queue.hosts + 1)
    work = np.exp(draw.uniform(np.log(20), np.log(400), queue.tasks))
    serial = draw.uniform(0.02, 0.2, queue.tasks)
    seconds = work[:, None] * (serial[:, None] + (1 - serial[:, None]) / hosts)
    others, chosen = draw.integers(0, 3, queue.tasks), draw.random(queue.tasks) < queue.share
    rigid, due, late = draw.choice(_RIGID, queue.tasks), draw.random(queue.tasks), draw.random(queue.tasks)
    names, elastic = [], {}
    for task in range(queue.tasks):
        kind = "elastic" if chosen[task] else ("rigid", "moldable", "tunable")[others[task]]
        names.append(f"{kind}-{task + 1}")
        if kind == "elastic":
            times, most = tuple(seconds[task].tolist()), queue.hosts
            preferred = min(_PREFERRED, most)
            elastic[task] = ElasticTask(names[-1], times, 1, most, preferred, queue.cost, queue.cost, queue.drain)
        elif kind != "moldable":
            ways = ((rigid[task], 1.0),) if kind == "rigid" else _WAYS
            seconds[task] = _only(seconds[task], ways)
    longest = np.where(np.isfinite(seconds), seconds, 0.0).max(axis=1)
    own = np.minimum(longest, seconds.min(axis=1) * 2)
    deadline = own + late * queue.slack * work.sum() / queue.hosts
    return Problem(
        tasks=tuple(names),
        hosts=tuple(f"host{number:02}" for number in hosts),
        classes=("same",),
        host_class=np.zeros(queue.hosts, dtype=np.int64),
        free=np.zeros(queue.hosts),
        seconds=seconds[None],
        release=np.zeros(queue.tasks),
        deadline=np.where(due < _DUE, deadline, np.inf),
        elastic=elastic or None,
    )


def _only(seconds: NDArray[np.float64], ways: Sequence[tuple[int, float]]) -> NDArray[np.float64]:
    """Return the run times of a task that runs on some numbers of hosts alone."""
    found = np.full(len(seconds), np.inf)
    for count, factor in ways:
        found[count - 1] = seconds[count - 1] * factor
    return found


def _rows(seed: int, options: Mapping[str, float]) -> list[ResultRow]:
    limit = Limit(generations=int(options["generations"]))
    queue = MixedQueue(int(options["tasks"]), int(options["hosts"]), drain=options["drain"], slack=options["slack"])
    rows = []
    for share in _SHARES:
        plain = replace(mixed_queue(replace(queue, share=share), seed), elastic=None)
        moldable, bound = plan(plain, PolicyName.GENETIC, limit, seed).schedule, lower_bound(plain)
        for cost in _COSTS if share else (0.0,):
            problem = mixed_queue(replace(queue, share=share, cost=cost), seed)
            rows.append({"share": share, "cost": cost, **_compared(problem, moldable, bound, limit, seed)})
    return rows


def _compared(problem: Problem, moldable: Schedule, bound: float, limit: Limit, seed: int) -> ResultRow:
    """Return the three plans' figures; `moldable` is the schedule of the same tasks without elastic ones."""
    without = measure(problem, moldable)
    lent, searched = without, without
    resizes = 0.0
    if problem.elastic:
        lent = _measured(problem, promise_hosts(problem, moldable))
        found = promise_hosts(problem, plan(problem, PolicyName.GENETIC, limit, seed).schedule)
        searched, resizes = _measured(problem, found), _resizes(problem, found)
    values = [objective(each, _WEIGHTS, bound) for each in (without, lent, searched)]
    return {
        "objective": values[2],
        "lent_afterwards": values[1],
        "as_moldable": values[0],
        "change": values[2] / values[0] - 1,
        "on_time": searched.on_time_share,
        "on_time_as_moldable": without.on_time_share,
        "makespan": searched.makespan,
        "makespan_as_moldable": without.makespan,
        "resizes": resizes,
    }


def _measured(problem: Problem, found: PromisedPlan) -> Metrics:
    return measure_pieces(problem, found.promised, found.pieces)


def _resizes(problem: Problem, found: PromisedPlan) -> float:
    """Return how often an elastic task's hosts change, on average."""
    pieces = Counter(piece.task for piece in found.pieces)
    names = [problem.tasks[task] for task in problem.elastic or {}]
    return sum(pieces[name] - 1 for name in names) / len(names)


def _charts(rows: Sequence[ResultRow], _seed: int, _options: Mapping[str, float]) -> dict[str, str]:
    named = [row | {"cost": f"{row['cost']:g} s a change"} for row in rows if row["share"]]
    labels = ("share of elastic tasks", "change of the objective")
    return {"change": line_chart(named, "share", "change", "cost", "Loans in the search", labels)}


_WEIGHTS = Weights()

EXPERIMENT = Experiment(
    name="mixed-plan",
    reproduces="one plan of rigid, moldable, tunable and elastic tasks with deadlines, beside elastic ones as moldable",
    keys=("share", "cost"),
    run=_rows,
    options={
        "tasks": ExperimentOption(30, "in the queue", 3, 500),
        "hosts": ExperimentOption(16, "number of hosts", 8, 256),
        "generations": ExperimentOption(200, "of each search", 0, 100_000),
        "drain": ExperimentOption(5.0, "seconds until a host that an elastic task gives up is free", 0, 1e6),
        "slack": ExperimentOption(1.0, "how late deadlines lie, as a multiple of the work of all ÷ the hosts", 0, 1e3),
    },
    charts=_charts,
    pictures=1,
    searches=True,
)
