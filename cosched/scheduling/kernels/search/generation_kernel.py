"""Generations of the genetic search, as many in one call as nothing interrupts; start at `generations`.

To hand a problem's tables to compiled code takes several microseconds, a quarter of a generation of a short queue.
They are compiled for each kind of tables: whole hosts, elastic tasks, shared hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.host_counts import encoded_choices
from cosched.scheduling.kernels.decoding.packing_tables import PackingTables
from cosched.scheduling.kernels.elastic.lending_kernel import ElasticTables
from cosched.scheduling.kernels.jit import compiled, inlined
from cosched.scheduling.kernels.objective import elastic_kernel, objective_kernel, packing_kernel
from cosched.scheduling.kernels.objective.objective_kernel import repair_orders, take_turns
from cosched.scheduling.kernels.search.genetic_operators import crossover, mutate, replace_parents
from cosched.scheduling.kernels.search.justification_kernel import justify
from cosched.scheduling.kernels.search.way_kernel import WayTables, choose_ways, lead_along, tabulate_ways
from cosched.scheduling.shapes import shape_choices

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cosched.scheduling.kernels.decoding.problem_tables import ProblemTables
    from cosched.scheduling.problem import Problem

    Tables = ProblemTables | PackingTables | ElasticTables
    _People = tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]
    ]  # as `generations` is given them

__all__ = ["GeneTables", "generations", "judge_plans", "make_children", "mutate_plans", "tabulate_genes"]

_CROSSED = 0.9  # share of children with a second parent
_JUSTIFIED = 0.15  # share of children that are justified, where this applies
_MANY = 200  # tasks that share hosts, from which on decodes are too dear for it


class GeneTables(NamedTuple):
    """The choices, turns and ways of a problem, as the operators read them.

    Attributes:
        choices: useful choices of all tasks, those of j in choices[first[j]:first[j+1]], ascending.
        first: (m+1,) see `choices`.
        user: (m,) as in `problem.Turns`; empty where users take no turns, and so is `sequence`.
        sequence: (T,) likewise.
        ways: chains of tasks that have several ways.
        justified: share of children that are justified; 0 where tasks have hosts for themselves.
    """

    choices: NDArray[np.int64]
    first: NDArray[np.int64]
    user: NDArray[np.int64]
    sequence: NDArray[np.int64]
    ways: WayTables
    justified: float


def tabulate_genes(problem: Problem) -> GeneTables:
    """Lay out for the compiled code what plans of a problem may be."""
    packing, turns, none = problem.packing, problem.turns, np.empty(0, dtype=np.int64)
    choices, first = encoded_choices(problem) if packing is None else shape_choices(problem, packing)
    user, sequence = (none, none) if turns is None else (turns.user, turns.sequence)
    share = _JUSTIFIED if _justifies(problem) else 0.0
    return GeneTables(choices, first, user, sequence, tabulate_ways(problem.ways), share)


def _justifies(problem: Problem) -> bool:
    """Return whether few tasks share hosts of which none must wait for another one, be early or take turns."""
    few = problem.packing is not None and len(problem.tasks) < _MANY
    bound = any(problem.depends_on) or bool(np.isfinite(problem.deadline).any()) or problem.turns is not None
    return few and not bound and not problem.elastic


def judge_plans(
    problem: Tables,
    genes: GeneTables,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    limits: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Have users take turns in the orders, and return each plan's objective.

    Args:
        problem: as its objective's `tabulate` lays it out.
        genes: see `tabulate_genes`.
        orders: (P, m) permutations in which every task is behind its predecessors; changed where users take turns.
        counts: (P, m) choices by task, each usable.
        limits: (P,) a plan that is worse than its limit may get any cost that is worse.
    """
    if genes.sequence.shape[0] > 0:
        take_turns(genes.user, genes.sequence, orders)
        repair_orders(problem.before, problem.first, orders)
    if isinstance(problem, PackingTables):
        return packing_kernel.compare_children(problem, orders, counts, limits)
    if isinstance(problem, ElasticTables):
        return elastic_kernel.compare_children(problem, orders, counts, limits)
    return objective_kernel.compare_children(problem, orders, counts, limits)


@compiled
def mutate_plans(
    state: NDArray[np.uint64],
    genes: GeneTables,
    before: NDArray[np.int64],
    first: NDArray[np.int64],
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Change every plan at random; afterwards tasks are behind their predecessors, and chains go one way each.

    Predecessors are given as in `ProblemTables`.
    """
    chosen = choose_ways(state, genes.ways, counts)
    mutate(state, genes.choices, genes.first, orders, counts)
    lead_along(genes.ways, chosen, counts)
    repair_orders(before, first, orders)


@compiled
def make_children(
    state: NDArray[np.uint64],
    genes: GeneTables,
    before: NDArray[np.int64],
    first: NDArray[np.int64],
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    child_orders: NDArray[np.int64],
    child_counts: NDArray[np.int64],
) -> None:
    """Fill in a child of every individual: two that are crossed, or a copy, and then changed at random."""
    crossover(state, _CROSSED, orders.shape[0], orders, counts, child_orders, child_counts)
    mutate_plans(state, genes, before, first, child_orders, child_counts)


def generations(
    state: NDArray[np.uint64],
    problem: Tables,
    genes: GeneTables,
    most: int,
    better: float,
    orders: NDArray[np.int64],
    counts: NDArray[np.int64],
    costs: NDArray[np.float64],
    child_orders: NDArray[np.int64],
    child_counts: NDArray[np.int64],
) -> tuple[int, int]:
    """Go on for some generations, or until an individual costs less than `better`.

    Args:
        state: state of the random numbers.
        problem: as its objective's `tabulate` lays it out.
        genes: see `tabulate_genes`.
        most: generations, at least 1.
        better: a cost.
        orders: (P, m) the population's orders, changed in place.
        counts: (P, m) its choices, likewise.
        costs: (P,) its costs, likewise.
        child_orders: (P, m) room for children.
        child_counts: (P, m) likewise.

    Returns:
        Generations done, and the index of the best individual.
    """
    people = (orders, counts, costs, child_orders, child_counts)
    if isinstance(problem, PackingTables):
        return _on_shared_hosts(state, problem, genes, most, better, people)
    if isinstance(problem, ElasticTables):
        return _with_elastic_tasks(state, problem, genes, most, better, people)
    return _on_whole_hosts(state, problem, genes, most, better, people)


@inlined
def _generations(
    compare: Callable[..., NDArray[np.float64]],
    justified: Callable[..., None],
    state: NDArray[np.uint64],
    problem: Tables,
    genes: GeneTables,
    most: int,
    better: float,
    people: _People,
) -> tuple[int, int]:
    """Do the work of `generations`; `compare` returns the objective of children, `justified` justifies some."""
    orders, counts, costs, child_orders, child_counts = people
    done, best = 0, 0
    while done < most:
        make_children(state, genes, problem.before, problem.first, orders, counts, child_orders, child_counts)
        if genes.justified > 0.0:
            justified(problem, state, genes.justified, child_orders, child_counts)
        if genes.sequence.shape[0] > 0:
            take_turns(genes.user, genes.sequence, child_orders)
            repair_orders(problem.before, problem.first, child_orders)
        child_costs = compare(problem, child_orders, child_counts, costs)
        best = replace_parents(orders, counts, costs, child_orders, child_counts, child_costs)
        done += 1
        if costs[best] < better:
            break
    return done, best


@inlined
def _not_justified(
    problem: Tables, state: NDArray[np.uint64], share: float, orders: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    pass


@compiled
def _on_whole_hosts(
    state: NDArray[np.uint64],
    problem: ProblemTables,
    genes: GeneTables,
    most: int,
    better: float,
    people: _People,
) -> tuple[int, int]:
    return _generations(objective_kernel.compare_children, _not_justified, state, problem, genes, most, better, people)


@compiled
def _with_elastic_tasks(
    state: NDArray[np.uint64],
    problem: ElasticTables,
    genes: GeneTables,
    most: int,
    better: float,
    people: _People,
) -> tuple[int, int]:
    return _generations(elastic_kernel.compare_children, _not_justified, state, problem, genes, most, better, people)


@compiled
def _on_shared_hosts(
    state: NDArray[np.uint64],
    problem: PackingTables,
    genes: GeneTables,
    most: int,
    better: float,
    people: _People,
) -> tuple[int, int]:
    return _generations(packing_kernel.compare_children, justify, state, problem, genes, most, better, people)
