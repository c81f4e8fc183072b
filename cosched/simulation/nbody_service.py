"""Requests of the harvesting paper's N-body service: how long they take, how they come, and under which parameters.

Lee and Weissman: "Adaptive Resource Scheduling for Network Services". A master deals out pairs of blocks of bodies to
its slaves. The paper's workloads and arrivals are in a lost picture: ours are said at `drawn_requests`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

from cosched.scheduling.elastic.registry import ELASTIC_POLICIES
from cosched.scheduling.elastic.tasks import ElasticParameters, ElasticTask
from cosched.scheduling.elastic.virtual_pool import run_elastic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cosched.scheduling.elastic.policy import ElasticPolicyName

__all__ = [
    "SERVICE_HOSTS",
    "WORKLOADS",
    "ResizeCost",
    "ServiceTimes",
    "drawn_requests",
    "request_seconds",
    "served",
]

SERVICE_HOSTS = 20
"""Ten PCs with two processors each."""

_PAIR, _STEP, _START = 40e-9, 2e-3, 0.5  # seconds: of a pair of bodies, of a step and host, of a request
_STEPS = 200.0  # one end time and one step for all requests of Figs 6 to 9: the bodies decide
_BODIES = (1000, 2000, 4000, 8000, 16000)


@dataclass(frozen=True, slots=True)
class _Workload:
    """A workload of Fig. 5, with its parameters of Table 1.

    Attributes:
        weights: how often requests of 1, 2, 4, 8 and 16 thousand bodies come.
        parameters: HP, WP and IP.
    """

    weights: tuple[int, ...]
    parameters: ElasticParameters


WORKLOADS: Mapping[str, _Workload] = {
    "light": _Workload((16, 8, 4, 2, 1), ElasticParameters(1.5, 12.0, 1.7)),
    "uniform": _Workload((1, 1, 1, 1, 1), ElasticParameters(1.8, 8.0, 1.1)),
    "heavy": _Workload((1, 2, 4, 8, 16), ElasticParameters(1.2, 12.0, 1.3)),
}
"""The paper's three workloads by name."""


@dataclass(frozen=True, slots=True)
class ResizeCost:
    """Costs of a request's changes: seconds without progress at each, and until taken hosts are free."""

    change: float = 0.0
    drain: float = 0.0


@dataclass(frozen=True, slots=True)
class ServiceTimes:
    """Means over requests: seconds from arrival to end and those of waiting, and changes of hosts."""

    service: float
    wait: float
    resizes: float


def request_seconds(steps: float, bodies: float, hosts: int) -> float:
    """Return the run time of a request of so many steps on so many hosts."""
    return steps * (_PAIR * bodies**2 / hosts + _STEP * hosts) + _START


def drawn_requests(
    workload: str, load: float, requests: int, hosts: int, seed: str, cost: ResizeCost
) -> list[ElasticTask]:
    """Draw requests and their arrivals.

    Requests come at random (Poisson), as many as keep the hosts busy for `load` of the time if each had the number with
    its shortest run time. They can lose all their hosts and wait, as the paper's can.

    Args:
        workload: one of `WORKLOADS`.
        load: above 0; 1 saturates the hosts.
        requests: how many.
        hosts: number of hosts.
        seed: seed of the draw.
        cost: of changes.
    """
    draw, weights = random.Random(seed), WORKLOADS[workload].weights  # noqa: S311  a repeatable draw, not a secret
    kinds = [_request(bodies, hosts, cost) for bodies in _BODIES]
    area = sum(weight * kind.optimal * kind.shortest for weight, kind in zip(weights, kinds, strict=True))
    interval = area / sum(weights) / (load * hosts)
    time, found = 0.0, []
    for number, kind in enumerate(draw.choices(kinds, weights, k=requests)):
        time += draw.expovariate(1 / interval)
        found.append(replace(kind, id=f"{number:06}", submitted=time))
    return found


def _request(bodies: int, hosts: int, cost: ResizeCost) -> ElasticTask:
    seconds = tuple(request_seconds(_STEPS, bodies, count) for count in range(1, hosts + 1))
    best = seconds.index(min(seconds)) + 1
    return ElasticTask("", seconds, 1, hosts, best, cost.change, cost.change, cost.drain, suspendable=True)


def served(
    requests: list[ElasticTask], hosts: int, policy: ElasticPolicyName, parameters: ElasticParameters
) -> ServiceTimes:
    """Run requests under a policy; return their mean times."""
    runs = run_elastic(requests, hosts, ELASTIC_POLICIES[policy], parameters)
    return ServiceTimes(
        fmean(run.finished - run.task.submitted for run in runs),
        fmean(run.waited for run in runs),
        fmean(run.resizes for run in runs),
    )
