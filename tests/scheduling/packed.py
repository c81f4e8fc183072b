"""Problems on shared hosts for tests: made by hand, or drawn by hypothesis."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from cosched.scheduling.availability import Unavailability, normalised_availability
from cosched.scheduling.packing import Held, Packing
from cosched.scheduling.plan import Plan
from cosched.scheduling.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape = tuple[int, tuple[int, ...], tuple[float, ...]]
"""Hosts, what it takes of each, seconds by class."""


def a_packed_problem(
    shapes: Sequence[Sequence[Shape]],
    capacity: Sequence[tuple[int, ...]],
    *,
    host_class: Sequence[int] | None = None,
    free: Sequence[float] | None = None,
    held: Sequence[Held] = (),
    deadline: Sequence[float] | None = None,
    release: Sequence[float] | None = None,
    depends_on: tuple[tuple[int, ...], ...] = (),
    unavailability: Sequence[Unavailability] = (),
) -> Problem:
    """Return a problem whose tasks are a, b, c …, hosts h0, h1, … with cores, memory, GPUs."""
    every = [shape for of_task in shapes for shape in of_task]
    packing = Packing(
        ("cores", "memory", "gpus")[: len(capacity[0])],
        np.array(capacity, dtype=np.int64),
        np.cumsum([0, *[len(of_task) for of_task in shapes]], dtype=np.int64),
        np.array([hosts for hosts, _, _ in every], dtype=np.int64),
        np.array([demand for _, demand, _ in every], dtype=np.int64),
        np.array([seconds for _, _, seconds in every], dtype=np.float64),
        tuple(held),
    )
    classes = len(every[0][2])
    begins, away = normalised_availability(
        np.array(free if free is not None else [0.0] * len(capacity)), unavailability
    )
    return Problem(
        tasks=tuple("abcdefghijklmnopqrstuvwxyz"[: len(shapes)]),
        hosts=tuple(f"h{host}" for host in range(len(capacity))),
        classes=tuple(f"c{number}" for number in range(classes)),
        host_class=np.array(host_class if host_class is not None else [0] * len(capacity), dtype=np.int64),
        free=begins,
        seconds=packing.seconds_by_count(classes),
        release=np.array(release if release is not None else [0.0] * len(shapes), dtype=np.float64),
        deadline=np.array(deadline if deadline is not None else [math.inf] * len(shapes), dtype=np.float64),
        depends_on=depends_on,
        unavailability=away,
        packing=packing,
    )


@st.composite
def packed_problems(draw: st.DrawFn, *, tasks: int = 8, hosts: int = 4, unavailability: bool = False) -> Problem:
    """Draw a problem with cores, perhaps memory of many units and GPUs; the first host can run every shape's part."""
    n, m, k = draw(st.integers(1, hosts)), draw(st.integers(1, tasks)), draw(st.integers(1, 2))
    resources = draw(st.integers(1, 3))
    most = (6, 3000, 2)[:resources]
    times = st.one_of(st.integers(1, 5).map(float), st.floats(0.1, 50.0))
    later = st.one_of(st.just(0.0), st.integers(0, 4).map(float), st.floats(0.0, 50.0))
    amounts = [st.integers(1, most[0]), st.integers(0, 3000) | st.sampled_from((0, 1000, 2000)), st.integers(0, 2)]
    capacity = [most] + [tuple(draw(amounts[r]) for r in range(resources)) for _ in range(n - 1)]
    host_class = [0] + [draw(st.integers(0, k - 1)) for _ in range(n - 1)]

    def shape() -> Shape:
        demand = tuple(draw(amounts[r]) for r in range(resources))
        seconds = [draw(times)] + [draw(times | st.just(math.inf)) for _ in range(k - 1)]
        able = [host for host in range(n) if all(a <= b for a, b in zip(demand, capacity[host], strict=True))]
        able = [host for host in able if math.isfinite(seconds[host_class[host]])]
        return draw(st.integers(1, len(able))), demand, tuple(seconds)

    held, left = [], [list(had) for had in capacity]
    for _ in range(draw(st.integers(0, 3))):
        host = draw(st.integers(0, n - 1))
        taken = tuple(draw(st.integers(0, had)) for had in left[host])
        left[host] = [had - part for had, part in zip(left[host], taken, strict=True)]
        held.append(Held(host, draw(later), taken))
    before = [draw(st.sets(st.integers(0, task - 1), max_size=2)) if task else set() for task in range(m)]
    spots = st.builds(
        lambda host, begin, length: Unavailability(host, begin, begin + length), st.integers(0, n - 1), later, times
    )
    return a_packed_problem(
        [[shape() for _ in range(draw(st.integers(1, 3)))] for _ in range(m)],
        capacity,
        host_class=host_class,
        free=[draw(later) for _ in range(n)],
        held=held,
        deadline=[draw(times | st.just(math.inf)) for _ in range(m)],
        release=[draw(later) for _ in range(m)],
        depends_on=tuple(tuple(sorted(others)) for others in before) if draw(st.booleans()) else (),
        unavailability=draw(st.lists(spots, max_size=3)) if unavailability else (),
    )


@st.composite
def packed_plans(draw: st.DrawFn, problem: Problem) -> Plan:
    """Draw a plan; its order need not respect the dependencies."""
    assert problem.packing is not None
    order = draw(st.permutations(range(len(problem.tasks))))
    first = problem.packing.first.tolist()
    shapes = [draw(st.integers(begin, end - 1)) for begin, end in pairwise(first)]
    return Plan(np.array(order, dtype=np.int64), np.array(shapes, dtype=np.int64))
