"""Queues with elastic tasks for tests: made by hand, or drawn by hypothesis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from cosched.scheduling.decoding.decoder import dependency_order
from cosched.scheduling.elastic.tasks import ElasticTask
from cosched.scheduling.host_counts import encoded_choices
from cosched.simulation.experiments.mixed_plan import MixedQueue, mixed_queue
from tests.scheduling.problems import a_problem

if TYPE_CHECKING:
    from cosched.scheduling.problem import Problem

SHARED = (80.0, 40.0, 80 / 3, 20.0, 16.0, 80 / 6, 80 / 7, 10.0)  # on 1 to 8 hosts
WIDE = (math.inf,) * 5 + (15.0,)


def mixed(
    *elastic: int,
    release: tuple[float, ...] = (),
    deadline: tuple[float, ...] = (),
    cost: float = 0.0,
    drain: float = 0.0,
) -> Problem:
    """Return tasks a (elastic if named), b (six hosts) on eight hosts."""
    problem = a_problem([SHARED, WIDE], hosts=8, release=release or None, deadline=deadline or None)
    tasks = {
        task: ElasticTask(problem.tasks[task], tuple(problem.seconds[0, task].tolist()), 1, 8, 1, cost, cost, drain)
        for task in elastic
    }
    return replace(problem, elastic=tasks)


@st.composite
def drawn_problems(draw: st.DrawFn) -> tuple[Problem, list[int], list[int]]:
    """Draw a problem with some elastic tasks, an order and counts that each task can have."""
    hosts, tasks = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    profiles = [draw(st.lists(st.floats(1.0, 1e3), min_size=hosts, max_size=hosts)) for _ in range(tasks)]
    release = draw(st.none() | st.lists(st.sampled_from([0.0, 0.0, 5.0, 300.0]), min_size=tasks, max_size=tasks))
    depends_on: tuple[tuple[int, ...], ...] = ()
    if draw(st.booleans()):
        depends_on = tuple(
            tuple(sorted(draw(st.sets(st.integers(0, task - 1), max_size=2)))) if task else () for task in range(tasks)
        )
    problem = a_problem(profiles, hosts, release=release, depends_on=depends_on)
    elastic, counts, seconds = {}, [], problem.seconds.copy()
    for task in range(tasks):
        if draw(st.booleans()):
            least, preferred, most = sorted(draw(st.lists(st.integers(1, hosts), min_size=3, max_size=3)))
            cost, drain = draw(st.sampled_from([0.0, 0.0, 2.0, 50.0])), draw(st.sampled_from([0.0, 0.0, 3.0]))
            elastic[task] = ElasticTask(
                problem.tasks[task], tuple(profiles[task]), least, most, preferred, cost, cost, drain
            )
            seconds[:, task, : least - 1] = seconds[:, task, most:] = math.inf
            counts.append(draw(st.integers(least, most)))
        else:
            counts.append(draw(st.integers(1, hosts)))
    order = draw(st.permutations(range(tasks)))
    return replace(problem, seconds=seconds, elastic=elastic), list(order), counts


def whole_queue(seed: int) -> tuple[Problem, list[int], list[int]]:
    """Return a queue as benchmarks have them, up to 40 tasks on 16 hosts, an order, and counts that tasks can have."""
    draw = np.random.default_rng(seed)
    problem = mixed_queue(
        MixedQueue(
            tasks=int(draw.integers(5, 40)),
            share=float(draw.uniform(0.2, 1.0)),
            cost=float(draw.choice([0.0, 0.5, 3.0, 20.0])),
            drain=float(draw.choice([0.0, 2.0, 5.0, 15.0])),
        ),
        seed,
    )
    tasks = len(problem.tasks)
    if draw.random() < 0.4:
        release = np.where(draw.random(tasks) < 0.4, draw.uniform(0, 100, tasks), 0.0)
        problem = replace(problem, release=release)
    if draw.random() < 0.4:
        before = [(int(draw.integers(0, task)),) if task and draw.random() < 0.3 else () for task in range(tasks)]
        problem = replace(problem, depends_on=tuple(before))
    choices, first = encoded_choices(problem)
    places = first[:-1] + (draw.random(tasks) * np.diff(first)).astype(np.int64)
    return problem, dependency_order(problem, draw.permutation(tasks).tolist()), choices[places].tolist()
