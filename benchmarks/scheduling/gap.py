"""The gap that is shown after a while: plan ÷ best bound proved, without and with the exact partner.

Seconds are processor time, of the search on one core and of its partner on the other, whoever else uses them. The
partner begins with the plan that the search has when its head start is over.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.kernels import queue
from benchmarks.scheduling import references
from benchmarks.scheduling.proving import findings
from benchmarks.scheduling.queues import MAKESPAN
from cosched.scheduling.bounds import lower_bound, proved_optimal
from cosched.scheduling.decoding.decoder import spans
from cosched.scheduling.exact.whole_problem import uncovered
from cosched.scheduling.search.genetic_search import GeneticSearch

if TYPE_CHECKING:
    from benchmarks.figures import Figures
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["Trace", "shown_gaps"]

_SEEDS = {"tuned on": references.TUNED_ON, "held out": references.HELD_OUT}
_SHOWN, _PROVED = 10.0, 20.0  # seconds after which the gap is read, and within which proofs count
_HEAD_START = 0.1  # seconds of search before the partner begins, as `cosched plan` has it


class Trace(NamedTuple):
    """What was known of one queue, and when.

    Attributes:
        makespans: seconds, and the makespan of a plan found then.
        bounds: seconds, and a bound proved then.
    """

    makespans: list[tuple[float, float]]
    bounds: list[tuple[float, float]]

    def gap(self, seconds: float) -> float:
        """Return the gap that is shown after so many seconds."""
        shortest = min(makespan for found, makespan in self.makespans if found <= seconds)
        return shortest / max(bound for found, bound in self.bounds if found <= seconds) - 1

    def proved(self) -> float:
        """Return after how many seconds a plan was known to be optimal; infinite for never."""
        times = sorted({found for found, _ in self.makespans + self.bounds})
        return next((found for found in times if found >= self.first and proved_optimal(1 + self.gap(found), 1.0)), inf)

    @property
    def first(self) -> float:
        """When both a plan and a bound were known."""
        return max(self.makespans[0][0], self.bounds[0][0])


def shown_gaps(figures: Figures, tasks: int, name: str) -> None:
    """Print the mean and the worst gap, and how many plans were proved to be optimal, of queues on 16 hosts.

    Args:
        figures: what to add to.
        tasks: of each queue.
        name: of the seeds, "tuned on" or "held out".
    """
    seeds = _SEEDS[name]
    about = f"{tasks} tasks on {references.HOSTS} hosts, seeds {seeds[0]} to {seeds[-1]}, {name}"
    figures.section(
        f"gap {tasks} {name}",
        f"{about:60} gap after {_SHOWN:.0f} s: mean   worst   optimal in {_PROVED:.0f} s",
    )
    found = [_traces(queue(tasks, references.HOSTS, seed)) for seed in seeds]
    for row in found[0]:
        traces = [each[row] for each in found]
        gaps = [trace.gap(_SHOWN) for trace in traces]
        proved = sum(trace.proved() <= _PROVED for trace in traces)
        line = f"{row:60} {np.mean(gaps):21.2%} {max(gaps):7.2%} {proved:9} of {len(seeds)}"
        figures.row(row, line, mean=float(np.mean(gaps)), worst=max(gaps), share=proved / len(seeds), gaps=gaps)


def _traces(problem: Problem) -> dict[str, Trace]:
    """Return what was known of a queue by each kind of bound."""
    own, early = searched(problem, _SHOWN)
    traces = {"area bound": Trace(own.makespans, [(0.0, lower_bound(problem))]), "the search's own bound": own}
    if uncovered(problem) is None and find_spec("ortools") is not None:
        traces["with the exact partner"] = accompanied(problem, own, early)
    return traces


def searched(problem: Problem, seconds: float) -> tuple[Trace, Plan]:
    """Return what the search alone finds, and the plan that it has after the head start."""
    began = time.thread_time()
    search = GeneticSearch(problem, MAKESPAN, seed=1)
    trace = Trace([(0.0, search.figures().makespan)], [(0.0, search.bound)])
    early = search.best
    while not search.finished and time.thread_time() - began < seconds:
        if search.step(10):
            trace.makespans.append((time.thread_time() - began, search.figures().makespan))
        if time.thread_time() - began <= _HEAD_START:
            early = search.best
    return trace, early


def accompanied(problem: Problem, own: Trace, early: Plan) -> Trace:
    """Return what the search has found and what its partner finds beside it, from the search's early plan."""
    trace = Trace([*own.makespans], [*own.bounds])
    if proved_optimal(1 + trace.gap(_SHOWN), 1.0):
        return trace
    for took, finding in findings(problem, early, trace.bounds[0][1], _PROVED):
        trace.bounds.append((_HEAD_START + took, finding.bound))
        if finding.plan is not None:
            trace.makespans.append((_HEAD_START + took, max(spans(problem, finding.plan)[1])))
    return trace
