"""How fast plans are judged: generations of the search beside stock DEAP's, and decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.kernels import kept, queue
from benchmarks.scheduling.peers.stock_deap import stock_deap
from cosched.scheduling.bounds import lower_bound
from cosched.scheduling.host_counts import useful_counts
from cosched.scheduling.kernels.objective import objective_kernel
from cosched.scheduling.objective.weights import ObjectiveName
from cosched.scheduling.search.genetic_search import GeneticSearch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from benchmarks.figures import Figures
    from cosched.scheduling.problem import Problem

__all__ = ["decodes", "generations", "rate"]

_MAKESPAN = ObjectiveName.MAKESPAN.weights
_GENES = 200_000  # drawn at a time


def generations(figures: Figures) -> None:
    """Print generations/s."""
    figures.section("generations", "generations/s, population 40      cosched   stock DEAP")
    for tasks, hosts in ((30, 16), (200, 16), (1000, 64)):
        problem = queue(tasks, hosts, 1)
        ours, began = rate(figures, problem), figures.clock()
        made = stock_deap(problem, 1.0, 1, figures.clock)[1]
        stock = made / (figures.clock() - began)
        figures.row(
            f"{tasks} tasks on {hosts} hosts",
            f"{tasks:5} tasks on {hosts:3} hosts {ours:18.0f} {stock:12.0f}   {ours / stock:.0f} times",
            ours=ours,
            deap=stock,
        )
    for apart in (False, True):
        for tasks, hosts in ((30, 16), (200, 16)):
            ours, when = (
                rate(figures, kept(tasks, hosts, 1, apart=apart)),
                "at times of their own" if apart else "together",
            )
            about = f"{hosts // 4} hosts kept for others, {when}"
            figures.row(
                f"{tasks} tasks on {hosts} hosts, {about}",
                f"{tasks:5} tasks on {hosts:3} hosts {ours:18.0f}   {about}",
                ours=ours,
            )


def rate(figures: Figures, problem: Problem) -> float:
    """Return the search's generations/s."""
    search = GeneticSearch(problem, _MAKESPAN)
    began = figures.clock()
    while figures.clock() - began < 1.0:
        search.step(10)
    return search.generations / (figures.clock() - began)


def decodes(figures: Figures) -> None:
    """Print decodes and objectives/s of plans each of which is decoded once: no branch predictor has seen it before."""
    figures.section("decodes", "decodes and objectives/s, each chromosome decoded once, one core")
    for tasks, hosts in ((30, 16), (200, 64), (1000, 256)):
        problem = queue(tasks, hosts, 1)
        tables = objective_kernel.tabulate(problem, _MAKESPAN, lower_bound(problem))
        draw, done, took = np.random.default_rng(1), 0, 0.0
        while took < 0.5:
            orders, counts = _random_plans(problem, draw, _GENES // tasks)
            began = figures.clock()
            objective_kernel.evaluate_population(tables, orders, counts)
            took += figures.clock() - began
            done += len(orders)
        speed = done / took
        figures.row(
            f"{tasks} tasks on {hosts} hosts",
            f"{tasks:5} tasks on {hosts:3} hosts {speed:18.0f}   {1e9 / speed / tasks:.0f} ns a task",
            per_second=speed,
        )


def _random_plans(
    problem: Problem, draw: np.random.Generator, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (number, m) orders and host counts, all useful ones alike likely."""
    useful = useful_counts(problem)
    tasks = len(useful)
    orders = draw.permuted(np.tile(np.arange(tasks, dtype=np.int64), (number, 1)), axis=1)
    choices = np.argsort(~useful, axis=1, kind="stable") + 1  # each task's useful counts come first
    ranks = (draw.random((number, tasks)) * useful.sum(axis=1)).astype(np.int64)
    return orders, choices[np.arange(tasks), ranks].astype(np.int64)
