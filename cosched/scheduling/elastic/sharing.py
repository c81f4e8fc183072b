"""Policies that divide all hosts among all tasks: in equal parts, by remaining size, by efficiency."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.prediction.efficiency import hosts_for_efficiency
from cosched.scheduling.elastic.fixed import keeps_all
from cosched.scheduling.elastic.policy import Draft, ElasticPolicy, ElasticPolicyName, by_arrival
from cosched.scheduling.elastic.starting import StartRule, start_in_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cosched.scheduling.elastic.tasks import (
        Allocation,
        ElasticParameters,
        ElasticPool,
        ElasticProgress,
        ElasticTask,
    )

__all__ = ["Equi", "HeSrpt", "Satin", "fitted_power"]

_ROUNDING = 1e-9  # a whole number of hosts stays one
_REMEMBERED = 4096  # tasks


class Equi(ElasticPolicy):
    """Equal shares."""

    name = ElasticPolicyName.EQUI
    summary = "every task has as many hosts as any other, as far as they help it"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Give hosts one useful step at a time to the task with the fewest."""
        draft = Draft(pool)
        hosts = _at_least(draft, by_arrival([*pool.running, *pool.waiting]), parameters)
        idle = pool.hosts - sum(hosts.values())
        while idle:
            steps = []
            for name, held in hosts.items():
                wider = draft.tasks[name].task.wider(held)
                if wider is not None and wider - held <= idle:
                    steps.append((held, name, wider))
            if not steps:
                break
            held, name, wider = min(steps)
            hosts[name] = wider
            idle -= wider - held
        return _allocated(draft, hosts)


class HeSrpt(ElasticPolicy):
    """Berg, Vesilo and Harchol-Balter: "heSRPT: Optimal Scheduling of Parallel Jobs with Known Sizes".

    Optimal for mean flow time where every task has the speed-up n^p and hosts can be divided at will: of m tasks by
    descending remaining size the i-th has the part (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p)) of the hosts.
    """

    name = ElasticPolicyName.HESRPT
    summary = "the less is left of a task, the larger its part of the hosts, as is best for the speed-up n^p"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Round the parts down to useful numbers; what is left over goes to the tasks with the least to do."""
        draft = Draft(pool)
        everybody = [*pool.running, *pool.waiting]
        if not everybody:
            return draft.allocation()
        smallest = sorted(everybody, key=lambda each: (_size(each), each.task.id))
        power = fmean(fitted_power(each.task) for each in everybody)
        parts = list(zip(smallest, reversed(_parts(len(everybody), power, pool.hosts)), strict=True))
        hosts = _at_least(draft, smallest, parameters)
        idle = pool.hosts - sum(hosts.values())
        for rounded in (True, False):
            for each, part in parts:
                held = hosts.get(each.task.id, 0)
                wanted = min(math.floor(part + _ROUNDING) if rounded else pool.hosts, held + idle)
                if held and each.task.fitting(wanted) > held:
                    hosts[each.task.id] = each.task.fitting(wanted)
                    idle -= hosts[each.task.id] - held
        return _allocated(draft, hosts)


@lru_cache(maxsize=_REMEMBERED)  # asked of every task at every event
def fitted_power(task: ElasticTask) -> float:
    """Return p of the speed-up n^p that fits a task's best, by its logarithms; within 0.01…0.99."""
    first = task.useful[0]
    points = [(math.log(count / first), math.log(task.on(first) / task.on(count))) for count in task.useful[1:]]
    squares = sum(x * x for x, _ in points)
    return min(max(sum(x * y for x, y in points) / squares, 0.01), 0.99) if points else 0.01


def _parts(tasks: int, power: float, hosts: int) -> list[float]:
    """Return the hosts of each task by descending remaining size."""
    edges = [(place / tasks) ** (1 / (1 - power)) for place in range(tasks + 1)]
    return [hosts * (upper - lower) for lower, upper in pairwise(edges)]


def _size(progress: ElasticProgress) -> float:
    """Return the host-seconds left of a task on its fewest hosts."""
    return progress.remaining_on(progress.task.least) * progress.task.least


def _at_least(draft: Draft, preference: Sequence[ElasticProgress], parameters: ElasticParameters) -> dict[str, int]:
    """Give each task its least hosts: those that must keep some, then others in order.

    A task that does not fit lets nobody behind it start before it, unless backfilling lets them.
    """
    firm = [each for each in draft.having if not each.task.suspendable]
    for each in list(draft.having):
        draft.set(each, each.task.least if each in firm else 0)
    places = {each.task.id: place for place, each in enumerate(preference)}
    draft.waiting.sort(key=lambda each: places[each.task.id])
    start_in_order(draft, StartRule(_least_or_none, _least, keeps_all, parameters.backfill))
    return dict(draft.hosts)


def _least(progress: ElasticProgress) -> int:
    return progress.task.least


def _least_or_none(progress: ElasticProgress, free: int) -> int:
    return progress.task.least if progress.task.least <= free else 0


def _allocated(draft: Draft, hosts: dict[str, int]) -> Allocation:
    """Return an allocation in which tasks that had hosts before keep their order."""
    before = [each.task.id for each in draft.pool.running if each.task.id in hosts]
    draft.hosts = {name: hosts[name] for name in dict.fromkeys([*before, *hosts])}
    return draft.allocation()


class Satin(ElasticPolicy):
    """Wrzesinska, Maassen and Bal: "Self-adaptive applications on the Grid", for hosts that are alike.

    Each task looks at its own efficiency alone. Hosts of different speeds and clusters: `adaptation`.
    """

    name = ElasticPolicyName.SATIN
    summary = "each task grows while it is efficient and shrinks where it is not"

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        """Take hosts of inefficient tasks, start waiting ones in order, then let efficient ones grow."""
        draft = Draft(pool)
        wishes = {}
        for each in pool.running:
            efficiency = _efficiency(each.task, each.hosts)
            if efficiency < parameters.least_efficiency or efficiency > parameters.most_efficiency:
                wish = hosts_for_efficiency(each.hosts, efficiency, parameters.most_efficiency)
                wishes[each.task.id] = min(max(wish, each.task.least), each.task.most)
        for name, wish in wishes.items():
            if wish < draft.hosts[name]:
                draft.set(draft.tasks[name], wish)
        start_in_order(draft, StartRule(_up_to_preferred, _least, keeps_all, parameters.backfill))
        for name, wish in wishes.items():
            held = draft.hosts[name]
            hosts = draft.tasks[name].task.fitting(min(wish, held + draft.idle))
            if hosts > held:
                draft.set(draft.tasks[name], hosts)
        return draft.allocation()


def _efficiency(task: ElasticTask, hosts: int) -> float:
    """Return the speed-up a host, against the fewest hosts on which the task runs."""
    return task.on(task.least) * task.least / (task.on(hosts) * hosts)


def _up_to_preferred(progress: ElasticProgress, free: int) -> int:
    return progress.task.fitting(min(free, progress.task.preferred))
