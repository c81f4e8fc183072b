from __future__ import annotations

import pytest

from cosched.scheduling.elastic.policy import ElasticPolicyName
from cosched.scheduling.elastic.tasks import ElasticParameters
from cosched.simulation.nbody_service import (
    SERVICE_HOSTS,
    WORKLOADS,
    ResizeCost,
    ServiceTimes,
    drawn_requests,
    request_seconds,
    served,
)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_requests_keep_the_hosts_as_busy_as_was_asked_for(workload: str) -> None:
    requests = drawn_requests(workload, 0.7, 4000, SERVICE_HOSTS, "1", ResizeCost())
    work = sum(each.optimal * each.shortest for each in requests)
    assert work / (requests[-1].submitted * SERVICE_HOSTS) == pytest.approx(0.7, rel=0.1)
    assert all(each.suspendable for each in requests)


def test_the_light_workload_has_the_shortest_requests() -> None:
    def mean(workload: str) -> float:
        requests = drawn_requests(workload, 0.7, 1000, SERVICE_HOSTS, "1", ResizeCost())
        return sum(each.shortest for each in requests) / len(requests)

    assert mean("light") < mean("uniform") < mean("heavy")


def test_costs_are_those_of_every_request() -> None:
    requests = drawn_requests("light", 0.5, 3, 8, "1", ResizeCost(2.0, 1.0))
    assert {(each.grow_cost, each.shrink_cost, each.drain) for each in requests} == {(2.0, 2.0, 1.0)}
    assert requests[0].seconds[0] == request_seconds(200, 1000, 1)


def test_payback_pays_where_changes_cost_much() -> None:
    requests = drawn_requests("light", 0.7, 100, SERVICE_HOSTS, "1", ResizeCost(2.0))  # half of the shortest request

    def times(payback: float) -> ServiceTimes:
        return served(requests, SERVICE_HOSTS, ElasticPolicyName.MARGINAL, ElasticParameters(payback=payback))

    careful, careless = times(2.0), times(0.0)
    assert careful.service < careless.service
    assert careful.resizes < careless.resizes
