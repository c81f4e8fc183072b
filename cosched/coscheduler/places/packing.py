"""A problem's packing: what waiting tasks take of hosts that they share, and what is held of these.

Start at `with_packing`. A waiting task has a shape for each number of hosts on which it can run, and takes the same of
each host in all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.connector.hosts import HostShare
from cosched.scheduling.packing import Held, Packing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.places.hosts import DomainHosts, HeldShare
    from cosched.coscheduler.task import TaskSpec
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["CORES", "GPUS", "MEMORY", "WHOLE", "PlaceRequest", "planned_hosts", "with_packing", "with_shapes"]

CORES, MEMORY, GPUS = "cores", "memory", "gpus"
WHOLE = "whole"
"""A resource of which a host has as much as cores: one that shares the host takes 1, one that has it alone takes all.

Only problems with tasks have it that want hosts for themselves.
"""


class PlaceRequest(NamedTuple):
    """What a task takes of each of its hosts: a share, or the whole of one that has as much."""

    share: HostShare
    whole: bool

    @classmethod
    def of(cls, spec: TaskSpec, domain: DomainHosts) -> PlaceRequest:
        """Return a task's request."""
        share = domain.share_of(spec)
        return cls(HostShare(spec.memory, max(spec.cores, 1), spec.gpus) if share is None else share, share is None)


def with_packing(
    problem: Problem, requests: Sequence[PlaceRequest], domain: DomainHosts, held: Sequence[HeldShare], now: float
) -> Problem:
    """Return a problem whose tasks share hosts.

    Resources are left out that decide nothing: memory where each task has no more than comes with its cores, GPUs where
    no task asks for any.

    Args:
        problem: of whole hosts; its classes tell hosts of different sizes apart.
        requests: those of its tasks, then those of tasks that may be added (see `with_shapes`).
        domain: the hosts.
        held: what attempts and others have of hosts; those that are taken whole are in `Problem.free`.
        now: epoch seconds, the problem's origin.
    """
    different: dict[PlaceRequest, int] = {}
    kinds = [different.setdefault(request, len(different)) for request in requests]
    resources = _resources(different, [each.share for each in held], domain.memory_per_core or 0)
    sizes = [domain.size(name) for name in problem.hosts]
    most = max(size.cores for size in sizes)
    places = {name: place for place, name in enumerate(problem.hosts)}
    owner, column = np.nonzero(np.isfinite(problem.seconds).any(axis=0))
    demand = np.array(
        [_amounts(each.share, most if each.whole else 1, resources) for each in different], dtype=np.int64
    )
    packing = Packing(
        resources,
        np.array([_amounts(size, most, resources) for size in sizes], dtype=np.int64),
        np.searchsorted(owner, np.arange(len(problem.tasks) + 1)).astype(np.int64),
        column.astype(np.int64) + 1,
        demand[np.array(kinds, dtype=np.int64)[owner]],
        np.ascontiguousarray(problem.seconds[:, owner, column].T),
        tuple(
            [
                Held(places[name], until - now, _amounts(share, 1, resources))
                for name, until, share in held
                if name in places
            ]
        ),
    )
    return replace(problem, packing=packing)


def with_shapes(packing: Packing, spec: TaskSpec, domain: DomainHosts, seconds: NDArray[np.float64]) -> Packing:
    """Return the packing with one more task.

    Args:
        packing: it has all resources that the task names (see `with_packing`).
        spec: the request.
        domain: the hosts.
        seconds: (classes, hosts) run times, infinite where impossible.
    """
    most = int(packing.capacity[:, 0].max())
    columns = np.flatnonzero(np.isfinite(seconds).any(axis=0))
    request = PlaceRequest.of(spec, domain)
    wanted = np.array(_amounts(request.share, most if request.whole else 1, packing.resources), dtype=np.int64)
    return replace(
        packing,
        first=np.append(packing.first, len(packing.hosts) + len(columns)),
        hosts=np.concatenate((packing.hosts, columns + 1)),
        demand=np.concatenate((packing.demand, np.tile(wanted, (len(columns), 1)))),
        seconds=np.concatenate((packing.seconds, seconds[:, columns].T)),
    )


def planned_hosts(problem: Problem, plan: Plan) -> NDArray[np.int64]:
    """Return (m,): on how many hosts each task is planned."""
    return plan.counts if problem.packing is None else problem.packing.hosts[plan.counts]


def _resources(requests: Iterable[PlaceRequest], held: Iterable[HostShare], memory_per_core: int) -> tuple[str, ...]:
    requests = list(requests)
    shares = [request.share for request in requests]
    found = [CORES]
    if any(share.memory > share.cores * memory_per_core for share in (*shares, *held)):
        found.append(MEMORY)
    if any(share.gpus for share in shares):
        found.append(GPUS)
    if any(request.whole for request in requests):
        found.append(WHOLE)
    return tuple(found)


def _amounts(share: HostShare, whole: int, resources: tuple[str, ...]) -> tuple[int, ...]:
    if resources == (CORES,):
        return (share.cores,)
    amounts = {CORES: share.cores, MEMORY: share.memory, GPUS: share.gpus, WHOLE: whole}
    return tuple([amounts[name] for name in resources])
