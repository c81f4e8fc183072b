from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosched.scheduling.elastic.policy import ElasticPolicy, ElasticPolicyName
from cosched.scheduling.elastic.registry import ELASTIC_POLICIES
from cosched.scheduling.elastic.tasks import Allocation, ElasticParameters, ElasticPool, ElasticTask
from cosched.scheduling.elastic.virtual_pool import run_elastic
from tests.scheduling.elastic.pools import HOSTS, drawn_tasks, elastic_task, firm

PARAMETERS = ElasticParameters()


class Script(ElasticPolicy):
    """Gives what a script says, event by event, to the tasks that are there; the last line stands for all further."""

    name = ElasticPolicyName.EQUI
    summary = "for tests"

    def __init__(self, *steps: dict[str, int], again: float = math.inf) -> None:
        self._steps = list(steps)
        self._again = again
        self.pools: list[ElasticPool] = []

    def reshape(self, pool: ElasticPool, parameters: ElasticParameters) -> Allocation:
        self.pools.append(pool)
        there = {each.task.id for each in (*pool.running, *pool.waiting)}
        step = self._steps[min(len(self.pools), len(self._steps)) - 1]
        hosts = {name: hosts for name, hosts in step.items() if name in there}
        return Allocation(hosts, again=self._again if pool.time < self._again else math.inf)


def test_progress_goes_on_at_the_speed_of_the_hosts() -> None:
    first, second = elastic_task("first", 80.0), elastic_task("second", 40.0, submitted=4.0)
    script = Script({"first": 8}, {"first": 4, "second": 4}, {"first": 8}, {})
    runs = {run.task.id: run for run in run_elastic([first, second], 8, script, PARAMETERS)}
    # 4 s on 8 hosts: 48 host-seconds are left; 10 s on 4 leave 8; one second on 8
    assert runs["second"].finished == pytest.approx(14.0)
    assert runs["first"].finished == pytest.approx(15.0)
    assert (runs["first"].resizes, runs["second"].resizes) == (2, 0)
    assert runs["first"].host_seconds == pytest.approx(80.0)


def test_a_change_costs_seconds_in_which_a_task_does_not_go_on() -> None:
    first = firm(elastic_task("first", 80.0), cost=3.0)
    second = elastic_task("second", 4.0, 4, submitted=4.0)
    script = Script({"first": 8}, {"first": 4, "second": 4}, {"first": 4}, {})
    runs = {run.task.id: run for run in run_elastic([first, second], 8, script, PARAMETERS)}
    assert runs["first"].finished == pytest.approx(4.0 + 3.0 + 48.0 / 4)
    assert script.pools[2].running[0].pause == pytest.approx(2.0)  # the second took a second


def test_hosts_are_free_after_the_drain_and_what_waits_for_them_starts_then() -> None:
    first = firm(elastic_task("first", 80.0), drain=2.0)
    second = elastic_task("second", 40.0, 4, submitted=4.0)
    script = Script({"first": 8}, {"first": 4, "second": 4})
    runs = {run.task.id: run for run in run_elastic([first, second], 8, script, PARAMETERS)}
    assert runs["second"].started == pytest.approx(6.0)
    assert runs["second"].waited == pytest.approx(2.0)
    assert runs["first"].finished == pytest.approx(4.0 + 48.0 / 4)


def test_who_starts_has_free_hosts_before_who_grows() -> None:
    """The one that grew had the free hosts, and the other began once all had drained."""
    first, second = firm(elastic_task("first", 80.0), drain=2.0), firm(elastic_task("second", 80.0), drain=2.0)
    third = elastic_task("third", 40.0, 4, submitted=4.0)
    script = Script({"first": 1, "second": 3}, {"first": 2, "second": 2, "third": 4})
    runs = {run.task.id: run for run in run_elastic([first, second, third], 8, script, PARAMETERS)}
    assert runs["third"].started == pytest.approx(4.0)


def test_a_policy_may_decide_again_when_it_wants_to() -> None:
    script = Script({"first": 8}, again=3.0)
    run_elastic([elastic_task("first", 80.0)], 8, script, PARAMETERS)
    assert [pool.time for pool in script.pools[:2]] == [0.0, 3.0]


def test_a_suspended_task_waits_and_goes_on_where_it_was() -> None:
    first, second = elastic_task("first", 80.0), elastic_task("second", 40.0, submitted=4.0)
    script = Script({"first": 8}, {"second": 8}, {"first": 8})
    runs = {run.task.id: run for run in run_elastic([first, second], 8, script, PARAMETERS)}
    assert runs["first"].finished == pytest.approx(15.0)
    assert runs["first"].waited == pytest.approx(5.0)
    assert (script.pools[1].running[0].left, script.pools[2].waiting[0].left) == pytest.approx((0.6, 0.6))


def test_a_task_that_never_fits_and_a_policy_that_starts_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="task wide needs 8 of 4 hosts"):
        run_elastic([elastic_task("wide", 8.0, least=8)], 4, Script({}), PARAMETERS)
    with pytest.raises(RuntimeError, match="none of 1 waiting tasks is started"):
        run_elastic([elastic_task("t", 8.0)], 4, Script({}), PARAMETERS)


@given(
    tasks=st.integers(1, 6).flatmap(lambda count: st.tuples(*(drawn_tasks(f"t{number}") for number in range(count)))),
    name=st.sampled_from(list(ElasticPolicyName)),
    backfill=st.booleans(),
)
def test_every_task_ends_under_every_policy_and_none_is_quicker_than_it_can_be(
    tasks: tuple[ElasticTask, ...], name: ElasticPolicyName, backfill: bool
) -> None:
    runs = run_elastic(tasks, HOSTS, ELASTIC_POLICIES[name], ElasticParameters(backfill=backfill))
    assert {run.task.id for run in runs} == {task.id for task in tasks}
    assert [run.finished for run in runs] == sorted(run.finished for run in runs)
    for run in runs:
        assert run.started >= run.task.submitted
        assert run.finished - run.started >= run.task.shortest * (1 - 1e-9)
        assert run.waited <= run.finished - run.task.submitted
        longest = max(run.task.on(count) * count for count in range(run.task.least, run.task.most + 1))
        if not run.resizes:
            assert run.host_seconds <= longest * (1 + 1e-9)
    if not ELASTIC_POLICIES[name].resizes:
        assert all(run.resizes == 0 for run in runs)


def test_a_loan_is_given_back_where_a_promise_needs_it() -> None:
    first = firm(elastic_task("first", 800.0, least=4))
    second = firm(elastic_task("second", 40.0, 4, least=4, submitted=9.0))
    policy = ELASTIC_POLICIES[ElasticPolicyName.MARGINAL]
    runs = {run.task.id: run for run in run_elastic([first, second], 8, policy, PARAMETERS)}
    assert runs["second"].started == 9.0
    assert runs["first"].finished == pytest.approx((800.0 + 40.0) / 8)  # no host was ever idle
