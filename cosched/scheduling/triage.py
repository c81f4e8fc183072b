"""Whom to keep on time and whom to give up, on identical hosts: how plans are read where deadlines come first.

A plan is read as a list of claims. In its order each task takes the hosts that it asks for if it ends in time with
them, else the cheapest useful count that does; who cannot end in time on any is given up and goes behind all others, in
the way of nobody. How many are given up says little about how near a plan is to one fewer, so lateness is forgiven in
part: one of less than `mercy` seconds stays in place, on the hosts with which it ends first, and costs a part of a
missed deadline. Loading this module loads numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.scheduling.ascending import occupied, room
from cosched.scheduling.jit import compiled
from cosched.scheduling.widths import choices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cosched.scheduling.compiled import Tables
    from cosched.scheduling.problem import Problem

__all__ = ["Claims", "Reading", "claims", "reading", "reread", "rescue"]


class Claims(NamedTuple):
    """A problem as triage reads it: identical hosts, no dependencies.

    Attributes:
        seconds: (m, W) run times on 1 … W hosts.
        free: (N,) when each host becomes free, ascending.
        release: (m,) earliest starts.
        deadline: (m,) deadlines.
        counts: useful host counts of all tasks, those of j in counts[first[j]:first[j+1]], fewest host-seconds first.
        first: (m+1,) see `counts`.
        shortest: (m,) each task's shortest run time.
    """

    seconds: NDArray[np.float64]
    free: NDArray[np.float64]
    release: NDArray[np.float64]
    deadline: NDArray[np.float64]
    counts: NDArray[np.int64]
    first: NDArray[np.int64]
    shortest: NDArray[np.float64]


class Reading(NamedTuple):
    """A plan as triage left it, and what it takes to read on from any place of it.

    Attributes:
        order: (m,) the tasks that are kept, behind them those given up.
        asked: (m,) by task, the host count to try first; 0 for the cheapest that is in time.
        counts: (m,) by task, the host count that it takes; those given up keep that of an earlier reading.
        ends: (m,) by task, when those that are kept end.
        free: (m+1, 2 N) when hosts become free, ascending, ahead of each place (see `ascending.room`).
        costs: (m+1,) what the lateness ahead of each place costs.
        given_up: (m,) room for those given up.
    """

    order: NDArray[np.int64]
    asked: NDArray[np.int64]
    counts: NDArray[np.int64]
    ends: NDArray[np.float64]
    free: NDArray[np.float64]
    costs: NDArray[np.float64]
    given_up: NDArray[np.int64]


def claims(problem: Problem, tables: Tables) -> Claims:
    """Lay out a problem of identical hosts, which has these tables."""
    seconds = tables.seconds[0]
    counts, first = choices(problem)
    tasks = np.repeat(np.arange(len(first) - 1), np.diff(first))
    took = seconds[tasks, counts - 1]
    cheapest_first = np.lexsort((counts * took, tasks))
    return Claims(
        np.ascontiguousarray(seconds),
        tables.free,
        tables.release,
        tables.deadline,
        counts[cheapest_first],
        first,
        np.minimum.reduceat(took, first[:-1]),
    )


def reading(problem: Claims, order: NDArray[np.int64]) -> Reading:
    """Return room for a reading; its plan has this order, everybody asks for the cheapest count that is in time."""
    tasks, hosts = len(order), len(problem.free)
    free = room(tasks + 1, hosts)
    free[0, :hosts] = problem.free
    asked = np.zeros(tasks, dtype=np.int64)
    cheapest = problem.counts[problem.first[:-1]]
    return Reading(order.copy(), asked, cheapest, np.zeros(tasks), free, np.zeros(tasks + 1), order.copy())


@compiled
def reread(problem: Claims, mercy: float, limit: float, begin: int, plan: Reading) -> tuple[int, float]:
    """Read a plan from some place on, and leave it as it was read.

    Args:
        problem: see `claims`.
        mercy: seconds; 0 for none.
        limit: a cost above which the plan is of no interest.
        begin: the place; what the reading holds of the places ahead of it is right.
        plan: from `begin` on only its order and what the tasks ask for are looked at.

    Returns:
        How many tasks are kept, and the cost; (-1, a part of the cost) as soon as that is above the limit.
    """
    seconds, _, release, deadline, useful, first, shortest = problem  # once: a look into a tuple takes its time
    order, asked, counts, ends, free, costs, given_up = plan
    cost, kept, lost, hosts = costs[begin], begin, 0, problem.free.shape[0]
    a_second = 1.0 / mercy if mercy > 0.0 else 0.0
    for place in range(begin, order.shape[0]):
        task = order[place]
        due, ready, count, end = deadline[task], release[task], asked[task], np.inf
        earliest = max(free[kept, 0], ready) + shortest[task]
        if earliest <= due or earliest - due < mercy:
            if count > 0:
                end = max(free[kept, count - 1], ready) + seconds[task, count - 1]
            if count == 0 or end > due:
                asked[task], end = 0, np.inf
                for index in range(first[task], first[task + 1]):
                    other = useful[index]
                    others_end = max(free[kept, other - 1], ready) + seconds[task, other - 1]
                    if others_end < end:
                        count, end = other, others_end
                    if end <= due:
                        break
        if end > due and end - due >= mercy:
            given_up[lost] = task
            lost += 1
        else:
            cost += max(0.0, end - due) * a_second
            order[kept], counts[task], ends[task] = task, count, end
            occupied(free[kept], hosts, count, end, free[kept + 1])
            kept += 1
            costs[kept] = cost
        if cost + lost > limit:
            return -1, cost + lost
    order[kept:] = given_up[:lost]
    return kept, cost + lost


@compiled
def rescue(problem: Claims, room: Reading, orders: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Rewrite a population, orders and counts of (P, m) each, by triage without mercy; `room` is any reading."""
    for plan in range(orders.shape[0]):
        room.order[:] = orders[plan]
        room.asked[:] = counts[plan]
        room.counts[:] = counts[plan]
        reread(problem, 0.0, np.inf, 0, room)
        orders[plan, :] = room.order
        counts[plan, :] = room.counts
