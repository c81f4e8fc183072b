"""Workers that leave for the loads of owners are in `test_elastic_tasks.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cosched.coscheduler.core import Coscheduler
from cosched.coscheduler.elastic.values import ElasticSettings
from cosched.coscheduler.events import HostsObserved, SpeedsMeasured, Tick
from cosched.coscheduler.explanation.explain import explain
from cosched.coscheduler.recording.codec import Codec
from cosched.coscheduler.recording.snapshot import CoreSnapshot
from cosched.prediction.loads.host_load import LoadTrigger
from tests.coscheduler.elastic.test_elastic_tasks import SPEEDS, leaving, removed
from tests.coscheduler.makers import a_core, dispatched, elastic_task, hosts, settings, start, submit, workers

if TYPE_CHECKING:
    from cosched.coscheduler.attempts.attempt import Attempt

WHY = "computes 40% of what its others do"


def measured(core: Coscheduler, lead: Attempt, slow: int, since: float, until: float, part: float = 0.4) -> None:
    """Have a lead say each second that one of its workers is slow."""
    there = [0, *(each.worker for each in core.workers_of("1"))]
    for time in range(int(since), int(until) + 1):
        speeds = tuple((worker, 3.0 * (part if worker == slow else 1.0)) for worker in there)
        core.handle(SpeedsMeasured(float(time), lead.uuid, speeds))


def running(
    promised: int, count: int, longer: float = 10.0, trigger: LoadTrigger = LoadTrigger.ACT
) -> tuple[Coscheduler, Attempt, list[Attempt]]:
    """Return a core with a task that runs on its promised hosts since 1 s, its lead and its workers."""
    core = a_core(promised, elastic=ElasticSettings(settle=5.0), trigger=trigger)
    seconds = [longer * each for each in SPEEDS]
    lead, *mine = dispatched(submit(core, elastic_task(1, [float("inf")] * (promised - 1) + seconds[promised - 1 :])))
    for attempt in (lead, *mine):
        start(core, attempt, 1.0)
    core.handle(HostsObserved(1.0, hosts(count)))
    return core, core.attempts[lead.uuid], [core.attempts[worker.uuid] for worker in mine]


def with_loans(promised: int, count: int) -> tuple[Coscheduler, Attempt, list[Attempt]]:
    """Return a core with a task that has all hosts, its lead and the workers on lent hosts."""
    core, lead, _ = running(promised, count)
    lent = workers(core.handle(Tick(7.0)))
    for worker in lent:
        start(core, worker, 7.0)
    assert len(lent) == count - promised
    return core, lead, lent


def test_a_slow_worker_leaves_its_lent_host_and_does_not_come_back_to_it() -> None:
    core, lead, lent = with_loans(2, 6)
    (host,) = lent[1].hosts
    measured(core, lead, lent[1].worker, 13, 17)
    assert not leaving(core)  # it has not been slow for long
    measured(core, lead, lent[1].worker, 18, 18)
    assert leaving(core) == [(host, f"its worker on {host} {WHY}")]
    removed(core, lent[1], 19.0)
    assert not [each for time in range(20, 40) for each in workers(core.handle(Tick(float(time))))]


def test_a_slow_worker_of_a_task_that_ends_soon_stays() -> None:
    core, lead, mine = running(4, 5, longer=1.0)  # it ends at 31 s
    measured(core, lead, mine[1].worker, 22, 27)
    assert not leaving(core)


def test_a_slow_worker_on_a_promised_host_moves_to_an_idle_one() -> None:
    core, lead, mine = running(4, 4)
    (host,) = mine[1].hosts
    measured(core, lead, mine[1].worker, 13, 20)
    assert not leaving(core)  # nowhere is better
    said = explain(core, "1", 20.0)
    assert said is not None
    assert any(f"its worker on {host} {WHY}" in words for words in said.waits_for)
    core.handle(HostsObserved(21.0, hosts(5)))
    assert leaving(core) == [(host, f"its worker on {host} {WHY}")]
    status = core.attempts[lead.uuid].lead
    assert status is not None
    assert status.promised == ("node02", "node05", "node04")
    (worker,) = workers(core.handle(Tick(21.5)))
    assert (worker.hosts, worker.loan) == (("node05",), False)
    removed(core, core.attempts[mine[1].uuid], 22.0)
    assert not [each for time in range(23, 60) for each in workers(core.handle(Tick(float(time))))]


def test_a_slow_worker_on_a_promised_host_leaves_where_a_lent_one_can_be_promised_instead() -> None:
    core, lead, mine = running(4, 5)
    (lent,) = workers(core.handle(Tick(7.0)))
    start(core, lent, 7.0)
    (host,) = mine[1].hosts
    measured(core, lead, mine[1].worker, 13, 18)
    assert leaving(core) == [(host, f"its worker on {host} {WHY}")]
    now = core.attempts[lent.uuid]
    assert (now.loan, now.part) == (False, 0.0)
    status = core.attempts[lead.uuid].lead
    assert status is not None
    assert status.promised == ("node02", "node05", "node04")
    assert core.attempts[lead.uuid].charged_hosts == 4


@pytest.mark.parametrize("trigger", [LoadTrigger.ADVISE, LoadTrigger.OFF])
def test_slow_workers_stay_where_the_trigger_does_not_act(trigger: LoadTrigger) -> None:
    core, lead, mine = running(4, 5, trigger=trigger)
    measured(core, lead, mine[1].worker, 2, 20)
    assert not leaving(core)


def test_workers_that_are_all_alike_stay_and_unknown_ones_do_not_matter() -> None:
    core, lead, mine = running(4, 5)
    measured(core, lead, mine[1].worker, 2, 20, part=0.6)
    core.handle(SpeedsMeasured(21.0, lead.uuid, ((99, 0.01), (98, 1.0), (97, 1.0))))
    core.handle(SpeedsMeasured(31.0, lead.uuid, ((99, 0.01), (98, 1.0), (97, 1.0))))
    assert not leaving(core)


def test_a_core_that_goes_on_from_a_snapshot_still_keeps_away_from_the_host() -> None:
    core, lead, lent = with_loans(2, 6)
    measured(core, lead, lent[1].worker, 13, 18)
    removed(core, core.attempts[lent[1].uuid], 19.0)
    saved = Codec().read(Codec().write(core.snapshot(), CoreSnapshot), CoreSnapshot)
    again = Coscheduler.from_snapshot(settings(elastic=ElasticSettings(settle=5.0)), saved)
    assert again.snapshot() == core.snapshot()
    assert not [each for time in range(20, 40) for each in workers(again.handle(Tick(float(time))))]
