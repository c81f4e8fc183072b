"""Problems for tests: made by hand, or drawn by hypothesis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability, normalised_availability
from cosched.scheduling.host_counts import best_seconds, single_class
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def a_problem(
    profiles: Sequence[Sequence[float]],
    hosts: int = 2,
    *,
    deadline: Sequence[float] | None = None,
    release: Sequence[float] | None = None,
    free: Sequence[float] | None = None,
    depends_on: tuple[tuple[int, ...], ...] = (),
) -> Problem:
    """Return a problem on identical hosts; tasks are a, b, c …, hosts h0, h1, …"""
    seconds = np.full((1, len(profiles), hosts), np.inf)
    for task, profile in enumerate(profiles):
        seconds[0, task, : len(profile)] = profile
    return Problem(
        tasks=tuple("abcdefghijklmnopqrstuvwxyz"[: len(profiles)]),
        hosts=tuple(f"h{host}" for host in range(hosts)),
        classes=("only",),
        host_class=np.zeros(hosts, dtype=np.int64),
        free=np.array(free if free is not None else [0.0] * hosts, dtype=np.float64),
        seconds=seconds,
        release=np.array(release if release is not None else [0.0] * len(profiles), dtype=np.float64),
        deadline=np.array(deadline if deadline is not None else [math.inf] * len(profiles), dtype=np.float64),
        depends_on=depends_on,
    )


def a_matrix(seconds: NDArray[np.float64]) -> Problem:
    """Return the independent one-host tasks of an (m, N) matrix of run times; every host is a class of its own."""
    tasks, hosts = seconds.shape
    table = np.full((hosts, tasks, hosts), math.inf)
    table[:, :, 0] = seconds.T
    names = tuple(f"h{host}" for host in range(hosts))
    return Problem(
        tuple(f"t{task}" for task in range(tasks)),
        names,
        names,
        np.arange(hosts, dtype=np.int64),
        np.zeros(hosts),
        table,
        np.zeros(tasks),
        np.full(tasks, math.inf),
    )


@st.composite
def matrices(draw: st.DrawFn, *, tasks: int = 10, hosts: int = 4) -> Problem:
    """Draw independent one-host tasks, of which some cannot run on some hosts."""
    m, n = draw(st.integers(1, tasks)), draw(st.integers(1, hosts))
    times = st.one_of(st.integers(1, 9).map(float), st.floats(0.1, 1e6))
    cells = draw(st.lists(times | st.just(math.inf), min_size=m * n, max_size=m * n))
    seconds = np.array(cells).reshape(m, n)
    seconds[~np.isfinite(seconds).any(axis=1), 0] = draw(times)
    return a_matrix(seconds)


def a_plan(order: Sequence[int], counts: Sequence[int]) -> Plan:
    return Plan(np.array(order, dtype=np.int64), np.array(counts, dtype=np.int64))


def _absence(host: int, begin: float, length: float) -> Unavailability:
    return Unavailability(host, begin, begin + length)


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    tasks: int = 8,
    hosts: int = 6,
    classes: int = 3,
    whole: bool = False,
    unavailability: bool = False,
) -> Problem:
    """Draw a problem: profiles in any shape, impossible counts, busy hosts, releases, deadlines, dependencies.

    `whole` keeps every time a small whole number; with `unavailability` hosts come and go, at most one for good.
    """
    m, n, k = draw(st.integers(1, tasks)), draw(st.integers(1, hosts)), draw(st.integers(1, classes))
    times = st.integers(1, 4).map(float) if whole else st.one_of(st.integers(1, 9).map(float), st.floats(0.1, 99.0))
    later = st.integers(0, 4).map(float) if whole else st.one_of(st.just(0.0), st.floats(0.0, 50.0))
    host_class = np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), dtype=np.int64)
    cells = draw(st.lists(times | st.just(math.inf), min_size=k * m * n, max_size=k * m * n))
    seconds = np.array(cells).reshape(k, m, n)
    for task in range(m):  # at least one host alone can run it
        if not np.isfinite(seconds[host_class[0], task, 0]):
            seconds[host_class[0], task, 0] = draw(times)
    before = [draw(st.sets(st.integers(0, task - 1), max_size=2)) if task else set() for task in range(m)]
    free = np.array(draw(st.lists(later, min_size=n, max_size=n)))
    away: tuple[Unavailability, ...] = ()
    if unavailability:
        spots = st.builds(_absence, st.integers(0, n - 1), later, times)
        may_go = n > 1 and draw(st.booleans())  # all tasks can run on the first host
        gone = [Unavailability(n - 1, draw(later), math.inf)] if may_go else []
        free, away = normalised_availability(free, [*draw(st.lists(spots, max_size=4)), *gone])
    return Problem(
        unavailability=away,
        tasks=tuple(f"t{task}" for task in range(m)),
        hosts=tuple(f"h{host}" for host in range(n)),
        classes=tuple(f"c{number}" for number in range(k)),
        host_class=host_class,
        free=free,
        seconds=seconds,
        release=np.array(draw(st.lists(later, min_size=m, max_size=m))),
        deadline=np.array(draw(st.lists(times | st.just(math.inf), min_size=m, max_size=m))),
        depends_on=tuple(tuple(sorted(others)) for others in before) if draw(st.booleans()) else (),
    )


def unconstrained(problem: Problem) -> Problem:
    """Return the problem without releases and dependencies."""
    return replace(problem, release=np.zeros(len(problem.tasks)), depends_on=())


@st.composite
def plans(draw: st.DrawFn, problem: Problem) -> Plan:
    """Draw a plan with usable counts; the order need not respect the dependencies."""
    order = draw(st.permutations(range(len(problem.tasks))))
    usable = np.isfinite(best_seconds(problem))
    plan = a_plan(order, [draw(st.sampled_from((np.flatnonzero(row) + 1).tolist())) for row in usable])
    if single_class(problem) is not None or draw(st.booleans()):
        return plan
    return replace(
        plan,
        classes=np.array(
            [draw(st.sampled_from(able(problem, task, count))) for task, count in enumerate(plan.counts.tolist())]
        ),
    )


def able(problem: Problem, task: int, count: int) -> list[int]:
    """Return the classes whose hosts alone can run a task on so many hosts, and -1."""
    stay = np.isfinite(problem.free)
    stay[[period.host for period in problem.unavailability if math.isinf(period.end)]] = False
    sizes = np.bincount(problem.host_class[stay], minlength=len(problem.classes))
    possible = (sizes >= count) & np.isfinite(problem.seconds[:, task, count - 1])
    return [-1, *np.flatnonzero(possible).tolist()]


def waits(problem: Problem) -> st.SearchStrategy[NDArray[np.float64]]:
    """Draw how long each task has waited, seconds; below 0 where that is to count from later."""
    count = len(problem.tasks)
    return st.lists(st.floats(-20, 5000), min_size=count, max_size=count).map(np.array)
