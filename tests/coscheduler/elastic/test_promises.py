from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from cosched.connector.jobs import JobState
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import HostsWished, LeadAnnounced, ResizeWished, Tick, WorkReported
from cosched.coscheduler.explanation.explain import explain
from tests.coscheduler.makers import (
    a_core,
    a_task,
    dispatched,
    elastic_task,
    report,
    restart_task,
    start,
    submit,
    workers,
)

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt
    from cosched.coscheduler.core import Coscheduler

SECONDS = [math.inf, 600.0, 400.0, 300.0, 240.0, 190.0]


def promised(**changes: Any) -> tuple[Coscheduler, Attempt]:
    """Return a core whose elastic task has been promised all six hosts and runs since 0 s, and its lead."""
    core = a_core(6, elastic=ElasticSettings(settle=5.0))
    lead, *mine = dispatched(submit(core, elastic_task(1, SECONDS, **changes)))
    assert len(mine) == 5
    for each in (lead, *mine):
        start(core, each, 0.0)
    core.handle(LeadAnnounced(1.0, lead.uuid, "here", drains=False))
    return core, core.attempts[lead.uuid]


def end_leaving(core: Coscheduler, time: float) -> None:
    """Have the jobs of the workers end that leave."""
    for each in core.workers_of("1"):
        if each.leaves:
            report(core, each, JobState.REMOVED, time, finished=time)


def hosts_of(core: Coscheduler) -> set[str]:
    (lead,) = core.leads()
    return set(lead.reckoned_hosts)


def test_promised_hosts_are_given_up_where_the_user_wishes_for_fewer() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 4, 4))
    assert [each.hosts[0] for each in core.workers_of("1") if each.leaves] == ["node05", "node06"]  # the newest
    assert hosts_of(core) == {"node01", "node02", "node03", "node04"}
    end_leaving(core, 101.0)
    (other,) = dispatched(submit(core, a_task(2, [math.inf, 10.0], submitted=102.0), 102.0))
    assert set(other.hosts) == {"node05", "node06"}


def test_the_promised_end_is_that_on_the_promised_hosts_that_are_left() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 1, 3))
    status = core.tasks["1"].status
    assert status.started is not None
    assert status.predicted is not None
    assert status.started + status.predicted == pytest.approx(100.0 + 400.0 * 90 / 190)
    assert core.attempts[lead.uuid].predicted == pytest.approx(100.0 + 400.0 * 90 / 190)
    assert status.hosts == core.attempts[lead.uuid].reckoned_hosts


def test_no_task_gives_up_the_fewest_hosts_on_which_it_runs() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 1, 1))
    assert len(hosts_of(core)) == 2


def test_what_was_given_up_is_lent_again_once_it_is_wished_for() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 2, 2))
    end_leaving(core, 101.0)
    assert not workers(core.handle(Tick(150.0)))
    lent = workers(core.handle(ResizeWished(160.0, lead.uuid, 6, 6)))
    assert len(lent) == 4
    assert all(each.loan for each in lent)
    assert len(hosts_of(core)) == 2


def test_a_programs_own_use_gives_up_no_promised_host() -> None:
    core, lead = promised()
    core.handle(HostsWished(100.0, lead.uuid, 2))
    assert len(hosts_of(core)) == 6
    assert not any(each.leaves for each in core.workers_of("1"))


def test_a_user_may_wish_for_more_than_the_program_has_told_a_use_for() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 2, 2))
    end_leaving(core, 101.0)
    core.handle(HostsWished(110.0, lead.uuid, 1))
    assert not workers(core.handle(ResizeWished(150.0, lead.uuid)))
    assert len(workers(core.handle(ResizeWished(160.0, lead.uuid, 5)))) == 3


def test_hosts_that_a_user_wishes_for_are_lent_also_where_all_known_work_is_done() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 2, 2))
    end_leaving(core, 101.0)
    core.handle(WorkReported(150.0, lead.uuid, 1.0))
    assert not workers(core.handle(ResizeWished(160.0, lead.uuid)))
    assert len(workers(core.handle(ResizeWished(170.0, lead.uuid, 4)))) == 2


def test_a_lower_promise_is_no_earlier_though_little_work_is_known() -> None:
    core, lead = promised()
    core.handle(WorkReported(50.0, lead.uuid, 1.0))
    core.handle(ResizeWished(100.0, lead.uuid, 2, 2))
    assert core.tasks["1"].status.predicted == pytest.approx(190.0)


def test_lent_hosts_go_before_promised_ones() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 2, 2))
    end_leaving(core, 101.0)
    lent = workers(core.handle(ResizeWished(160.0, lead.uuid, 6, 6)))
    for each in lent:
        start(core, each, 161.0)
    core.handle(ResizeWished(170.0, lead.uuid, 2, 2))
    gone = [each.worker for each in core.workers_of("1") if each.leaves]
    assert gone == [each.worker for each in lent]
    assert len(hosts_of(core)) == 2


def test_a_promise_is_lowered_once_its_task_runs() -> None:
    core = a_core(6, elastic=ElasticSettings(settle=5.0))
    lead, *mine = dispatched(submit(core, elastic_task(1, SECONDS)))
    core.handle(ResizeWished(0.5, lead.uuid, 1, 2))
    assert len(hosts_of(core)) == 6
    for each in (lead, *mine):
        start(core, each, 1.0)
    core.handle(Tick(3.0))
    assert len(hosts_of(core)) == 2


def test_a_program_that_checkpoints_keeps_its_hosts() -> None:
    core = a_core(4)
    (attempt,) = dispatched(submit(core, restart_task(1, [420.0, 205.0, 135.0, 100.0])))
    start(core, attempt, 0.0)
    core.handle(ResizeWished(10.0, attempt.uuid, 1, 2))
    assert len(core.attempts[attempt.uuid].hosts) == 4


def test_explain_says_what_the_user_wishes_for() -> None:
    core, lead = promised()
    core.handle(ResizeWished(100.0, lead.uuid, 1, 3))
    found = explain(core, "1", 100.0)
    assert found is not None
    assert "its user wishes for at most 3 hosts (`cosched task resize 1`)" in found.waits_for
    assert any("back: its user wishes for fewer hosts" in each for each in found.waits_for)
