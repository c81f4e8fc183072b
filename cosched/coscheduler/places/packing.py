"""A problem's packing: what waiting tasks take of hosts that they share, and what is held of these.

Start at `with_packing`. A waiting task has a shape for each number of hosts on which it can run, and takes the same of
each host in all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cosched.scheduling.packing import Held, Packing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from cosched.connector.interface import HostShare
    from cosched.coscheduler.places.hosts import DomainHosts, HeldShare
    from cosched.coscheduler.task import TaskSpec
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = ["CORES", "GPUS", "MEMORY", "WHOLE", "planned_hosts", "with_packing", "with_shapes"]

CORES, MEMORY, GPUS = "cores", "memory", "gpus"
WHOLE = "whole"
"""A resource of which a host has as much as cores: one that shares the host takes 1, one that has it alone takes all.

Only problems with tasks have it that want hosts for themselves.
"""


def with_packing(
    problem: Problem,
    specs: Sequence[TaskSpec],
    domain: DomainHosts,
    held: Iterable[HeldShare],
    now: float,
    beside: Sequence[TaskSpec] = (),
) -> Problem:
    """Return a problem whose tasks share hosts.

    Resources are left out that decide nothing: memory where each task has no more than comes with its cores, GPUs where
    no task asks for any.

    Args:
        problem: of whole hosts; its classes tell hosts of different sizes apart.
        specs: the requests of its tasks.
        domain: the hosts.
        held: what attempts and others have of hosts; those that are taken whole are in `Problem.free`.
        now: epoch seconds, the problem's origin.
        beside: requests of tasks that may be added (see `with_shapes`).
    """
    held = list(held)
    shares = [domain.share_of(spec) for spec in (*specs, *beside)]
    resources = _resources(shares, [each.share for each in held], domain.memory_per_core or 0)
    sizes = [domain.size(name) for name in problem.hosts]
    most = max(size.cores for size in sizes)
    places = {name: place for place, name in enumerate(problem.hosts)}
    owner, column = np.nonzero(np.isfinite(problem.seconds).any(axis=0))
    demand = np.array(
        [_wanted(resources, spec, share, most) for spec, share in zip(specs, shares, strict=False)], dtype=np.int64
    ).reshape(len(specs), len(resources))
    packing = Packing(
        resources,
        np.array([[_had(size, name, most) for name in resources] for size in sizes], dtype=np.int64),
        np.searchsorted(owner, np.arange(len(problem.tasks) + 1)).astype(np.int64),
        column.astype(np.int64) + 1,
        demand[owner],
        np.ascontiguousarray(problem.seconds[:, owner, column].T),
        tuple(
            Held(places[name], until - now, tuple([_taken(share, each) for each in resources]))
            for name, until, share in held
            if name in places
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
    wanted = np.array(_wanted(packing.resources, spec, domain.share_of(spec), most), dtype=np.int64)
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


def _resources(wanted: Sequence[HostShare | None], held: Sequence[HostShare], memory_per_core: int) -> tuple[str, ...]:
    shares = [share for share in wanted if share is not None]
    found = [CORES]
    if any(share.memory > share.cores * memory_per_core for share in (*shares, *held)):
        found.append(MEMORY)
    if any(share.gpus for share in shares):
        found.append(GPUS)
    if len(shares) < len(wanted):
        found.append(WHOLE)
    return tuple(found)


def _wanted(resources: tuple[str, ...], spec: TaskSpec, share: HostShare | None, most: int) -> list[int]:
    if share is not None:
        return [_taken(share, name) for name in resources]
    amounts = {CORES: max(spec.cores, 1), MEMORY: spec.memory, GPUS: spec.gpus, WHOLE: most}
    return [amounts[name] for name in resources]


def _taken(share: HostShare, resource: str) -> int:
    return 1 if resource == WHOLE else int(getattr(share, resource))


def _had(size: HostShare, resource: str, most: int) -> int:
    return most if resource == WHOLE else int(getattr(size, resource))
