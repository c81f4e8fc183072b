"""The ways of waiting chains as genes of the search; start at `with_ways`.

The search sees the stages of a chain with every host count that a way of theirs has, and keeps those together that go
together (`scheduling.ways`). It chooses among ways of no less quality than the chosen one's, which alone is known here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.coscheduler.planning.problem_builder import run_times
from cosched.coscheduler.stages.stage import NO_WORK
from cosched.coscheduler.stages.ways import in_way, waiting_stages
from cosched.scheduling.ways import ChainWays

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.planning.problem_builder import PlanningAssumptions
    from cosched.coscheduler.state import CoreState
    from cosched.coscheduler.task import Task
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["chosen_ways", "with_ways"]

_MOST_CHAINS = 32  # whose ways are genes, the first to arrive; the times of their stages are made for each search
_EQUAL = 1e-9  # relative


class _Gene(NamedTuple):
    """A chain whose way is a gene.

    Attributes:
        chain: its identifier.
        stages: its tasks that wait.
        ways: indices of the ways to choose from; the first is the one that it has.
        leader: index of the stage by whose host count the way is known.
    """

    chain: str
    stages: Sequence[Task]
    ways: tuple[int, ...]
    leader: int

    def hosts(self) -> NDArray[np.int64]:
        """Return (W, S) host counts."""
        return np.array([[_hosts(task, way) for task in self.stages] for way in self.ways], dtype=np.int64)


def with_ways(problem: Problem, state: CoreState, assumptions: PlanningAssumptions, time: float) -> Problem:
    """Return a problem in which the search may choose the ways of chains.

    It is as it was on hosts of several classes, that are shared, or that come and go.

    Args:
        problem: of what waits, in seconds from `time`.
        state: the live tasks.
        assumptions: what the problem reckons with.
        time: epoch seconds.
    """
    genes = list(_genes(problem, state))
    if not genes:
        return problem
    seconds, deadline, ways = problem.seconds.copy(), problem.deadline.copy(), list[ChainWays]()
    rows_of = {name: row for row, name in enumerate(problem.tasks)}
    for gene in genes:
        rows = [rows_of[task.id] for task in gene.stages]
        for row, task in zip(rows, gene.stages, strict=True):
            for way in gene.ways[1:]:
                led = in_way(task, way)
                times = run_times(led, assumptions, problem.classes, len(problem.hosts))
                seconds[:, row, led.spec.count - 1] = times[:, led.spec.count - 1]
                # A way may leave a stage more time than others: what it may not exceed is looked at with the plan.
                left = np.inf if led.due is None else led.due - time
                deadline[row] = max(deadline[row], left * (1 - assumptions.margin) if left > 0 else left)
        ways.append(ChainWays(np.array(rows, dtype=np.int64), gene.hosts(), gene.leader))
    return replace(problem, seconds=seconds, deadline=deadline, ways=tuple(ways))


def chosen_ways(problem: Problem, plan: Plan, state: CoreState) -> Mapping[str, int]:
    """Return the chains that a plan of a problem `with_ways` leads along another way than they have, with that way."""
    found = dict[str, int]()
    for gene, ways in zip(_genes(problem, state) if problem.ways else (), problem.ways, strict=True):
        way = int(ways.chosen(plan.counts[np.newaxis])[0])
        if way:
            found[gene.chain] = gene.ways[way]
    return found


def _genes(problem: Problem, state: CoreState) -> Iterator[_Gene]:
    """Yield the chains whose ways can be genes, in order of arrival."""
    alike = bool(np.all(problem.host_class == problem.host_class[0])) and not problem.unavailability
    if not state.chained or problem.packing is not None or not alike:
        return
    known, found = set(problem.tasks), 0
    for chain in state.chains():
        stages = waiting_stages(state, chain)
        if not stages or not known.issuperset(task.id for task in stages):
            continue
        if any(task.status.held_by for task in state.chain(chain)):
            continue
        gene = _gene(chain, stages, len(problem.hosts))
        if gene is not None:
            yield gene
            found += 1
            if found == _MOST_CHAINS:
                return


def _gene(chain: str, stages: Sequence[Task], hosts: int) -> _Gene | None:
    """Return a chain's gene; None where no other way can be told by a host count."""
    first = stages[0].stage
    assert first is not None
    able = [way for way in first.open if way != first.way and _fits(stages, way, hosts)]
    able = [way for way in able if first.ways[way].quality >= first.quality * (1 - _EQUAL)]
    if not able:
        return None
    counts = [len({_hosts(task, way) for way in (first.way, *able)}) for task in stages]
    leader = int(np.argmax(counts))
    kept = [first.way]
    for way in able:
        if _can_be_told(stages, leader, kept, way):
            kept.append(way)
    return _Gene(chain, stages, tuple(kept), leader) if len(kept) > 1 else None


def _can_be_told(stages: Sequence[Task], leader: int, kept: Sequence[int], way: int) -> bool:
    """Return whether a way has a host count of its own at the leader, and stages of the same count are the same."""
    for place, task in enumerate(stages):
        assert task.stage is not None
        for other in kept:
            if _hosts(task, other) != _hosts(task, way):
                continue
            if place == leader or task.stage.ways[other].work != task.stage.ways[way].work:
                return False
    return True


def _fits(stages: Sequence[Task], way: int, hosts: int) -> bool:
    """Return whether all stages have work in a way, for which there are hosts enough."""
    return all(
        task.stage is not None and task.stage.ways[way].work != NO_WORK and _hosts(task, way) <= hosts
        for task in stages
    )


def _hosts(task: Task, way: int) -> int:
    assert task.stage is not None
    return task.stage.works[task.stage.ways[way].work].hosts
