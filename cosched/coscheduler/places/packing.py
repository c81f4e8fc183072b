"""A problem's packing: what waiting tasks take of hosts that they share, and what is held of these.

Start at `with_packing`. A waiting task has a shape for each number of hosts on which it can run, and takes the same of
each host in all of them; one with alternatives has such shapes for each of these (`Choice`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cosched.connector.hosts import HostShare
from cosched.coscheduler.places.hosts import needs_of_alternative
from cosched.scheduling.packing import Held, Packing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cosched.coscheduler.places.alternatives import Alternative
    from cosched.coscheduler.places.hosts import DomainHosts, HeldShare
    from cosched.coscheduler.task import Task, TaskSpec
    from cosched.scheduling.plan import Plan
    from cosched.scheduling.problem import Problem

__all__ = [
    "CORES",
    "GPUS",
    "MEMORY",
    "WHOLE",
    "Choice",
    "PlaceRequest",
    "place_requests",
    "planned_hosts",
    "with_held",
    "with_packing",
    "with_shapes",
]

CORES, MEMORY, GPUS = "cores", "memory", "gpus"
WHOLE = "whole"
"""A resource of which a host has as much as cores: one that shares the host takes 1, one that has it alone takes all.

Of a host that is not parted there is 1: whoever has some of it has all. Only problems have this resource that have such
hosts, or tasks that want hosts for themselves.
"""

_NO_CHOICES: Mapping[int, Choice] = {}


class PlaceRequest(NamedTuple):
    """Request of a task on each of its hosts: a share, or the whole of a host that has as much."""

    share: HostShare
    whole: bool

    @classmethod
    def of(cls, spec: TaskSpec, domain: DomainHosts) -> PlaceRequest:
        """Return a task's request."""
        share = domain.share_of(spec)
        return cls(HostShare(spec.memory, max(spec.cores, 1), spec.gpus) if share is None else share, share is None)

    @classmethod
    def of_alternative(cls, spec: TaskSpec, each: Alternative, domain: DomainHosts) -> PlaceRequest:
        """Return what a task would request as `spec.taking(each)`, which is not made: there may be thousands."""
        memory, cores, gpus = needs_of_alternative(spec, each, domain.memory_per_core)
        return cls(HostShare(memory, cores, gpus), spec.exclusive)


class Choice(NamedTuple):
    """The alternatives of a task.

    Attributes:
        requests: what each takes of its hosts.
        hosts: (S,) number of hosts of each shape.
        which: (S,) alternative of each shape.
        seconds: (S, K) run times by class, without a hand-over.
    """

    requests: tuple[PlaceRequest, ...]
    hosts: NDArray[np.int64]
    which: NDArray[np.int64]
    seconds: NDArray[np.float64]

    @classmethod
    def of(cls, requests: tuple[PlaceRequest, ...], times: NDArray[np.float64]) -> Choice:
        """Return the shapes of (alternatives, classes, hosts) run times."""
        which, column = np.nonzero(np.isfinite(times).any(axis=1))
        return cls(requests, column.astype(np.int64) + 1, which.astype(np.int64), times[which, :, column])


def place_requests(task: Task, domain: DomainHosts) -> tuple[PlaceRequest, ...]:
    """Return what a task takes of each of its hosts, in each of its alternatives."""
    if task.alternatives:
        return tuple([PlaceRequest.of_alternative(task.spec, each, domain) for each in task.alternatives])
    return (PlaceRequest.of(task.spec, domain),)


def with_packing(
    problem: Problem,
    requests: Sequence[PlaceRequest],
    domain: DomainHosts,
    held: Sequence[HeldShare],
    now: float,
    choices: Mapping[int, Choice] = _NO_CHOICES,
    handover: float = 0.0,
) -> Problem:
    """Return a problem whose tasks share hosts.

    Resources are left out that decide nothing: memory where each task has no more than comes with its cores, GPUs where
    no task asks for any.

    Args:
        problem: of whole hosts; its classes tell hosts of different sizes apart.
        requests: those of its tasks, then those of tasks that may be added (see `with_shapes`). Of a task with
            alternatives any of them.
        domain: the hosts.
        held: what attempts and others have of hosts; those that are taken whole are in `Problem.free`.
        now: epoch seconds, the problem's origin.
        choices: alternatives of tasks, by their index; their times in the problem say on how many hosts they may run.
        handover: seconds that come to the times of these.
    """
    different: dict[PlaceRequest, int] = {}
    kinds = _kinds_of_requests(requests, different)
    chosen = _kinds_of_choices(choices, different)
    parted = [domain.parted(name) for name in problem.hosts]
    resources = _resources(different, [each.share for each in held], domain.memory_per_core or 0, all(parted))
    sizes = [domain.size(name) for name in problem.hosts]
    most = max(size.cores for size in sizes)
    whole = most if any(parted) else 1
    owner, column = np.nonzero(np.isfinite(problem.seconds).any(axis=0))
    demand = np.array(
        [_amounts(each.share, whole if each.whole else 1, resources) for each in different], dtype=np.int64
    )
    hosts, kind = column.astype(np.int64) + 1, np.array(kinds, dtype=np.int64)[owner]
    seconds = np.ascontiguousarray(problem.seconds[:, owner, column].T)
    if choices:
        rows = _with_choices(_Rows(owner, hosts, kind, seconds), problem, choices, chosen, handover)
        owner, hosts, kind, seconds = rows
    packing = Packing(
        resources,
        np.array(
            [_amounts(size, most if each else 1, resources) for size, each in zip(sizes, parted, strict=True)],
            dtype=np.int64,
        ),
        np.searchsorted(owner, np.arange(len(problem.tasks) + 1)).astype(np.int64),
        hosts,
        demand[kind],
        seconds,
        _held_amounts(problem, held, now, resources),
    )
    return replace(problem, packing=packing)


def with_held(problem: Problem, held: Sequence[HeldShare], now: float) -> Problem:
    """Return a problem on shared hosts of which other attempts and others hold something; see `with_packing`."""
    packing = problem.packing
    assert packing is not None
    return replace(problem, packing=replace(packing, held=_held_amounts(problem, held, now, packing.resources)))


def _held_amounts(
    problem: Problem, held: Sequence[HeldShare], now: float, resources: tuple[str, ...]
) -> tuple[Held, ...]:
    places = {name: place for place, name in enumerate(problem.hosts)}
    return tuple(
        [
            Held(places[name], until - now, _amounts(share, 1, resources))
            for name, until, share in held
            if name in places
        ]
    )


class _Rows(NamedTuple):
    """Shapes of a packing: task, number of hosts, kind of request and run times by class of each."""

    owner: NDArray[np.int64]
    hosts: NDArray[np.int64]
    kind: NDArray[np.int64]
    seconds: NDArray[np.float64]


def _kinds_of_requests(requests: Sequence[PlaceRequest], different: dict[PlaceRequest, int]) -> list[int]:
    """Return the kind of each request; new ones are added to those that are known.

    Most of thousands of tasks ask by the same object: only different objects are compared.
    """
    known: dict[int, int] = {}
    kinds = []
    for request in requests:
        kind = known.get(id(request))
        if kind is None:
            kind = known[id(request)] = different.setdefault(request, len(different))
        kinds.append(kind)
    return kinds


def _kinds_of_choices(
    choices: Mapping[int, Choice], different: dict[PlaceRequest, int]
) -> dict[int, NDArray[np.int64]]:
    """Return the kinds of the requests of each task's alternatives; new ones are added to those that are known."""
    known: dict[int, NDArray[np.int64]] = {}  # of the same object: thousands of tasks have few different ones
    for choice in choices.values():
        if id(choice.requests) not in known:
            kinds = [different.setdefault(request, len(different)) for request in choice.requests]
            known[id(choice.requests)] = np.array(kinds, dtype=np.int64)
    return {task: known[id(choice.requests)] for task, choice in choices.items()}


def _with_choices(
    rows: _Rows,
    problem: Problem,
    choices: Mapping[int, Choice],
    kinds: Mapping[int, NDArray[np.int64]],
    handover: float,
) -> _Rows:
    """Return the shapes with those of the alternatives in place of one for each number of hosts."""
    usable = np.asarray(np.isfinite(problem.seconds).any(axis=0))
    varied = np.zeros(len(problem.tasks), dtype=np.bool_)
    varied[list(choices)] = True
    others = ~varied[rows.owner]
    owner = np.repeat(list(choices), [len(choice.hosts) for choice in choices.values()]).astype(np.int64)
    hosts = np.concatenate([choice.hosts for choice in choices.values()])
    possible = usable[owner, hosts - 1]
    kind = np.concatenate([kinds[task][choice.which] for task, choice in choices.items()])
    seconds = np.concatenate([choice.seconds for choice in choices.values()]) + handover
    owner = np.concatenate((rows.owner[others], owner[possible]))
    order = np.argsort(owner, kind="stable")
    return _Rows(
        owner[order],
        np.concatenate((rows.hosts[others], hosts[possible]))[order],
        np.concatenate((rows.kind[others], kind[possible]))[order],
        np.ascontiguousarray(np.concatenate((rows.seconds[others], seconds[possible]))[order]),
    )


def with_shapes(packing: Packing, choice: Choice) -> Packing:
    """Return the packing with one more task.

    Args:
        packing: it has all resources that the task names (see `with_packing`).
        choice: the task's alternatives, or its only shape; hand-over included.
    """
    whole = int(packing.capacity[:, packing.resources.index(WHOLE)].max()) if WHOLE in packing.resources else 1
    wanted = [_amounts(each.share, whole if each.whole else 1, packing.resources) for each in choice.requests]
    return replace(
        packing,
        first=np.append(packing.first, len(packing.hosts) + len(choice.hosts)),
        hosts=np.concatenate((packing.hosts, choice.hosts)),
        demand=np.concatenate((packing.demand, np.array(wanted, dtype=np.int64)[choice.which])),
        seconds=np.concatenate((packing.seconds, choice.seconds)),
    )


def planned_hosts(problem: Problem, plan: Plan) -> NDArray[np.int64]:
    """Return (m,): on how many hosts each task is planned."""
    return plan.counts if problem.packing is None else problem.packing.hosts[plan.counts]


def _resources(
    requests: Iterable[PlaceRequest],
    held: Iterable[HostShare],
    memory_per_core: int,
    parted: bool,
) -> tuple[str, ...]:
    requests = list(requests)
    shares = [request.share for request in requests]
    found = [CORES]
    if any(share.memory > share.cores * memory_per_core for share in (*shares, *held)):
        found.append(MEMORY)
    if any(share.gpus for share in shares):
        found.append(GPUS)
    if not parted or any(request.whole for request in requests):
        found.append(WHOLE)
    return tuple(found)


def _amounts(share: HostShare, whole: int, resources: tuple[str, ...]) -> tuple[int, ...]:
    if resources == (CORES,):
        return (share.cores,)
    amounts = {CORES: share.cores, MEMORY: share.memory, GPUS: share.gpus, WHOLE: whole}
    return tuple([amounts[name] for name in resources])
